/* json_impl.h - private to the files of the JSON reader. */
#ifndef BASE_JSON_IMPL_H
#define BASE_JSON_IMPL_H

#include "base/json.h"

int json_fill(struct json *j, size_t want);

/* Makes `want` bytes visible at j->at unless the input ends before. */
static inline int json_fill_to(struct json *j, size_t want)
{
    return (size_t)(j->end - j->at) < want ? json_fill(j, want) : 0;
}

void json_mark(struct json *j); /* errors speak of this place from now on */
int json_fail_here(struct json *j, const char *what);

int json_read_string(struct json *j); /* at the opening quote */
int json_read_number(struct json *j); /* at '-' or a digit */

#endif
