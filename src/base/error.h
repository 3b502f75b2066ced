/* error.h - failing in one line: return fail(METE_EINVAL, "what, where, what to do"). */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "mete.h"

/* Sets this thread's sentence and returns `code`. */
int fail(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "prefix: " before the sentence of the failure `code`, which it returns. */
int fail_within(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
