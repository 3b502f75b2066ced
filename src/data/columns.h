/* columns.h - how the columns of a table become the features of an item.
 *
 * A column holds numbers, or True and False, or a few words; a field of any may be missing.  What
 * was measured when the table was imported (fills, means, deviations, the words) is kept in
 * meta.json, so that people who come later are treated exactly as those before them.
 *
 * Features: one for a column of numbers or of True/False (1 and 0), and one for each word of a
 * column of words (1 where the field is that word, else 0).
 */
#ifndef DATA_COLUMNS_H
#define DATA_COLUMNS_H

#include "data/names.h"
#include "base/json.h"
#include "base/jsonw.h"

enum column_kind { COLUMN_NUMBER, COLUMN_FLAG, COLUMN_WORDS };

struct column {
    char *name;
    int kind;           /* enum column_kind */
    struct names words; /* of COLUMN_WORDS, sorted */
    int first;          /* its first feature */
};

struct columns { /* zeroed is empty */
    struct column *at;
    int n, features;
    /* (features) one block.  A missing number or flag becomes `fill`; a missing word, or one that
     * is not known, is none of the words.  Then mean and deviation: 0 and 1 where the table was
     * not standardised. */
    double *fill, *mean, *deviation;
};

/* Adds a column; takes `words` over, where it does not fail. */
int columns_add(struct columns *c, const char *name, enum column_kind kind, struct names *words);
/* After the last column: fills of 0, means of 0, deviations of 1. */
int columns_close(struct columns *c);
void columns_release(struct columns *c);

int column_features(const struct column *c);
int columns_find(const struct columns *c, const char *name); /* its number, or -1 */

/* Whether a field says that nothing is known: blank, ?, NaN, NA or null, in any case. */
bool field_missing(const char *text);
bool field_number(const char *text, double *out); /* a number, perhaps not a finite one */
bool field_flag(const char *text, double *out);   /* True or False, in any case */

/* The features of a field of column `i`, NaN where it is missing, into raw (column_features).
 * METE_EFORMAT says what was expected. */
int column_read(const struct columns *c, int i, const char *text, double *raw);
/* Fills and standardises raw (features) into x (features).  A value that a float cannot hold is
 * METE_EFORMAT. */
int columns_finish(const struct columns *c, const double *raw, float *x);

void columns_write(const struct columns *c, struct jsonw *w, const char *key);
int columns_read(struct columns *out, struct json *j); /* the value after the key */

#endif
