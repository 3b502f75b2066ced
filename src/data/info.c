/* info.c - what there is to say of a dataset. */
#include "data/dataset.h"
#include "data/dataset_own.h"
#include "data/meta.h"
#include "data/names.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The least, middle and most items among n groups; those of none (-1) are left out. */
static struct mete_spread spread(const int32_t *group, int64_t items, int n)
{
    struct mete_spread s = {0};
    int64_t *count = mem_array((size_t)n + 1, sizeof *count);
    for (int64_t i = 0; i < items; i++)
        if (group[i] >= 0)
            count[group[i]]++;
    qsort(count, (size_t)n, sizeof *count, by_size);
    if (n > 0)
        s = (struct mete_spread){count[0], count[n / 2], count[n - 1]};
    free(count);
    return s;
}

static int count_groups(const struct dataset *d)
{
    struct names names = {0};
    for (int k = 0; d->class_groups && k < d->classes; k++)
        names_add(&names, d->class_groups[k]);
    int n = names.n;
    names_release(&names);
    return n;
}

/* How many users have items in a part. */
static int users_with(const struct dataset *d, enum dataset_part part)
{
    bool *has = mem_array((size_t)d->users, sizeof *has);
    int n = 0;
    for (int64_t i = 0; i < d->items; i++)
        if (d->part[i] == part && !has[d->user[i]]) {
            has[d->user[i]] = true;
            n++;
        }
    free(has);
    return n;
}

static void describe(const struct dataset *d, struct mete_data_info *out)
{
    *out = (struct mete_data_info){.items = d->items,
                                   .classes = d->classes,
                                   .users = d->users,
                                   .shape = {d->h, d->w, d->c},
                                   .is_float = d->is_float,
                                   .scale = d->scale,
                                   .shift = d->shift,
                                   .groups = count_groups(d),
                                   .unlabelled = d->items - dataset_labelled(d)};
    snprintf(out->name, sizeof out->name, "%s", d->name);
    snprintf(out->path, sizeof out->path, "%s", d->path);
    snprintf(out->source, sizeof out->source, "%s", d->source);
    snprintf(out->licence, sizeof out->licence, "%s", d->licence);
    snprintf(out->sha256, sizeof out->sha256, "%s", d->sha256);
    out->per_class = spread(d->y, d->items, d->classes);
    if (d->user)
        out->per_user = spread(d->user, d->items, d->users);
    for (int64_t i = 0; d->part && i < d->items; i++)
        out->part_items[d->part[i]]++;
    for (int p = PART_TRAIN; d->part && d->user && p <= PART_TEST; p++)
        out->part_users[p] = users_with(d, p);
    for (int k = 0; d->class_split && k < d->classes; k++)
        out->split_classes[d->class_split[k]]++;
}

int dataset_describe(const struct dataset *d, struct mete_data_info *out)
{
    if (strlen(d->path) >= sizeof out->path)
        return fail(METE_EINVAL, "the folder of %.60s has a name of more than %zu bytes", d->name,
                    sizeof out->path - 1);
    struct mete_data_info own;
    describe(d, &own);
    return options_give(out, &own, sizeof own, "mete_data_info");
}

int mete_data_info(const char *name, struct mete_data_info *out)
{
    NUMBER_LOCALE;
    struct dataset *d = NULL;
    int err = dataset_find(&d, name);
    if (err)
        return err;
    err = dataset_describe(d, out);
    dataset_close(d);
    return err;
}

int mete_data_verify(const char *name)
{
    NUMBER_LOCALE;
    struct dataset *d = NULL;
    char sum[65];
    int err = dataset_find(&d, name);
    if (err)
        return err;
    unsigned arrays =
        1u << OWN_X | 1u << OWN_Y | (d->user ? 1u << OWN_USER : 0) | (d->part ? 1u << OWN_PART : 0);
    if (!*d->path || !*d->sha256)
        err = fail(METE_EINVAL, "%s: has no checksum to compare with", name);
    else if (!(err = meta_sum(d->path, arrays, sum)) && strcmp(sum, d->sha256) != 0)
        err = fail(METE_EFORMAT, "%s: its arrays have the checksum %s, meta.json says %s", d->path,
                   sum, d->sha256);
    dataset_close(d);
    return err;
}
