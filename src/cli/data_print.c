/* data_print.c - printing struct mete_data_info. */
#include "data_print.h"

#include <stdio.h>

static void print_spread(const char *what, struct mete_spread s)
{
    if (s.least == s.most)
        printf("%-10s %lld each\n", what, (long long)s.least);
    else
        printf("%-10s %lld to %lld, half of them %lld or more\n", what, (long long)s.least,
               (long long)s.most, (long long)s.middle);
}

static void print_shape(const struct mete_data_info *info)
{
    if (info->is_float)
        printf("%-10s %d numbers (float32)\n", "shape", info->shape[2]);
    else
        printf("%-10s %d x %d%s (uint8)\n", "shape", info->shape[0], info->shape[1],
               info->shape[2] == 1   ? ", grey"
               : info->shape[2] == 3 ? ", colour"
                                     : ", several channels");
}

static void print_text(const char *what, const char *text)
{
    if (*text)
        printf("%-10s %s\n", what, text);
}

void data_print(const struct mete_data_info *info)
{
    print_text("name", info->name);
    print_text("path", info->path);
    printf("%-10s %lld\n", "items", (long long)info->items);
    if (info->unlabelled)
        printf("%-10s %lld items have a label, %lld have none\n", "labels",
               (long long)(info->items - info->unlabelled), (long long)info->unlabelled);
    printf("%-10s %d\n", "classes", info->classes);
    if (info->classes)
        print_spread("per class", info->per_class);
    if (info->groups)
        printf("%-10s %d\n", "groups", info->groups);
    if (info->split_classes[0] + info->split_classes[1] + info->split_classes[2] > 0)
        printf("%-10s %d train, %d val, %d test classes\n", "split", info->split_classes[0],
               info->split_classes[1], info->split_classes[2]);
    if (info->users) {
        printf("%-10s %d\n", "users", info->users);
        print_spread("per user", info->per_user);
    }
    if (info->part_items[0] + info->part_items[1] > 0)
        printf("%-10s %lld train items of %d users, %lld test items of %d\n", "parts",
               (long long)info->part_items[0], info->part_users[0], (long long)info->part_items[1],
               info->part_users[1]);
    print_shape(info);
    printf("%-10s value * %g + %g\n", "seen as", (double)info->scale, (double)info->shift);
    print_text("source", info->source);
    print_text("licence", info->licence);
    print_text("sha256", info->sha256);
}

static void json_text(const char *key, const char *text)
{
    printf(", \"%s\": \"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    putchar('"');
}

static void json_spread(const char *key, struct mete_spread s)
{
    printf(", \"%s\": {\"least\": %lld, \"middle\": %lld, \"most\": %lld}", key, (long long)s.least,
           (long long)s.middle, (long long)s.most);
}

void data_print_json(const struct mete_data_info *info)
{
    printf("{\"items\": %lld, \"unlabelled\": %lld, \"classes\": %d, \"users\": %d, "
           "\"shape\": [%d, %d, %d]",
           (long long)info->items, (long long)info->unlabelled, info->classes, info->users,
           info->shape[0], info->shape[1], info->shape[2]);
    json_text("dtype", info->is_float ? "float32" : "uint8");
    printf(", \"scale\": %.9g, \"shift\": %.9g, \"groups\": %d", (double)info->scale,
           (double)info->shift, info->groups);
    json_spread("per_class", info->per_class);
    json_spread("per_user", info->per_user);
    printf(", \"train_items\": %lld, \"test_items\": %lld, \"train_users\": %d, \"test_users\": %d",
           (long long)info->part_items[0], (long long)info->part_items[1], info->part_users[0],
           info->part_users[1]);
    printf(", \"split_classes\": [%d, %d, %d]", info->split_classes[0], info->split_classes[1],
           info->split_classes[2]);
    json_text("name", info->name);
    json_text("path", info->path);
    json_text("source", info->source);
    json_text("licence", info->licence);
    json_text("sha256", info->sha256);
    puts("}");
}
