/* file_iter.h - the files of an archive, or of a folder, one after another.
 *
 * An archive is whatever libarchive reads: zip, tar and their compressions.  A
 * folder is walked in the order of its names, so that both give the same result
 * every time.  A plain file that is no archive is refused.
 */
#ifndef DATA_FILE_ITER_H
#define DATA_FILE_ITER_H

#include "mete.h"

struct file_iter;

int file_iter_open(struct file_iter **out, const char *path);
/* An archive in memory; keeps `data`. */
int file_iter_open_memory(struct file_iter **out, const char *name, const void *data, size_t size);
/* The bytes of one file, gunzipped if they are gzipped: an iterator with one entry. */
int file_iter_open_plain(struct file_iter **out, const char *path);
void file_iter_close(struct file_iter *w); /* NULL is fine */

/* Goes to the next regular file.  *name, relative to the folder or as the archive
 * has it, lives until the next call; NULL at the end. */
int file_iter_next(struct file_iter *w, const char **name);

/* Bytes of the current file: how many, 0 at its end, or a negative METE_E*.  Fits
 * json_read_fn. */
int64_t file_iter_read(void *file_iter, void *to, size_t size);
/* The whole current file into a new buffer, refused beyond `limit` bytes. */
int file_iter_read_all(struct file_iter *w, size_t limit, void **data, size_t *size);

/* "ARCHIVE: FILE" or "FOLDER/FILE", for errors about the current file; lives until the next
 * file_iter_next. */
const char *file_iter_place(struct file_iter *w);
/* Bytes of the archive read so far and in all, for progress; 0 in all if unknown. */
void file_iter_progress(struct file_iter *w, double *done, double *total);

#endif
