/* table_survey.c - telling numbers, flags and words apart. */
#include "data/table_survey.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int survey_add(struct survey *s, const char *name, bool forced)
{
    int err = mem_extend(&s->at, (size_t)s->n + 1, sizeof *s->at, "columns");
    if (!err)
        s->at[s->n++] = (struct survey_column){.name = name, .forced = forced};
    return err;
}

void survey_release(struct survey *s)
{
    for (int i = 0; i < s->n; i++) {
        names_release(&s->at[i].seen);
        free(s->at[i].place);
    }
    free(s->at);
    *s = (struct survey){0};
}

static char *trim(const char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    return mem_print("%.*s", (int)n, text);
}

int survey_field(struct survey *s, int column, const struct csv *c, int i)
{
    struct survey_column *to = &s->at[column];
    const char *text = c->field[i];
    double value;
    bool number = field_number(text, &value);
    if (field_missing(text))
        return 0;
    if (number && !to->forced) {
        to->numbers++;
        return isfinite((float)value)
                   ? 0
                   : csv_fail(c, i, "column '%s': expected a finite number, got '%s'", to->name,
                              text);
    }
    to->words++;
    to->flags += field_flag(text, &value);
    if (!to->place) {
        csv_fail(c, i, "column '%s': expected a number, got '%s'", to->name, text);
        to->place = mem_string(mete_errmsg());
    }
    if (to->seen.n <= s->words_max) {
        char *word = trim(text);
        int err = names_add(&to->seen, word);
        free(word);
        return err < 0 ? err : 0;
    }
    return 0;
}

static int choose_kind(const struct survey *s, const struct survey_column *c, const char *file,
                       enum column_kind *kind)
{
    *kind = c->words == 0 ? COLUMN_NUMBER : c->flags == c->words ? COLUMN_FLAG : COLUMN_WORDS;
    if (c->numbers == 0 && c->words == 0)
        return fail(METE_EFORMAT, "%s: column '%s' holds nothing; leave it out: --set ignore=%s",
                    file, c->name, c->name);
    if (c->numbers > 0 && c->words > 0)
        return fail(METE_EFORMAT, "%s", c->place);
    if (*kind == COLUMN_WORDS && c->seen.n > s->words_max)
        return fail(METE_EFORMAT,
                    "%s: column '%s' holds more than %d different words; leave it out with --set "
                    "ignore=%s, or raise --set words_max",
                    file, c->name, s->words_max, c->name);
    return 0;
}

int survey_finish(struct survey *s, const char *file, struct columns *out)
{
    for (int i = 0; i < s->n; i++) {
        struct survey_column *c = &s->at[i];
        enum column_kind kind;
        int err = choose_kind(s, c, file, &kind);
        if (err)
            return err;
        err = names_sort(&c->seen, NULL);
        if (!err)
            err = columns_add(out, c->name, kind, kind == COLUMN_WORDS ? &c->seen : NULL);
        if (err)
            return err;
    }
    return columns_close(out);
}
