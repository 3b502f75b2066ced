/* finished.h - a line for each run that is done. */
#ifndef FINISHED_H
#define FINISHED_H

#include "mete.h"

enum { FINISHED_TEXT = 48 };
void finished_number(int64_t n, char out[FINISHED_TEXT]);    /* 12,345 */
void finished_time(double seconds, char out[FINISHED_TEXT]); /* 11 s, 4 min, 1.5 h */

/* "maml · active · seed 2        52.2 %    5,000 labels   11 s" on stderr; `user` is not looked
 * at. */
void finished_print(void *user, const struct mete_finished_run *run);

#endif
