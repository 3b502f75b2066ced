/* assign.c - collecting settings from YAML maps and --set. */
#include "config/assign.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void assignments_release(struct assignments *a)
{
    for (int i = 0; i < a->n; i++) {
        free(a->at[i].key);
        free(a->at[i].value);
        free(a->at[i].key_place);
        free(a->at[i].place);
    }
    free(a->at);
    *a = (struct assignments){0};
}

/* Takes over the four strings. */
static void push(struct assignments *a, struct assignment one)
{
    a->at = mem_grow(a->at, (size_t)a->n + 1, sizeof *a->at);
    a->at[a->n++] = one;
}

void assignments_append(struct assignments *a, const struct assignments *more)
{
    for (int i = 0; i < more->n; i++) {
        const struct assignment *m = &more->at[i];
        push(a, (struct assignment){mem_string(m->key), mem_string(m->value),
                                    mem_string(m->key_place), mem_string(m->place), false});
    }
}

const struct assignment *assignments_last(const struct assignments *a, const char *key)
{
    for (int i = a->n - 1; i >= 0; i--)
        if (strcmp(a->at[i].key, key) == 0)
            return &a->at[i];
    return NULL;
}

void assignments_add(struct assignments *a, const char *key, const char *value, const char *place)
{
    push(a, (struct assignment){mem_string(key), mem_string(value), mem_string(place),
                                mem_string(place), false});
}

int assignments_add_texts(struct assignments *a, const char *const *texts)
{
    for (int i = 0; texts && texts[i]; i++) {
        const char *equals = strchr(texts[i], '=');
        if (!equals || equals == texts[i])
            return fail(METE_EINVAL, "--set: expected key=value, got '%s'", texts[i]);
        push(a, (struct assignment){mem_print("%.*s", (int)(equals - texts[i]), texts[i]),
                                    mem_string(equals + 1), mem_string("--set"),
                                    mem_string("--set"), false});
    }
    return 0;
}

/* The items of a list of texts, joined by ','; NULL and a sentence for anything else. */
static char *join(const char *path, const char *key, const struct yaml *list)
{
    char *joined = mem_string("");
    for (int i = 0; i < list->n; i++) {
        const struct yaml *item = &list->child[i];
        if (item->kind != YAML_TEXT) {
            fail(METE_EINVAL, "%s:%d:%d: %s: expected a value, got %s in a list", path, item->line,
                 item->column, key, yaml_kind_name(item));
            free(joined);
            return NULL;
        }
        char *longer = mem_print("%s%s%s", joined, i ? "," : "", item->text);
        free(joined);
        joined = longer;
    }
    return joined;
}

int assignments_add_value(struct assignments *a, const char *path, const char *key,
                          const struct yaml *under, const struct yaml *value)
{
    if (value->kind == YAML_MAP)
        return fail(METE_EINVAL, "%s:%d:%d: %s: expected a value, got a map", path, value->line,
                    value->column, key);
    if (value->kind == YAML_TEXT && !value->quoted && !*value->text)
        return fail(METE_EINVAL, "%s:%d:%d: %s has no value", path, under->key_line,
                    under->key_column, key);
    char *text = value->kind == YAML_LIST ? join(path, key, value) : mem_string(value->text);
    if (!text)
        return METE_EINVAL;
    push(a, (struct assignment){mem_string(key), text,
                                mem_print("%s:%d:%d", path, under->key_line, under->key_column),
                                mem_print("%s:%d:%d", path, value->line, value->column), false});
    return 0;
}

static int add_section(struct assignments *a, const char *path, const char *prefix,
                       const struct yaml *map)
{
    int err = 0;
    for (int i = 0; !err && i < map->n; i++) {
        const struct yaml *child = &map->child[i];
        char *key = mem_print("%s%s%s", prefix, *prefix ? "." : "", child->key);
        err = child->kind == YAML_MAP ? add_section(a, path, key, child)
                                      : assignments_add_value(a, path, key, child, child);
        free(key);
    }
    return err;
}

int assignments_add_yaml(struct assignments *a, const char *path, const struct yaml *map)
{
    if (map->kind != YAML_MAP)
        return fail(METE_EINVAL, "%s:%d:%d: expected settings (key: value), got %s", path,
                    map->line, map->column, yaml_kind_name(map));
    return add_section(a, path, "", map);
}
