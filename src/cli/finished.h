/* finished.h - a line for each run that is done. */
#ifndef FINISHED_H
#define FINISHED_H

#include "mete.h"

/* "maml · active · seed 2        52.2 %    5,000 labels   11 s" on stderr; `user` is not looked
 * at. */
void finished_print(void *user, const struct mete_finished_run *run);

#endif
