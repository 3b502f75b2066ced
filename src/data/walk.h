/* walk.h - the files of an archive, or of a folder, one after another.
 *
 * An archive is whatever libarchive reads: zip, tar and their compressions.  A
 * folder is walked in the order of its names, so that both give the same result
 * every time.  A plain file that is no archive is refused.
 */
#ifndef DATA_WALK_H
#define DATA_WALK_H

#include "mete.h"

struct walk;

int walk_open(struct walk **out, const char *path);
/* An archive in memory; keeps `data`. */
int walk_open_memory(struct walk **out, const char *name, const void *data, size_t size);
/* The bytes of one file, gunzipped if they are gzipped: a walk with one entry. */
int walk_open_plain(struct walk **out, const char *path);
void walk_close(struct walk *w); /* NULL is fine */

/* Goes to the next regular file.  *name, relative to the folder or as the archive
 * has it, lives until the next call; NULL at the end. */
int walk_next(struct walk *w, const char **name);

/* Bytes of the current file: how many, 0 at its end, or a negative METE_E*.  Fits
 * json_read_fn. */
int64_t walk_read(void *walk, void *to, size_t size);
/* The whole current file into a new buffer, refused beyond `limit` bytes. */
int walk_read_all(struct walk *w, size_t limit, void **data, size_t *size);

/* "ARCHIVE: FILE" or "FOLDER/FILE", for errors about the current file; lives until the next
 * walk_next. */
const char *walk_place(struct walk *w);
/* Bytes of the archive read so far and in all, for progress; 0 in all if unknown. */
void walk_progress(struct walk *w, double *done, double *total);

#endif
