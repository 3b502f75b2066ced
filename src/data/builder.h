/* builder.h - a dataset on its way to the disk.
 *
 * Items go straight to x.npy in a new folder DIR.tmp beside the target, in any order
 * and from any thread; builder_finish writes the rest, syncs and renames the folder,
 * or exchanges it with the one it replaces.  meta.json is written last, so that what
 * a killed import leaves behind cannot be opened; the next import to DIR removes it.
 */
#ifndef DATA_BUILDER_H
#define DATA_BUILDER_H

#include "data/dataset.h"

struct builder;

/* Refuses a target that exists, unless it is a dataset and `force` is set. */
int builder_open(struct builder **out, const char *dir, bool force);
/* Removes what was not finished.  NULL is fine. */
void builder_close(struct builder *b);

/* What each item is; before the first builder_put. */
int builder_shape(struct builder *b, int h, int w, int c, bool is_float);

/* Forgets all items, so that builder_shape may be called again. */
int builder_restart(struct builder *b);

/* Writes items x (n, h, w, c) as numbers at..at+n-1.  Any thread; rows are checked
 * for NaN and infinity. */
int builder_put(struct builder *b, int64_t at, const void *x, int64_t n);

/* Adds a line to "notes" of meta.json, such as how many images were dropped. */
void builder_note(struct builder *b, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes y, users, parts and meta.json from `about` (its x, path, sha256 and own are
 * not read; it stays the caller's) and puts the folder in its place. */
int builder_finish(struct builder *b, const struct dataset *about);

#endif
