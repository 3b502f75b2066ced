/* table_survey.h - what the columns of a table hold, found by reading all of it: numbers, flags or
 * words.
 */
#ifndef DATA_TABLE_SURVEY_H
#define DATA_TABLE_SURVEY_H

#include "data/columns.h"
#include "data/csv.h"

struct survey_column {
    const char *name; /* borrowed */
    bool forced;      /* words, whatever they look like */
    int64_t numbers, words, flags;
    struct names seen; /* words, at most one more than are allowed */
    char *place; /* of the first word: "t.csv:3:1: column 'a': expected a number, got 'red'" */
};

struct survey { /* zeroed is empty */
    struct survey_column *at;
    int n, words_max;
};

int survey_add(struct survey *s, const char *name, bool forced);
/* Notes field `i` of the record in column `column` of the survey. */
int survey_field(struct survey *s, int column, const struct csv *c, int i);
/* The kinds of all columns, or a sentence for one that is neither. */
int survey_finish(struct survey *s, const char *file, struct columns *out);
void survey_release(struct survey *s);

#endif
