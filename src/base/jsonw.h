/* jsonw.h - writing JSON into a growing buffer.
 *
 *   struct jsonw w = {.lines = 1};
 *   jsonw_object(&w, NULL);
 *   jsonw_int(&w, "items", 32460);
 *   jsonw_array(&w, "shape");
 *   jsonw_int(&w, NULL, 28);     // in an array, and at the top, the key is NULL
 *   jsonw_close(&w);
 *   jsonw_close(&w);
 *   ... w.text, w.size ...
 *   jsonw_release(&w);
 *
 * Doubles read back to the bit; NaN and infinities, which JSON lacks, are null.
 * Text that is not UTF-8 has its bad bytes replaced by U+FFFD.
 */
#ifndef BASE_JSONW_H
#define BASE_JSONW_H

#include "mete.h"

enum { JSONW_DEPTH_MAX = 64 };

struct jsonw {
    char *text; /* 0-terminated; NULL before the first write */
    size_t size;
    int lines; /* containers down to this depth put each element on its own line */
    /* Given a place for METE_ENOMEM: without memory the rest is left out, and the program goes on.
     */
    int *err;
    /* private */
    size_t room;
    int depth;
    bool used[JSONW_DEPTH_MAX + 1]; /* has the container an element already? */
    bool array[JSONW_DEPTH_MAX + 1];
};

void jsonw_object(struct jsonw *w, const char *key);
void jsonw_array(struct jsonw *w, const char *key);
void jsonw_close(struct jsonw *w); /* the innermost object or array */
void jsonw_string(struct jsonw *w, const char *key, const char *text); /* NULL text: null */
void jsonw_int(struct jsonw *w, const char *key, int64_t value);
void jsonw_real(struct jsonw *w, const char *key, double value);
void jsonw_float(struct jsonw *w, const char *key,
                 float value); /* fewer digits: reads back as float */
void jsonw_bool(struct jsonw *w, const char *key, bool value);
void jsonw_null(struct jsonw *w, const char *key);
void jsonw_raw(struct jsonw *w, const char *key, const char *json); /* trusted to be a value */
void jsonw_release(struct jsonw *w);

#endif
