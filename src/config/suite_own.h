/* suite_own.h - what the files that read a suite share. */
#ifndef CONFIG_SUITE_OWN_H
#define CONFIG_SUITE_OWN_H

#include "config/assign.h"

/* The tables and figures, once the runs are known: a field is a column of every
 * run or a setting that some run has. */
int read_drawings(struct suite *s, const struct yaml *top);

#endif
