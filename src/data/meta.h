/* meta.h - meta.json, the part of a dataset that is words.
 *
 * {"format": 1, "name", "items", "classes", "users", "shape": [h, w, c], "dtype",
 *  "scale", "shift", "source", "licence", "sha256", "arrays": ["x", "y", "user",
 *  "part"], "class_names": [...], "class_groups": [...], "class_split": ["train",
 *  "val" or "test", ...], "user_names": [...], "columns": [...] (columns.h), "notes": {...}}
 *
 * Lists that a dataset lacks are left out.  "sha256" is what
 * `sha256sum x.npy y.npy [user.npy] [part.npy] | sha256sum` prints.
 */
#ifndef DATA_META_H
#define DATA_META_H

#include "data/dataset.h"

enum { META_FORMAT = 1 };

struct meta_notes { /* what an importer wants remembered */
    struct {
        char *key, *text;
    } * at;
    int n;
};
void meta_notes_add(struct meta_notes *notes, const char *key, char *text); /* takes `text` */
void meta_notes_release(struct meta_notes *notes);

/* Writes dir/meta.json from all of `d` but x. */
int meta_write(const char *dir, const struct dataset *d, const struct meta_notes *notes);
/* Fills `d`, which is zeroed but for defaults: all but the arrays; bit a of *arrays says that array
 * a (OWN_X, …) belongs to the dataset.  What was filled is the caller's to release, also after a
 * failure. */
int meta_read(const char *dir, struct dataset *d, unsigned *arrays);

/* The checksum of the arrays of the dataset in `dir`. */
int meta_sum(const char *dir, unsigned arrays, char out[65]);

extern const char *const array_files[]; /* "x.npy", "y.npy", "user.npy", "part.npy" */

#endif
