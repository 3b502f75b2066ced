/* label_own.h - the strategies' tables, and what they share. */
#ifndef LABEL_LABEL_OWN_H
#define LABEL_LABEL_OWN_H

#include "label/label.h"

extern const struct label_ops label_random, label_stratified;

/* The available positions, ascending, into out (v->n); how many. */
int label_available(const struct label_view *v, int32_t *out);

#endif
