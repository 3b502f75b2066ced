/* relabel.h - from labels as people write them to 0..n-1. */
#ifndef DATA_RELABEL_H
#define DATA_RELABEL_H

#include "mete.h"

/* Numbers the different values of value (n), in ascending order, from 0: out (n), which
 * the caller gives, and their texts as names, from malloc.  How many there are is
 * returned, or METE_ENOMEM. */
int relabel(const int64_t *value, int64_t n, int32_t *out, char ***names);
/* The same for labels: -1 is the label of an item without one, and stays -1. */
int relabel_some(const int64_t *value, int64_t n, int32_t *out, char ***names);

#endif
