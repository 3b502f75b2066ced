/* ingest.h - from image files to items: decoded and resized on all cores while the
 * archive is still being read.
 *
 * The caller reads files and adds them with the item number each shall have.  They
 * are gathered into chunks; one chunk is decoded while the next one fills.  Items
 * do not depend on the number of threads.
 */
#ifndef DATA_INGEST_H
#define DATA_INGEST_H

#include "data/builder.h"
#include "data/image.h"

struct ingest_options {
    const char *what; /* for progress: "omniglot" */
    int64_t total;    /* how many files will come */
    int h, w, c;      /* of an item */
    enum image_filter filter;
    int from_h, from_w; /* the size every file must have; 0: any */
    int64_t turned;     /* not 0: an item's copies, turned by 90, 180 and 270 degrees, are so many
                         * and twice and three times as many items further; h is w */
    int threads;        /* 0: one per core */
};

struct ingest;

int ingest_open(struct ingest **out, struct builder *builder, const struct ingest_options *options);
/* Takes `data`, from malloc.  `place` names the file in errors; it is copied.  A
 * failure of an earlier file may be reported here. */
int ingest_add(struct ingest *g, int64_t item, const char *place, void *data, size_t size);
int ingest_finish(struct ingest *g); /* waits for the last file */
void ingest_close(struct ingest *g); /* NULL is fine; also in the middle */

/* Reads the archive or folder `path` and adds every file for which `place` gives an
 * item number; *item stays -1 for files that are not wanted. */
typedef int ingest_place_fn(void *user, const char *name, int64_t *item);
int ingest_files(struct ingest *g, const char *path, ingest_place_fn *place, void *user);

#endif
