/* raw_points.h - items as points before there is a model: rows with every column in units of its
 * deviation over the dataset, images as means of blocks. */
#ifndef PEOPLE_RAW_POINTS_H
#define PEOPLE_RAW_POINTS_H

#include "data/dataset.h"

struct raw_points { /* zeroed is empty */
    const struct dataset *data;
    float *factor; /* (features) of rows: 1 over the deviation, 0 where nothing varies */
    int features;
};
void raw_points_open(struct raw_points *p, const struct dataset *d);
void raw_points_close(struct raw_points *p);
/* (n, features); free() it. */
float *raw_points_of(const struct raw_points *p, const int64_t *item, int n);

#endif
