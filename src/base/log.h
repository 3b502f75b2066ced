/* log.h - what the library has to say goes through one callback. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "mete.h"

void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Reports progress; 0, or METE_ESTOPPED when the caller asked to stop. */
int progress(const char *what, double done, double total);
int progress_of(const struct mete_progress *p); /* the same, with all that can be said */
/* As progress_of, to `fn`, which a call was given, or where that is NULL as everybody is told. */
int progress_to(mete_progress_fn *fn, void *user, const struct mete_progress *p);

/* In work that takes seconds between two calls of progress(): says what that said last, and is
 * told whether to stop. */
int progress_again(void);

#endif
