/* file.h - whole files: reading, mapping, and writing so that a reader never sees
 * half a file.
 *
 * Written files go to a new name in the same folder, are synced, and take the
 * name asked for when complete.  Whatever goes wrong before that removes the new
 * file and leaves the old one as it was.  A killed process leaves its new file; the
 * next one to write that path removes it.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "mete.h"

/* Reads all of `path`, refusing more than `limit` bytes.  A 0 follows the last
 * byte.  free() *out. */
int file_read(const char *path, size_t limit, char **out, size_t *size);

/* A file in memory, read only.  Pages are read as they are touched. */
struct file_map {
    const void *at; /* never NULL when open, also for an empty file */
    size_t size;
};
int file_map_open(struct file_map *m, const char *path); /* regular files only */
void file_map_close(struct file_map *m);                 /* zeroed is fine */

/* Makes a new, empty file or folder beside `path` to write to: "PATH.tmp", or
 * "PATH.1.tmp", … where others write the same path.  It is locked while *fd is open.
 * One that a killed process left, locked by nobody, is removed by `remove` first
 * (NULL: unlink).  free() *name. */
typedef int file_remove_fn(const char *path);
int file_reserve(const char *path, bool folder, file_remove_fn *remove, char **name, int *fd);

/* Writes `path` in one call. */
int file_write(const char *path, const void *data, size_t size);

/* Writes `path` piece by piece.  Buffered; the first failure sticks and is
 * returned by file_out_commit(), so single writes need no checking. */
struct file_out {
    char *path, *temporary;
    int fd;
    int err;
    char sentence[256]; /* of that first failure */
    char *buffer;
    size_t used;
    int64_t size; /* written so far */
};
int file_out_open(struct file_out *o, const char *path);
int file_out_write(struct file_out *o, const void *data, size_t size);
/* Overwrites bytes already written, such as a count that was not yet known. */
int file_out_patch(struct file_out *o, int64_t offset, const void *data, size_t size);
int file_out_commit(struct file_out *o);   /* sync, rename; then closed, failed or not */
void file_out_abandon(struct file_out *o); /* removes the new file; closed or zeroed is fine */

/* Creates the folder `path` and those above it; one that exists is fine.  Names so long that those
 * of files in it could not be opened are refused. */
enum { FILE_FOLDER_MAX = 4000 };
int file_make_folder(const char *path);

/* Makes the names in the folder of `path` last through a power cut. */
int file_sync_folder(const char *path);

#endif
