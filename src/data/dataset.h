/* dataset.h - images or feature rows with a class each, and a user each where
 * there are users.
 *
 * On disk a dataset is a folder that NumPy can open too: x.npy (items, h, w) or
 * (items, h, w, c) uint8, or (items, d) float32; y.npy (items) int32; user.npy
 * and part.npy where there are users; meta.json.  x is memory-mapped.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "mete.h"

enum dataset_part { PART_TRAIN, PART_TEST }; /* of a user's own items (LEAF) */

struct dataset {
    char *name;  /* "omniglot" */
    char *path;  /* where it lies; "" for one made in memory */
    int64_t items;
    int classes, users; /* users 0: there are none */
    int h, w, c;        /* feature rows: 1 x 1 x d */
    bool is_float;      /* x holds float32 rows, else uint8 pixels */
    float scale, shift; /* a learner sees value * scale + shift */
    const void *x;
    const int32_t *y;      /* (items) 0..classes-1 */
    const int32_t *user;   /* (items) 0..users-1, or NULL */
    const uint8_t *part;   /* (items) enum dataset_part, or NULL */
    char **class_names, **user_names; /* or NULL */
    char *licence, *source, *sha256;  /* may be "" */
    void *own;             /* private: mappings and buffers */
};

/* Opens the folder `dir`.  Everything is checked: counts, ranges, shapes. */
int dataset_open(struct dataset **out, const char *dir);
/* Opens by name: "glyphs" and "glyphs-users" are generated; others are looked for
 * as $METE_DATA/NAME, then data/NAME, then as a path.  Says how to get one that
 * is not there. */
int dataset_find(struct dataset **out, const char *name);
void dataset_close(struct dataset *d); /* NULL is fine */

#endif
