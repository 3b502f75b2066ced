/* builder.c - writing a dataset: the temporary folder, x.npy, and the last step. */
#include "data/builder.h"
#include "data/answers.h"
#include "data/dataset_own.h"
#include "data/meta.h"
#include "data/places.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct builder {
    char *dir, *tmp; /* the target, and where it grows */
    bool force;
    int lock; /* file descriptor of tmp, or -1 */
    int x;    /* of x.npy, or -1 */
    struct dataset shape;
    atomic_llong rows;
    struct meta_notes notes;
};

/* ---- folders ---- */

static bool exists(const char *dir, const char *file)
{
    char *path = mem_print("%s/%s", dir, file);
    bool yes = access(path, F_OK) == 0;
    free(path);
    return yes;
}

/* Removes the files of a dataset, finished or not, and then the folder; never anything else. */
static int remove_folder(const char *dir)
{
    static const char *const others[] = {"meta.json", PLACES_FILE};
    for (int i = 0; i < OWN_ARRAYS + 2; i++) {
        char *path =
            mem_print("%s/%s.tmp", dir, i < OWN_ARRAYS ? array_files[i] : others[i - OWN_ARRAYS]);
        unlink(path);
        path[strlen(path) - strlen(".tmp")] = '\0';
        unlink(path);
        free(path);
    }
    if (rmdir(dir) != 0 && errno != ENOENT)
        return fail(METE_EIO, "cannot remove %s: %s", dir, strerror(errno));
    return 0;
}

static int check_target(const char *dir, bool force)
{
    struct stat st;
    if (lstat(dir, &st) != 0) {
        if (errno == ENOENT)
            return 0;
        return fail(METE_EIO, "cannot look at %s: %s", dir, strerror(errno));
    }
    if (!force)
        return fail(METE_EINVAL, "%s exists already; give another name, or --force to replace it",
                    dir);
    if (!S_ISDIR(st.st_mode) || !exists(dir, "meta.json") || !exists(dir, "x.npy"))
        return fail(METE_EINVAL, "%s is not a dataset and will not be replaced; give another name",
                    dir);
    if (answers_exist(dir))
        return fail(METE_EINVAL,
                    "%s holds answers of people (answers.log) and will not be replaced; give "
                    "another name",
                    dir);
    return 0;
}

static int make_parent(const char *dir)
{
    const char *slash = strrchr(dir, '/');
    if (!slash || slash == dir)
        return 0;
    char *parent = mem_print("%.*s", (int)(slash - dir), dir);
    int err = file_make_folder(parent);
    free(parent);
    return err;
}

int builder_open(struct builder **out, const char *dir, bool force)
{
    size_t length = strlen(dir);
    while (length > 1 && dir[length - 1] == '/')
        length--;
    if (length == 0)
        return fail(METE_EINVAL, "the dataset needs a folder to be written to");
    struct builder *b = mem_alloc(sizeof *b);
    b->dir = mem_print("%.*s", (int)length, dir);
    b->force = force;
    b->x = b->lock = -1;
    int err = check_target(b->dir, force);
    if (!err)
        err = make_parent(b->dir);
    if (!err)
        err = file_reserve(b->dir, true, remove_folder, &b->tmp, &b->lock);
    if (err) {
        builder_close(b);
        return err;
    }
    *out = b;
    return 0;
}

void builder_close(struct builder *b)
{
    if (!b)
        return;
    if (b->x >= 0)
        close(b->x);
    if (b->tmp)
        remove_folder(b->tmp);
    if (b->lock >= 0)
        close(b->lock);
    meta_notes_release(&b->notes);
    free(b->tmp);
    free(b->dir);
    free(b);
}

/* ---- items ---- */

int builder_shape(struct builder *b, int h, int w, int c, bool is_float)
{
    assert(b->x < 0);
    b->shape.h = h;
    b->shape.w = w;
    b->shape.c = c;
    b->shape.is_float = is_float;
    char *path = mem_print("%s/%s", b->tmp, array_files[OWN_X]);
    b->x = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    int err = b->x < 0 ? fail(METE_EIO, "cannot write %s: %s", path, strerror(errno)) : 0;
    free(path);
    return err;
}

int builder_restart(struct builder *b)
{
    if (b->x < 0)
        return 0;
    char *path = mem_print("%s/%s", b->tmp, array_files[OWN_X]);
    int err = close(b->x) != 0 || unlink(path) != 0
                  ? fail(METE_EIO, "cannot begin %s again: %s", path, strerror(errno))
                  : 0;
    b->x = -1;
    atomic_store(&b->rows, 0);
    free(path);
    return err;
}

static int x_failed(const struct builder *b)
{
    return fail(METE_EIO, "cannot write x.npy of %s: %s", b->dir, strerror(errno));
}

static int write_at(struct builder *b, const void *data, size_t bytes, off_t at)
{
    for (const char *p = data; bytes > 0;) {
        ssize_t n = pwrite(b->x, p, bytes, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return x_failed(b);
        p += n;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int builder_put(struct builder *b, int64_t at, const void *x, int64_t n)
{
    size_t bytes = dataset_item_bytes(&b->shape);
    assert(b->x >= 0 && at >= 0);
    if (b->shape.is_float) {
        int err = dataset_check_rows(b->dir, x, at, n, b->shape.c);
        if (err)
            return err;
    }
    atomic_fetch_add(&b->rows, n);
    return write_at(b, x, (size_t)n * bytes, (off_t)((size_t)at * bytes + NPY_HEADER_LEAST));
}

/* The header comes last, when the number of items is known. */
static int finish_x(struct builder *b, const struct dataset *full)
{
    char header[NPY_HEADER_ROOM];
    int64_t shape[4];
    int rank = dataset_x_shape(full, shape);
    size_t bytes =
        npy_header(header, full->is_float ? DTYPE_F32 : DTYPE_U8, rank, shape, NPY_HEADER_LEAST);
    assert(bytes == NPY_HEADER_LEAST);
    int err = write_at(b, header, bytes, 0);
    if (!err && fsync(b->x) != 0)
        err = x_failed(b);
    if (close(b->x) != 0 && !err)
        err = x_failed(b);
    b->x = -1;
    return err;
}

/* ---- the end ---- */

void builder_note(struct builder *b, const char *key, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = mem_vprint(fmt, args);
    va_end(args);
    meta_notes_add(&b->notes, key, text);
}

static int write_array(struct builder *b, int which, enum dtype type, const void *data,
                       int64_t items)
{
    char *path = mem_print("%s/%s", b->tmp, array_files[which]);
    int err = npy_write(path, type, 1, &items, data);
    free(path);
    return err;
}

static int write_meta(struct builder *b, struct dataset *full)
{
    char sum[SHA256_HEX];
    unsigned arrays = 1u << OWN_X | 1u << OWN_Y | (full->user ? 1u << OWN_USER : 0) |
                      (full->part ? 1u << OWN_PART : 0);
    int err = meta_sum(b->tmp, arrays, sum);
    full->sha256 = sum;
    return err ? err : meta_write(b->tmp, full, &b->notes);
}

static int sync_folder(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int bad = fd < 0 || fsync(fd) != 0;
    if (fd >= 0)
        close(fd);
    return bad ? fail(METE_EIO, "cannot sync the folder %s: %s", dir, strerror(errno)) : 0;
}

/* For file systems that cannot exchange two names.  A kill between the renames leaves the former
 * dataset beside its place. */
static int rename_twice(struct builder *b)
{
    int err = 0;
    char *old = mem_print("%s.old.tmp", b->dir);
    if (rename(b->dir, old) != 0) {
        err = fail(METE_EIO, "cannot set %s aside: %s", b->dir, strerror(errno));
    } else if (rename(b->tmp, b->dir) != 0) {
        err = fail(METE_EIO, "cannot rename %s to %s: %s", b->tmp, b->dir, strerror(errno));
        if (rename(old, b->dir) != 0)
            err = fail_within(err, "the former dataset is now %s", old);
    } else {
        rename(old, b->tmp); /* as if exchanged */
    }
    free(old);
    return err;
}

/* The finished folder and the one it replaces change names, so that there is one at any time. */
static int replace(struct builder *b)
{
    if (renameat2(AT_FDCWD, b->tmp, AT_FDCWD, b->dir, RENAME_EXCHANGE) == 0)
        return 0;
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)
        return rename_twice(b);
    return fail(METE_EIO, "cannot replace %s: %s", b->dir, strerror(errno));
}

/* Puts the finished folder in place. */
static int put_in_place(struct builder *b)
{
    int err = check_target(b->dir, b->force);
    if (err)
        return err;
    bool replaces = access(b->dir, F_OK) == 0;
    if (replaces)
        err = replace(b);
    else if (rename(b->tmp, b->dir) != 0)
        err = fail(METE_EIO, "cannot rename %s to %s: %s", b->tmp, b->dir, strerror(errno));
    if (err)
        return err;
    err = file_sync_folder(b->dir);
    if (!replaces || remove_folder(b->tmp) == 0) {
        free(b->tmp);
        b->tmp = NULL;
    } else {
        log_warn("the former dataset is still there: %s", mete_errmsg());
    }
    return err;
}

static int finish(struct builder *b, struct dataset *full)
{
    int err = finish_x(b, full);
    if (!err)
        err = write_array(b, OWN_Y, DTYPE_I32, full->y, full->items);
    if (!err && full->user)
        err = write_array(b, OWN_USER, DTYPE_I32, full->user, full->items);
    if (!err && full->part)
        err = write_array(b, OWN_PART, DTYPE_U8, full->part, full->items);
    if (!err && full->places)
        err = places_write(b->tmp, full->places);
    if (!err)
        err = write_meta(b, full);
    if (!err)
        err = sync_folder(b->tmp);
    return err ? err : put_in_place(b);
}

int builder_finish(struct builder *b, const struct dataset *about)
{
    assert(b->x >= 0);
    struct dataset full = *about;
    full.h = b->shape.h;
    full.w = b->shape.w;
    full.c = b->shape.c;
    full.is_float = b->shape.is_float;
    int err = dataset_check(&full);
    if (err)
        return err;
    assert(atomic_load(&b->rows) == full.items); /* every item was put, and once */
    return finish(b, &full);
}

int dataset_write(const char *dir, const struct dataset *d, bool force)
{
    struct builder *b = NULL;
    int err = builder_open(&b, dir, force);
    if (!err)
        err = builder_shape(b, d->h, d->w, d->c, d->is_float);
    if (!err)
        err = builder_put(b, 0, d->x, d->items);
    if (!err)
        err = builder_finish(b, d);
    builder_close(b);
    return err;
}
