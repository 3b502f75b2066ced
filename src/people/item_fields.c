/* item_fields.c - a row of a table as people know it: before it was standardised. */
#include "people/item_fields.h"
#include "data/columns.h"
#include "base/number.h"

#include <stdio.h>

void item_fields(struct jsonw *w, const struct dataset *d, int64_t item)
{
    const struct columns *c = d->columns;
    const float *x = (const float *)d->x + item * d->c;
    for (int i = 0; c && i < c->n; i++) {
        const struct column *column = &c->at[i];
        int first = column->first;
        if (column->kind == COLUMN_WORDS) {
            const char *word = NULL;
            for (int k = 0; k < column->words.n; k++) {
                double raw = (double)x[first + k] * c->deviation[first + k] + c->mean[first + k];
                word = raw > 0.5 ? column->words.at[k] : word;
            }
            jsonw_string(w, column->name, word);
        } else {
            char number[NUMBER_TEXT];
            double raw = (double)x[first] * c->deviation[first] + c->mean[first];
            snprintf(number, sizeof number, "%.6g", raw); /* what rounding to floats left */
            jsonw_raw(w, column->name, number);
        }
    }
}
