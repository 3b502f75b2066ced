/* file_iter.c - walking archives with libarchive, and folders with fts(3). */
#include "data/file_iter.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef METE_HAVE_ARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

enum { BLOCK = 64 << 10 };

struct file_iter {
    char *path, *place;
    double total; /* bytes of the archive */
    FTS *folder;  /* one of these two is set */
    int fd;       /* the current file of the folder, or -1 */
#ifdef METE_HAVE_ARCHIVE
    struct archive *archive;
    struct archive_entry *entry;
#endif
};

static void set_place(struct file_iter *w, const char *name)
{
    free(w->place);
    w->place = !name       ? mem_string(w->path)
               : w->folder ? mem_print("%s/%s", w->path, name)
                           : mem_print("%s: %s", w->path, name);
}

const char *file_iter_place(struct file_iter *w)
{
    return w->place;
}

static struct file_iter *new_file_iter(const char *path)
{
    struct file_iter *w = mem_alloc(sizeof *w);
    w->path = mem_string(path);
    w->fd = -1;
    set_place(w, NULL);
    return w;
}

/* ---- folders ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static int open_folder(struct file_iter *w)
{
    char *paths[] = {w->path, NULL};
    w->folder = fts_open(paths, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    return w->folder ? 0
                     : fail(METE_EIO, "cannot read the folder %s: %s", w->path, strerror(errno));
}

static void close_file(struct file_iter *w)
{
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static int next_in_folder(struct file_iter *w, const char **name)
{
    close_file(w);
    size_t root = strlen(w->path);
    for (;;) {
        errno = 0;
        FTSENT *e = fts_read(w->folder);
        if (!e && errno)
            return fail(METE_EIO, "cannot read the folder %s: %s", w->path, strerror(errno));
        *name = NULL;
        if (!e)
            return 0;
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || e->fts_info == FTS_NS)
            return fail(METE_EIO, "cannot read %s: %s", e->fts_path, strerror(e->fts_errno));
        if (e->fts_level > 0 && e->fts_name[0] == '.') { /* .git, .DS_Store */
            fts_set(w->folder, e, FTS_SKIP);
            continue;
        }
        if (e->fts_info == FTS_SLNONE)
            return fail(METE_EIO,
                        "%s is a link to nothing; remove it, or what it should lead to is "
                        "missing from the dataset",
                        e->fts_path);
        if (e->fts_info == FTS_DEFAULT)
            return fail(METE_EIO,
                        "%s is no file that can be read, but a pipe, a socket or a device",
                        e->fts_path);
        if (e->fts_info == FTS_DC)
            return fail(METE_EIO, "%s leads back to a folder above it", e->fts_path);
        if (e->fts_info != FTS_F)
            continue;
        w->fd = open(e->fts_path, O_RDONLY | O_CLOEXEC);
        if (w->fd < 0)
            return fail(METE_EIO, "cannot read %s: %s", e->fts_path, strerror(errno));
        const char *tail = e->fts_path + root;
        *name = tail + strspn(tail, "/");
        set_place(w, *name);
        return 0;
    }
}

static int64_t read_file(struct file_iter *w, void *to, size_t size)
{
    for (;;) {
        ssize_t n = read(w->fd, to, size);
        if (n >= 0)
            return n;
        if (errno != EINTR)
            return fail(METE_EIO, "cannot read %s: %s", w->place, strerror(errno));
    }
}

/* ---- archives ---- */

#ifdef METE_HAVE_ARCHIVE

/* libarchive's words, without the trailing newline some have. */
static const char *reason(struct file_iter *w)
{
    const char *text = archive_error_string(w->archive);
    return text ? text : "the archive is damaged";
}

/* With an entry of ours: libarchive does not look whether it has memory for its own. */
static int new_archive(struct file_iter *w)
{
    w->archive = archive_read_new();
    w->entry = archive_entry_new();
    if (!w->archive || !w->entry)
        return fail(METE_ENOMEM, "%s: there is no memory to read it", w->path);
    archive_read_support_filter_all(w->archive);
    return 0;
}

/* Zip files only with the directory at their end, so that one cut short is refused. */
static int support_archives(struct file_iter *w)
{
    int err = new_archive(w);
    if (err)
        return err;
    archive_read_support_format_tar(w->archive);
    archive_read_support_format_zip_seekable(w->archive);
    return 0;
}

static int not_an_archive(struct file_iter *w)
{
    return fail(METE_EFORMAT, "%s: not an archive that can be read: %s", w->path, reason(w));
}

static int open_archive(struct file_iter *w)
{
    int err = support_archives(w);
    if (!err && archive_read_open_filename(w->archive, w->path, BLOCK) != ARCHIVE_OK)
        err = not_an_archive(w);
    return err;
}

static int open_raw(struct file_iter *w)
{
    int err = new_archive(w);
    if (err)
        return err;
    archive_read_support_format_raw(w->archive);
    archive_read_support_format_empty(w->archive);
    if (archive_read_open_filename(w->archive, w->path, BLOCK) != ARCHIVE_OK)
        return not_an_archive(w);
    return 0;
}

int file_iter_open_memory(struct file_iter **out, const char *name, const void *data, size_t size)
{
    struct file_iter *w = new_file_iter(name);
    int err = support_archives(w);
    w->total = (double)size;
    if (!err && archive_read_open_memory(w->archive, data, size) != ARCHIVE_OK)
        err = not_an_archive(w);
    if (err) {
        file_iter_close(w);
        return err;
    }
    *out = w;
    return 0;
}

static int next_in_archive(struct file_iter *w, const char **name)
{
    for (;;) {
        struct archive_entry *entry = w->entry;
        int rc = archive_read_next_header2(w->archive, entry);
        *name = NULL;
        if (rc == ARCHIVE_EOF)
            return 0;
        if (rc < ARCHIVE_WARN)
            return fail(METE_EFORMAT, "%s: after %s: %s", w->path,
                        w->place[strlen(w->path)] ? w->place + strlen(w->path) + 2 : "the start",
                        reason(w));
        if (archive_entry_filetype(entry) != AE_IFREG)
            continue;
        const char *path = archive_entry_pathname(entry);
        if (!path) /* not of this locale's characters */
            path = archive_entry_pathname_utf8(entry);
        if (!path)
            return fail(METE_EFORMAT, "%s: a file has a name that cannot be read", w->path);
        *name = path;
        set_place(w, path);
        return 0;
    }
}

static int64_t read_archive(struct file_iter *w, void *to, size_t size)
{
    for (;;) {
        la_ssize_t n = archive_read_data(w->archive, to, size);
        if (n >= 0)
            return n;
        if (n != ARCHIVE_RETRY)
            return fail(METE_EFORMAT, "%s: %s", w->place, reason(w));
    }
}

void file_iter_progress(struct file_iter *w, double *done, double *total)
{
    *done = w->archive ? (double)archive_filter_bytes(w->archive, -1) : 0;
    *total = w->total;
}

#else

static int missing(const char *path)
{
    return fail(METE_EMISSING, "%s: reading archives needs libarchive (Debian: libarchive-dev)",
                path);
}

static int open_archive(struct file_iter *w)
{
    return missing(w->path);
}

static int open_raw(struct file_iter *w)
{
    w->fd = open(w->path, O_RDONLY | O_CLOEXEC);
    return w->fd < 0 ? fail(METE_EIO, "cannot read %s: %s", w->path, strerror(errno)) : 0;
}

int file_iter_open_memory(struct file_iter **out, const char *name, const void *data, size_t size)
{
    (void)out, (void)data, (void)size;
    return missing(name);
}

/* A walk over one plain file. */
static int next_in_archive(struct file_iter *w, const char **name)
{
    *name = w->total >= 0 ? w->path : NULL;
    w->total = -1;
    return 0;
}

static int64_t read_archive(struct file_iter *w, void *to, size_t size)
{
    return read_file(w, to, size);
}

void file_iter_progress(struct file_iter *w, double *done, double *total)
{
    (void)w;
    *done = *total = 0;
}

#endif

/* ---- both ---- */

static int open_path(struct file_iter **out, const char *path, bool plain)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return fail(METE_EIO, "cannot read %s: %s", path, strerror(errno));
    struct file_iter *w = new_file_iter(path);
    w->total = (double)st.st_size;
    int err = plain && S_ISDIR(st.st_mode) ? fail(METE_EINVAL, "%s is a folder, not a file", path)
              : plain                      ? open_raw(w)
              : S_ISDIR(st.st_mode)        ? open_folder(w)
                                           : open_archive(w);
    if (err) {
        file_iter_close(w);
        return err;
    }
    *out = w;
    return 0;
}

int file_iter_open(struct file_iter **out, const char *path)
{
    return open_path(out, path, false);
}

int file_iter_open_plain(struct file_iter **out, const char *path)
{
    int err = open_path(out, path, true);
    if (err)
        return err;
    const char *name;
    err = file_iter_next(*out, &name);
    set_place(*out, NULL); /* the file itself: no name within it */
    if (!err && !name)
        err = fail(METE_EFORMAT, "%s is empty", path);
    if (err) {
        file_iter_close(*out);
        *out = NULL;
    }
    return err;
}

int file_iter_next(struct file_iter *w, const char **name)
{
    return w->folder ? next_in_folder(w, name) : next_in_archive(w, name);
}

int64_t file_iter_read(void *file_iter, void *to, size_t size)
{
    struct file_iter *w = file_iter;
    return w->folder ? read_file(w, to, size) : read_archive(w, to, size);
}

int file_iter_read_all(struct file_iter *w, size_t limit, void **data, size_t *size)
{
    size_t room = 16 << 10, used = 0;
    char *buffer = mem_alloc(room);
    for (;;) {
        int64_t n = file_iter_read(w, buffer + used, room - used);
        if (n < 0) {
            free(buffer);
            return (int)n;
        }
        if (n == 0)
            break;
        used += (size_t)n;
        if (used > limit) {
            free(buffer);
            return fail(METE_EFORMAT, "%s: larger than %zu bytes", w->place, limit);
        }
        if (used == room) {
            char *more = realloc(buffer, room *= 2);
            if (!more) {
                free(buffer);
                return fail(METE_ENOMEM, "%s: there is no memory for %zu bytes", w->place, room);
            }
            buffer = more;
        }
    }
    *data = buffer;
    *size = used;
    return 0;
}

void file_iter_close(struct file_iter *w)
{
    if (!w)
        return;
    if (w->folder)
        fts_close(w->folder);
    close_file(w);
#ifdef METE_HAVE_ARCHIVE
    archive_read_free(w->archive); /* NULL is fine for both */
    archive_entry_free(w->entry);
#endif
    free(w->path);
    free(w->place);
    free(w);
}
