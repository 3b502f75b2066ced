/* parts.h - which classes or users are for training, validation and testing, drawn at random.
 *
 * Everything here is a function of its arguments.  An importer that measures the training users
 * (table.c) and a run that trains on them (task/split.c) draw the same ones.
 */
#ifndef DATA_PARTS_H
#define DATA_PARTS_H

#include "data/dataset.h"

enum { PARTS = 3 }; /* enum dataset_split */

/* Shares `groups` out by weight; the largest remainders get what rounding leaves. */
void parts_share(const double weight[PARTS], int groups, int n[PARTS]);
/* What data.split=auto means for so many users: the paper's 3000:200:200, but where users are few
 * a fifth of them (40 at most) are for tests and a sixth (40 at most) for validation. */
void parts_share_users(int users, int n[PARTS]);

/* n[p] groups drawn for each part p into part (groups); what no part gets stays as it was. */
void parts_draw(const int n[PARTS], int groups, int seed, uint8_t *part);
/* Fold `fold` of 1..folds.  All groups are put in an order drawn by `seed` and cut into `folds`
 * pieces; piece `fold` is for tests.  Of the groups that follow it in the order, around the end, a
 * fifth are for validation and the others for training.  Over all folds each group is tested once.
 */
void parts_draw_fold(int folds, int fold, int groups, int seed, uint8_t *part);

#endif
