/* rows.h - what a model can be asked about without being imported: rows of a CSV table, an array of
 * NumPy, and images in a folder or archive; as the model takes them.
 *
 * A kind of file is one table (rows_table.c, rows_array.c, rows_images.c) and a line in rows.c.
 */
#ifndef PEOPLE_ROWS_H
#define PEOPLE_ROWS_H

#include "model/model.h"
#include "base/text.h"

struct rows;
struct rows_ops {
    const char *word;                /* of where an item is: "line", "row", "file" */
    bool (*suits)(const char *path); /* by its name, or by what is there */
    int (*open)(struct rows *r);     /* sets r->state, which close releases in any case */
    /* The next item into x, and where it is into r->place; *more false: there is none. */
    int (*next)(struct rows *r, void *x, bool *more);
    void (*close)(void *state);
};

struct rows { /* zeroed is empty */
    const struct rows_ops *ops;
    const char *path;
    const struct mete_model *model; /* whose shape, scale and columns are those of the items */
    int64_t missing;                /* fields that were filled so far */
    struct text place;              /* of the items at hand, each 0-terminated */
    void *state;
    /* private */
    char *x;
};

/* `path` and the model outlive it. */
int rows_open(struct rows *r, const char *path, const struct mete_model *m);
/* The next items, at most ROWS_MOST; none at the end.  They live until the next call, and so do
 * their places, one after another in r->place. */
enum { ROWS_MOST = 256 };
int rows_next(struct rows *r, struct mete_array *out);
void rows_close(struct rows *r);

/* For those who read: where the item is that was read last. */
void rows_place(struct rows *r, const char *place);
bool path_ends(const char *path, const char *suffix); /* in any case */

#endif
