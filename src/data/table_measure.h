/* table_measure.h - the median, mean and deviation of each feature of a table, over its training
 * rows.
 */
#ifndef DATA_TABLE_MEASURE_H
#define DATA_TABLE_MEASURE_H

#include "data/columns.h"
#include "base/rng.h"

/* Medians are exact where the rows fit into SAMPLE_BYTES, else those of a random sample that does.
 */
enum { SAMPLE_BYTES = 16 << 20 };

struct measure { /* zeroed is empty */
    int features;
    bool moments;        /* means and deviations too, which take time */
    int64_t *n;          /* (features) how many are not missing */
    double *mean, *sum2; /* (features) sum2: of squared deviations (Welford) */
    double *sample;      /* (room, features) */
    int32_t *user;       /* (room) */
    int64_t rows, room;  /* rows: met so far */
    struct rng rng;
};

int measure_open(struct measure *m, int features, bool moments);
void measure_release(struct measure *m);
/* Takes a row of raw features, NaN where one is missing. */
int measure_row(struct measure *m, const double *raw, int32_t user);
/* Medians of the rows of users that are marked in training (NULL: of all rows) become the fills of
 * `c`, and with `moments` the means and deviations of all rows, 1 for that of a constant. */
int measure_finish(const struct measure *m, const uint8_t *training, struct columns *c);

#endif
