/* importer.h - what an importer is: from files as people have them to a dataset.
 *
 * To add one: write src/data/import/NAME.c ending in a `const struct importer`, and
 * add its address to the table in importers.c.  Nothing else changes.
 *
 * An importer puts the items into job->builder and fills job->about; counts and
 * ranges are checked, and the folder put in its place, by whoever called it.
 */
#ifndef DATA_IMPORTER_H
#define DATA_IMPORTER_H

#include "data/builder.h"
#include "data/dataset.h"
#include "base/param.h"

struct import_job {
    const char *const *paths; /* (n) as the person gave them */
    int n;
    const void *settings; /* the importer's struct, filled from its params */
    struct builder *builder;
    int threads; /* for decoding; 0: one per core */
    /* To fill: items, classes, users, scale, shift (initially 1/255 and 0), y, user,
     * part, the names, class_split, licence and source.  Arrays, names and texts are
     * from malloc, released by the caller, whatever happens. */
    struct dataset about;
};

struct importer {
    const char *name;    /* "omniglot" */
    const char *summary; /* one line */
    const char *usage;   /* its arguments: "ZIP ZIP" */
    int least, most;     /* how many paths it takes */
    size_t settings_size;
    const struct param *params; /* ends with {0} */
    int (*run)(struct import_job *job);
};

/* The table: importer number i, or NULL past the last. */
const struct importer *importer_at(int i);
/* By name; NULL and a sentence that names the nearest known one. */
const struct importer *importer_find(const char *name);

#endif
