/* dataset.h - images or feature rows with a class each, and a user each where
 * there are users.
 *
 * On disk a dataset is a folder that NumPy can open too: x.npy (items, h, w) or
 * (items, h, w, c) uint8, or (items, d) float32; y.npy (items) int32; user.npy
 * int32 and part.npy uint8 where there are users; meta.json.  x is memory-mapped.
 *
 * Pixels are kept as the source has them: characters are black (0) on white
 * paper (255).  `scale` and `shift` say what a learner sees of them.
 */
#ifndef DATA_DATASET_H
#define DATA_DATASET_H

#include "mete.h"

enum dataset_part { PART_TRAIN, PART_TEST }; /* of a user's own items (LEAF) */
/* Where a published split puts a class. */
enum dataset_split { SPLIT_TRAIN, SPLIT_VAL, SPLIT_TEST };
enum { NO_LABEL = -1 }; /* the class of an item is not known */

struct dataset {
    char *name; /* "omniglot" */
    char *path; /* where it lies; "" for one made in memory */
    int64_t items;
    int classes, users; /* classes 0: no item has a label; users 0: there are none */
    int h, w, c;        /* feature rows: 1 x 1 x d */
    bool is_float;      /* x holds float32 rows, else uint8 pixels */
    float scale, shift; /* a learner sees value * scale + shift */
    const void *x;
    const int32_t *y;                 /* (items) 0..classes-1, or NO_LABEL */
    const int32_t *user;              /* (items) 0..users-1, or NULL */
    const uint8_t *part;              /* (items) enum dataset_part, or NULL */
    const int64_t *paid;              /* (items) what the answer that is the label cost, in
                                         millionths (answers.h); -1: none is; NULL: no answers */
    char **class_names, **user_names; /* or NULL */
    char **class_groups;              /* (classes) such as an alphabet, or NULL */
    const uint8_t *class_split;       /* (classes) enum dataset_split, or NULL */
    struct columns *columns;          /* of the table it was made from (columns.h), or NULL */
    char *places;                     /* of an importer: where each item was (places.h); or NULL */
    char *licence, *source, *sha256;  /* may be "" */
    void *own;                        /* private: mappings and buffers */
};

/* Opens the folder `dir`, with the answers that people gave laid over its labels (answers.h).
 * Everything is checked: counts, ranges, shapes. */
int dataset_open(struct dataset **out, const char *dir);
/* Opens by name: "glyphs" and "glyphs-users" are generated; others are looked for
 * as $METE_DATA/NAME, then data/NAME, then as a path.  Says how to get one that
 * is not there. */
int dataset_find(struct dataset **out, const char *name);
bool dataset_known(const char *name); /* whether there is one by that name */
/* Replaces a name by the one spelling that all spellings of the same data have; those of
 * data on the disk are left as they are. */
int dataset_spell(char *name, size_t size);
void dataset_close(struct dataset *d); /* NULL is fine */

/* Makes a dataset of buffers, checked like one that is opened.  Takes over x, y,
 * user, part, paid, class_split, columns, the lists of names and each name in them (all
 * from malloc or mem_alloc), whether or not it succeeds; name, licence and source are
 * copied and may be NULL; path, sha256 and own are not read. */
int dataset_from_memory(struct dataset **out, const struct dataset *parts);

/* The same of arrays that are borrowed and outlive it; lists of names are not read. */
int dataset_borrow(struct dataset **out, const struct dataset *parts);

/* What there is to say of it. */
int dataset_describe(const struct dataset *d, struct mete_data_info *out);

/* Writes `d` as the folder `dir`, under a new name that is renamed when complete.
 * An existing dataset is refused unless `force`. */
int dataset_write(const char *dir, const struct dataset *d, bool force);

size_t dataset_item_bytes(const struct dataset *d);
int64_t dataset_labelled(const struct dataset *d); /* how many items have a label */
/* Says in one line how many items have none; tasks are of the others. */
void dataset_tell_unlabelled(const struct dataset *d);

#endif
