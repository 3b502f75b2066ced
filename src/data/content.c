/* content.c - one word for what a dataset holds. */
#include "data/content.h"
#include "data/dataset_own.h"
#include "data/meta.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void content_word(struct sha256 *s, char out[CONTENT_SIZE])
{
    char hex[SHA256_HEX];
    sha256_hex(s, hex);
    snprintf(out, CONTENT_SIZE, "%.32s", hex);
}

static unsigned arrays_of(const struct dataset *d)
{
    return 1u << OWN_X | 1u << OWN_Y | (d->user ? 1u << OWN_USER : 0) |
           (d->part ? 1u << OWN_PART : 0);
}

static int changed_at(const char *dir, const char *file, struct timespec *out)
{
    struct stat st;
    char *path = mem_print("%s/%s", dir, file);
    int err = stat(path, &st) ? fail(METE_EIO, "cannot look at %s: %s", path, strerror(errno)) : 0;
    free(path);
    if (!err)
        *out = st.st_mtim;
    return err;
}

/* Whether an array is no older than meta.json, which an import writes last. */
static int is_stale(const struct dataset *d, bool *stale)
{
    struct timespec meta, array;
    int err = changed_at(d->path, "meta.json", &meta);
    *stale = !*d->sha256;
    for (int a = 0; a < OWN_ARRAYS && !err; a++) {
        if (!(arrays_of(d) & 1u << a))
            continue;
        err = changed_at(d->path, array_files[a], &array);
        if (!err && (array.tv_sec > meta.tv_sec ||
                     (array.tv_sec == meta.tv_sec && array.tv_nsec >= meta.tv_nsec)))
            *stale = true;
    }
    return err;
}

/* A folder that cannot be written is verified again next time. */
static void date_anew(const char *dir)
{
    char *path = mem_print("%s/meta.json", dir);
    (void)!utimensat(AT_FDCWD, path, NULL, 0);
    free(path);
}

static int sum_of_files(const struct dataset *d, char sum[SHA256_HEX])
{
    bool stale;
    int err = is_stale(d, &stale);
    if (!err && !stale)
        snprintf(sum, SHA256_HEX, "%.64s", d->sha256);
    else if (!err)
        err = meta_sum(d->path, arrays_of(d), sum);
    if (err || !stale || !*d->sha256)
        return err;
    if (strcmp(sum, d->sha256) == 0)
        date_anew(d->path);
    else
        log_warn("%s: its arrays are not those that were imported; it counts as another dataset",
                 d->path);
    return 0;
}

static void sum_of_memory(const struct dataset *d, char sum[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, d->x, (size_t)d->items * dataset_item_bytes(d));
    sha256_add(&s, d->y, (size_t)d->items * sizeof *d->y);
    if (d->user)
        sha256_add(&s, d->user, (size_t)d->items * sizeof *d->user);
    if (d->part)
        sha256_add(&s, d->part, (size_t)d->items);
    sha256_hex(&s, sum);
}

int dataset_content(const struct dataset *d, char out[CONTENT_SIZE])
{
    const struct dataset_own *own = d->own;
    char sum[SHA256_HEX], text[256];
    struct sha256 s;
    int err = 0;
    if (own && *own->generated) {
        snprintf(out, CONTENT_SIZE, "%s", own->generated);
        return 0;
    }
    if (*d->path)
        err = sum_of_files(d, sum);
    else
        sum_of_memory(d, sum);
    if (err)
        return err;
    int n = snprintf(text, sizeof text, "%s\n%" PRId64 " %d %d\n%d %d %d %d\n%.9g %.9g\n%d %d %d\n",
                     sum, d->items, d->classes, d->users, d->h, d->w, d->c, d->is_float,
                     (double)d->scale, (double)d->shift, d->user != NULL, d->part != NULL,
                     d->class_split != NULL);
    sha256_init(&s);
    sha256_add(&s, text, (size_t)n);
    if (d->paid) /* answers are labels, too */
        sha256_add(&s, d->y, (size_t)d->items * sizeof *d->y);
    if (d->class_split)
        sha256_add(&s, d->class_split, (size_t)d->classes);
    content_word(&s, out);
    return 0;
}
