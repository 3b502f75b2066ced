/* dataset_own.h - what the files that make and open datasets share. */
#ifndef DATA_DATASET_OWN_H
#define DATA_DATASET_OWN_H

#include "data/content.h"
#include "base/npy.h"

enum { OWN_X, OWN_Y, OWN_USER, OWN_PART, OWN_ARRAYS };

struct dataset_own {
    struct npy file[OWN_ARRAYS];  /* not open: the array is from malloc */
    char generated[CONTENT_SIZE]; /* the word for its content, or "" */
    bool borrowed;                /* the arrays are somebody else's */
};

/* Opens a folder without the answers in it. */
int dataset_open_plain(struct dataset **out, const char *dir);
/* Counts, ranges and shapes of all but the values of x. */
int dataset_check(const struct dataset *d);
/* Refuses rows x (n, d) that hold NaN or infinity; `first` is the number of the first. */
int dataset_check_rows(const char *name, const float *x, int64_t first, int64_t n, int d);
/* The shape of x.npy; its rank is returned. */
int dataset_x_shape(const struct dataset *d, int64_t shape[4]);

#endif
