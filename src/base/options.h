/* options.h - public structs that begin with their size, of whatever version of mete.h a program
 * was compiled with.
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stddef.h>

/* Copies what the caller's struct has into *to, whose other fields are zero; NULL: all of them.
 * `what` names it in the sentence.  METE_EINVAL for a size that cannot be, and where fields that
 * this library does not know are not zero. */
int options_take(void *to, size_t size, const void *from, const char *what);
/* The other way: fills the caller's struct as far as it goes, and leaves its size. */
int options_give(void *to, const void *from, size_t size, const char *what);

#endif
