/* measures.h - what studies measured, for the terminal. */
#ifndef REPORT_MEASURES_H
#define REPORT_MEASURES_H

#include "mete.h"
#include "base/text.h"

struct store;

/* Adds a table for each dataset, method and strategy: of every measure how many runs have it, and
 * the least, the median and the largest value.  *found: whether there are any. */
int measures_text(struct text *out, struct store *s, const char *suite, bool *found);
/* Adds a line of CSV for every measure of every run, after a header. */
int measures_csv(struct text *out, struct store *s, const char *suite, bool *found);

#endif
