/* file.c - reading, mapping and replacing whole files. */
#include "base/file.h"
#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OUT_BUFFER = 1 << 16 };

static int open_to_read(const char *path, int *fd)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? fail(METE_EIO, "cannot read %s: %s", path, strerror(errno)) : 0;
}

int file_read(const char *path, size_t limit, char **out, size_t *size)
{
    int fd, err = open_to_read(path, &fd);
    if (err)
        return err;
    struct stat st;
    size_t used = 0, room = 4096;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        room = (size_t)st.st_size < limit ? (size_t)st.st_size + 1 : limit + 1;
    char *text = malloc(room + 1);
    if (!text)
        err = fail(METE_ENOMEM, "%s: there is no memory for %zu bytes", path, room);
    while (!err && used <= limit) {
        if (used == room) {
            room = room < limit / 2 ? 2 * room : limit + 1;
            char *more = realloc(text, room + 1);
            if (!more) {
                err = fail(METE_ENOMEM, "%s: there is no memory for %zu bytes", path, room);
                break;
            }
            text = more;
        }
        ssize_t n = read(fd, text + used, room - used);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            err = fail(METE_EIO, "cannot read %s: %s", path, strerror(errno));
        used += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    if (!err && used > limit)
        err = fail(METE_EFORMAT, "%s: larger than the %zu bytes expected at most", path, limit);
    if (err) {
        free(text);
        return err;
    }
    text[used] = '\0';
    *out = text;
    *size = used;
    return 0;
}

int file_map_open(struct file_map *m, const char *path)
{
    int fd, err = open_to_read(path, &fd);
    if (err)
        return err;
    struct stat st;
    void *p = "";
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        err = fail(METE_EIO, "cannot read %s: not a regular file", path);
    } else if (st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            err = fail(METE_EIO, "cannot map %s: %s", path, strerror(errno));
    }
    close(fd);
    if (!err)
        *m = (struct file_map){p, (size_t)st.st_size};
    return err;
}

void file_map_close(struct file_map *m)
{
    if (m->size > 0)
        munmap((void *)m->at, m->size);
    *m = (struct file_map){0};
}

/* Where a file named `path` would really be written: links are followed, so that
 * the file is replaced and not the link.  What is there must be a plain file. */
static int real_target(const char *path, char **out)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        *out = mem_string(path);
        return 0;
    }
    if (!S_ISREG(st.st_mode))
        return fail(METE_EIO, "cannot write %s: %s", path,
                    S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file");
    char *real = realpath(path, NULL);
    if (!real)
        return fail(METE_EIO, "cannot write %s: %s", path, strerror(errno));
    *out = real;
    return 0;
}

/* ---- names to write to ---- */

enum { RESERVE_TRIES = 1000 };

/* Whether `name` is still that of the open file. */
static bool has_name(int fd, const char *name)
{
    struct stat open_one, named;
    return fstat(fd, &open_one) == 0 && lstat(name, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

static int make_new(const char *name, bool folder)
{
    if (!folder)
        return open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (mkdir(name, 0755) != 0)
        return -1;
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), why = errno;
    if (fd < 0)
        rmdir(name);
    errno = why;
    return fd;
}

/* Removes what has the name, if it is ours to remove and nobody writes to it. */
static void reclaim(const char *name, bool folder, file_remove_fn *remove)
{
    struct stat st;
    if (lstat(name, &st) != 0 || !(folder ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode)))
        return;
    int fd = open(name, (folder ? O_RDONLY | O_DIRECTORY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && has_name(fd, name))
        remove(name); /* where that fails the name stays taken */
    close(fd);
}

/* Locks what was just made.  False where another process has taken it for a left-over. */
static bool lock_new(int fd, const char *name)
{
    bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* or no locks here */
    return locked && has_name(fd, name);
}

int file_reserve(const char *path, bool folder, file_remove_fn *remove, char **name, int *fd)
{
    for (int i = 0; i < RESERVE_TRIES; i++) {
        char *try = i ? mem_print("%s.%d.tmp", path, i) : mem_print("%s.tmp", path);
        int made = make_new(try, folder);
        if (made < 0 && errno == EEXIST) {
            reclaim(try, folder, remove ? remove : unlink);
            made = make_new(try, folder);
        }
        if (made >= 0 && lock_new(made, try)) {
            *name = try;
            *fd = made;
            return 0;
        }
        if (made >= 0)
            close(made);
        free(try);
        if (made < 0 && errno != EEXIST)
            break;
    }
    return fail(METE_EIO, "cannot write %s: %s", path, strerror(errno));
}

int file_out_open(struct file_out *o, const char *path)
{
    char *target = NULL;
    *o = (struct file_out){.fd = -1};
    int err = real_target(path, &target);
    if (err)
        return err;
    o->path = target;
    err = file_reserve(target, false, NULL, &o->temporary, &o->fd);
    if (err) {
        file_out_abandon(o);
        return err;
    }
    o->buffer = mem_alloc(OUT_BUFFER);
    return 0;
}

static int out_fail(struct file_out *o, const char *doing)
{
    o->err = fail(METE_EIO, "cannot %s %s: %s", doing, o->path, strerror(errno));
    snprintf(o->sentence, sizeof o->sentence, "%s", mete_errmsg());
    return o->err;
}

static void put(struct file_out *o, const char *data, size_t size)
{
    while (size > 0 && !o->err) {
        ssize_t n = write(o->fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            out_fail(o, "write");
            return;
        }
        data += n;
        size -= (size_t)n;
    }
}

static void flush(struct file_out *o)
{
    put(o, o->buffer, o->used);
    o->used = 0;
}

int file_out_write(struct file_out *o, const void *data, size_t size)
{
    if (size > OUT_BUFFER - o->used)
        flush(o);
    if (size > OUT_BUFFER) {
        put(o, data, size);
    } else if (size > 0) {
        memcpy(o->buffer + o->used, data, size);
        o->used += size;
    }
    o->size += (int64_t)size;
    return o->err;
}

int file_out_patch(struct file_out *o, int64_t offset, const void *data, size_t size)
{
    assert(offset >= 0 && offset + (int64_t)size <= o->size);
    flush(o);
    const char *p = data;
    while (size > 0 && !o->err) {
        ssize_t n = pwrite(o->fd, p, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return out_fail(o, "write");
        p += n;
        offset += n;
        size -= (size_t)n;
    }
    return o->err;
}

/* Some file systems cannot sync a folder; the file is complete there too, so only a
 * real error of the device counts. */
int file_sync_folder(const char *path)
{
    char *folder = mem_string(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
    if (fd < 0 && errno != EACCES)
        err = fail(METE_EIO, "cannot open the folder of %s: %s", path, strerror(errno));
    if (fd >= 0 && fsync(fd) != 0 && errno == EIO)
        err = fail(METE_EIO, "cannot sync the folder of %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(folder);
    return err;
}

/* Some file systems tell of a full disk only when a file is closed; the lock lasts until it has
 * its name. */
static int close_locked(struct file_out *o)
{
    int lock = fcntl(o->fd, F_DUPFD_CLOEXEC, 0);
    if (lock < 0)
        out_fail(o, "write");
    if (close(o->fd) != 0 && !o->err)
        out_fail(o, "write");
    o->fd = -1;
    return lock;
}

int file_out_commit(struct file_out *o)
{
    flush(o);
    if (!o->err && fsync(o->fd) != 0)
        out_fail(o, "sync");
    int lock = close_locked(o);
    if (!o->err && rename(o->temporary, o->path) != 0)
        out_fail(o, "write");
    int err = o->err;
    if (err) {
        fail(err, "%s", o->sentence); /* another file may have failed since */
    } else {
        err = file_sync_folder(o->path);
        free(o->temporary); /* it has its name now: nothing to remove */
        o->temporary = NULL;
    }
    file_out_abandon(o);
    if (lock >= 0)
        close(lock);
    return err;
}

void file_out_abandon(struct file_out *o)
{
    if (!o->path)
        return;
    if (o->temporary)
        unlink(o->temporary);
    if (o->fd >= 0)
        close(o->fd);
    free(o->path);
    free(o->temporary);
    free(o->buffer);
    *o = (struct file_out){.fd = -1};
}

int file_write(const char *path, const void *data, size_t size)
{
    struct file_out o;
    int err = file_out_open(&o, path);
    if (err)
        return err;
    file_out_write(&o, data, size);
    return file_out_commit(&o);
}

int file_make_folder(const char *path)
{
    if (strlen(path) > FILE_FOLDER_MAX)
        return fail(METE_EINVAL, "a folder's name has at most %d bytes, this one has %zu: %.60s...",
                    FILE_FOLDER_MAX, strlen(path), path);
    char *part = mem_string(path);
    int err = 0;
    for (char *p = part + 1; !err; p++) {
        char c = *p;
        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        struct stat st;
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            err = fail(METE_EIO, "cannot create the folder %s: %s", part, strerror(errno));
        else if (stat(part, &st) != 0 || !S_ISDIR(st.st_mode))
            err = fail(METE_EIO, "cannot create the folder %s: a file has that name", part);
        *p = c;
        if (c == '\0')
            break;
    }
    free(part);
    return err;
}
