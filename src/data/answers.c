/* answers.c - answers.log on the disk: reading it, adding to it, and laying it over a dataset. */
#include "data/answers_own.h"
#include "data/dataset_own.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- reading ---- */

/* All bytes of an open log from `from` on. */
static int read_rest(const struct answers *a, int fd, int64_t from, char **out, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return fail(METE_EIO, "cannot read %s: it is not a regular file", a->path);
    size_t want = st.st_size > from ? (size_t)(st.st_size - from) : 0, used = 0;
    char *text = malloc(want + 1);
    if (!text)
        return fail(METE_ENOMEM, "%s: there is no memory for %zu bytes", a->path, want);
    while (used < want) {
        ssize_t n = pread(fd, text + used, want - used, (off_t)from + (off_t)used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            free(text);
            return fail(METE_EIO, "cannot read %s: %s", a->path, strerror(errno));
        }
        if (n == 0)
            break;
        used += (size_t)n;
    }
    *out = text;
    *size = used;
    return 0;
}

/* What was added since; all of it, where the log is not the one that was read. */
static int read_news(struct answers *a, int fd)
{
    struct stat st;
    char *text = NULL;
    size_t size = 0;
    if (fstat(fd, &st) == 0 && st.st_size < a->size)
        answers_restart(a);
    int err = read_rest(a, fd, a->size, &text, &size);
    if (!err && size > 0)
        err = answers_take(a, text, size);
    if (err)
        answers_restart(a);
    free(text);
    return err ? err : a->broken;
}

int answers_refresh(struct answers *a)
{
    int fd = open(a->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        answers_restart(a);
        return a->broken;
    }
    if (fd < 0)
        return fail(METE_EIO, "cannot read %s: %s", a->path, strerror(errno));
    int err = read_news(a, fd);
    close(fd);
    return err;
}

int answers_open(struct answers **out, const char *name)
{
    struct dataset *found = NULL, *d = NULL;
    int err = dataset_find(&found, name);
    if (err)
        return err;
    err = *found->path ? dataset_open_plain(&d, found->path)
                       : fail(METE_EINVAL,
                              "%s is generated, and all its labels are known: there is nobody to "
                              "ask",
                              found->name);
    dataset_close(found);
    if (err)
        return err;
    struct answers *a = answers_make(d, false);
    err = answers_refresh(a);
    if (err)
        answers_close(a);
    else
        *out = a;
    return err;
}

int answers_open_any(struct answers **out, const char *name)
{
    struct dataset *d = NULL;
    int err = dataset_find(&d, name);
    if (!err && !*d->path) {
        *out = answers_make(d, false);
        return 0;
    }
    dataset_close(d);
    return err ? err : answers_open(out, name);
}

/* ---- adding ---- */

static void time_now(char out[ANSWER_TIME])
{
    struct timespec now;
    struct tm t;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &t);
    char text[64] = "";
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(text + n, sizeof text - n, ".%03dZ", (int)(now.tv_nsec / 1000000));
    memcpy(out, text, ANSWER_TIME - 1);
    out[ANSWER_TIME - 1] = '\0';
}

/* Applies the rows, and writes the lines of those that are new. */
static int apply_all(struct answers *a, const struct answer *rows, int n, struct text *lines,
                     struct answers_added *out)
{
    char now[ANSWER_TIME];
    millionths before = a->totals.spent;
    time_now(now);
    for (int i = 0; i < n; i++) {
        struct answer r = rows[i];
        if (!*r.when)
            memcpy(r.when, now, sizeof now);
        r.batch = a->totals.batches + 1;
        r.undone = false;
        out->failed = i;
        int took = answers_apply(a, &r);
        if (took < 0)
            return took;
        if (took == 1)
            answer_print(lines, &r);
        out->added += took;
        out->same += !took;
    }
    out->failed = -1;
    out->charged = a->totals.spent - before;
    if (a->totals.budget > 0 && out->charged > 0 && a->totals.spent > a->totals.budget)
        return fail(METE_EBUDGET,
                    "%s: these answers cost %g, and %g of the budget of %g is left; raise it with "
                    "'mete label status --budget'",
                    a->d->name, money_labels(out->charged),
                    money_labels(a->totals.budget > before ? a->totals.budget - before : 0),
                    money_labels(a->totals.budget));
    return 0;
}

/* One write, on the disk when it returns; what went wrong is taken back. */
static int write_batch(const struct answers *a, int fd, const char *text, size_t size)
{
    bool cut = ftruncate(fd, (off_t)a->size) == 0; /* what a killed writer left */
    ssize_t n = cut ? write(fd, text, size) : -1;
    if (n == (ssize_t)size && fsync(fd) == 0)
        return a->size > 0 ? 0 : file_sync_folder(a->path);
    int why = n >= 0 && n < (ssize_t)size ? ENOSPC : errno;
    (void)!ftruncate(fd, (off_t)a->size);
    return fail(METE_EIO, "cannot write %s: %s", a->path, strerror(why));
}

/* What was applied and not written is none of what stands. */
static void forget_batch(struct answers *a, int fd, int err)
{
    char *why = mem_string(mete_errmsg());
    answers_restart(a);
    read_news(a, fd);
    fail(err, "%s", why);
    free(why);
}

/* The batch on an open and locked log. */
static int append_locked(struct answers *a, int fd, const struct answer *rows, int n,
                         struct answers_added *out)
{
    struct text lines = {0}, all = {0};
    char sum[SHA256_HEX];
    int err = read_news(a, fd);
    out->first = a->rows;
    if (!err)
        err = apply_all(a, rows, n, &lines, out);
    if (!err && out->added > 0) {
        if (a->size == 0)
            answers_header(&all, a->d);
        text_add_bytes(&all, lines.at, lines.size);
        answers_end(&all, lines.at, lines.size, out->added, a->sum, sum);
        err = write_batch(a, fd, all.at, all.size);
    }
    if (err)
        forget_batch(a, fd, err);
    else if (out->added > 0)
        answers_closed(a, out->added + 1 + (a->size == 0), all.size, sum);
    text_release(&lines);
    text_release(&all);
    return err;
}

int answers_append(struct answers *a, const struct answer *rows, int n, struct answers_added *out)
{
    struct answers_added added = {.failed = -1};
    int fd = open(a->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return fail(METE_EIO, "cannot write %s: %s", a->path, strerror(errno));
    int err = 0;
    while (!err && flock(fd, LOCK_EX) != 0)
        err = errno == EINTR ? 0 : fail(METE_EIO, "cannot lock %s: %s", a->path, strerror(errno));
    if (!err)
        err = append_locked(a, fd, rows, n, &added);
    close(fd); /* and unlock */
    if (out)
        *out = added;
    return err;
}

/* ---- over a dataset ---- */

bool answers_exist(const char *dir)
{
    char *path = mem_print("%s/answers.log", dir);
    struct stat st;
    bool yes = stat(path, &st) == 0 && st.st_size > 0; /* empty: a batch was refused */
    free(path);
    return yes;
}

static void add_classes(struct dataset *d, const struct answers *a)
{
    int n = a->classes.n;
    if (n == d->classes)
        return;
    char **names = mem_array((size_t)n, sizeof *names);
    char **groups = d->class_groups ? mem_array((size_t)n, sizeof *groups) : NULL;
    uint8_t *split = d->class_split ? mem_array((size_t)n, 1) : NULL;
    for (int k = 0; k < n; k++) {
        bool old = k < d->classes;
        names[k] = old && d->class_names ? d->class_names[k] : mem_string(a->classes.at[k]);
        if (groups)
            groups[k] = old ? d->class_groups[k] : mem_string("");
        if (split)
            split[k] = old ? d->class_split[k] : SPLIT_TRAIN;
    }
    free(d->class_names);
    free(d->class_groups);
    free((void *)(uintptr_t)d->class_split);
    d->class_names = names;
    d->class_groups = groups;
    d->class_split = split;
    d->classes = n;
}

/* Labels as they stand, and what each answer cost. */
static void lay_over(struct dataset *d, const struct answers *a)
{
    struct dataset_own *own = d->own;
    int32_t *y = mem_array((size_t)d->items, sizeof *y);
    int64_t *paid = mem_array((size_t)d->items, sizeof *paid);
    for (int64_t i = 0; i < d->items; i++) {
        int64_t at = a->label[i] != NO_LABEL ? answers_row_of(a, i) : -1;
        y[i] = a->label[i];
        paid[i] = at >= 0 && a->row[at].kind == ANSWER_LABEL ? a->row[at].cost : -1;
    }
    add_classes(d, a);
    npy_close(&own->file[OWN_Y]);
    d->y = y;
    d->paid = paid;
}

int answers_overlay(struct dataset *d)
{
    if (!answers_exist(d->path))
        return 0;
    struct answers *a = answers_make(d, true);
    int err = answers_refresh(a);
    if (!err && a->rows > 0)
        lay_over(d, a);
    answers_close(a);
    return err;
}
