/* format_data.c - tables for programs: CSV in long form, JSON cell by cell. */
#include "report/format.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/jsonw.h"
#include "base/number.h"

#include <math.h>
#include <string.h>

static const char *const field_names[FIELDS] = {
#define X(id, name) name,
    RESULT_FIELDS(X)
#undef X
};

/* What a spreadsheet would compute, and is no number. */
static bool is_formula(const char *s)
{
    char *end;
    return *s && strchr("=+-@", *s) && (number_read(s, &end), *end);
}

/* RFC 4180: quoted where it must be; a formula is made a text by an apostrophe. */
static void add_csv(struct text *out, const char *s)
{
    bool formula = is_formula(s);
    if (!formula && !s[strcspn(s, ",\"\r\n")]) {
        text_add(out, s);
        return;
    }
    text_add(out, formula ? "\"'" : "\"");
    for (; *s; s++)
        text_add_bytes(out, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
    text_add(out, "\"");
}

static void add_csv_number(struct text *out, double x)
{
    char text[NUMBER_TEXT];
    number_print(x, text);
    text_print(out, ",%s", isnan(x) ? "" : text);
}

void format_csv(struct text *out, const struct table *t, const char *suite, bool header)
{
    if (header) {
        text_add(out, "suite,table");
        for (int f = 0; f < FIELDS; f++)
            text_print(out, ",%s", field_names[f]);
        text_add(out, ",variant,seeds,accuracy,half_seeds,half_tasks,accuracy_before,ece,"
                      "valid_accuracy,labels_used,chosen,paper,worse_share,kept_share,"
                      "adapted_accuracy,adapted_worse_share\n");
    }
    for (int i = 0; i < t->results->n; i++) {
        const struct result *r = &t->results->at[i];
        const struct cell *c = &t->cells[t->where[i]];
        add_csv(out, suite);
        text_add(out, ",");
        add_csv(out, t->title);
        for (int f = 0; f < FIELDS; f++) {
            text_add(out, ",");
            add_csv(out, r->field[f]);
        }
        text_add(out, ",");
        add_csv(out, r->variant);
        text_print(out, ",%d", r->seeds);
        const double numbers[] = {r->accuracy, r->half_seeds,     r->half_tasks, r->accuracy_before,
                                  r->ece,      r->valid_accuracy, r->labels_used};
        for (int k = 0; k < 7; k++)
            add_csv_number(out, numbers[k]);
        text_print(out, ",%d", c->chosen == r);
        add_csv_number(out, c->has_paper ? c->paper.accuracy / 100 : NAN);
        const double shares[] = {r->worse_share, r->kept_share, r->adapted_accuracy,
                                 r->adapted_worse_share};
        for (int k = 0; k < 4; k++)
            add_csv_number(out, shares[k]);
        text_add(out, "\n");
    }
}

static void add_axis(struct jsonw *w, const struct table_axis *a, int i)
{
    for (int f = 0; f < a->fields; f++)
        jsonw_string(w, a->field[f], axis_value(a, i, f));
}

static void add_cell(struct jsonw *w, const struct table *t, int i, int j)
{
    const struct cell *c = table_cell(t, i, j);
    if (!c->chosen)
        return;
    jsonw_object(w, NULL);
    add_axis(w, &t->rows, i);
    add_axis(w, &t->columns, j);
    jsonw_string(w, "variant", c->chosen->variant);
    jsonw_int(w, "seeds", c->chosen->seeds);
    jsonw_int(w, "test_tasks", c->chosen->test_tasks);
    jsonw_real(w, "accuracy", c->chosen->accuracy);
    jsonw_real(w, "half_seeds", c->chosen->half_seeds);
    jsonw_real(w, "half_tasks", c->chosen->half_tasks);
    jsonw_real(w, "accuracy_before", c->chosen->accuracy_before);
    jsonw_real(w, "ece", c->chosen->ece);
    jsonw_real(w, "valid_accuracy", c->chosen->valid_accuracy);
    jsonw_string(w, "bn_mode", c->chosen->field[FIELD_BN]);
    jsonw_int(w, "variants", c->variants);
    jsonw_string(w, "choice", c->choice);
    jsonw_bool(w, "best", c->best);
    jsonw_real(w, "paper", c->has_paper ? c->paper.accuracy / 100 : NAN);
    jsonw_real(w, "worse_share", c->chosen->worse_share);
    if (!isnan(c->chosen->kept_share)) {
        jsonw_real(w, "kept_share", c->chosen->kept_share);
        jsonw_real(w, "adapted_accuracy", c->chosen->adapted_accuracy);
        jsonw_real(w, "adapted_worse_share", c->chosen->adapted_worse_share);
    }
    jsonw_close(w);
}

void format_json(struct jsonw *w, const struct table *t, const char *suite)
{
    jsonw_object(w, NULL);
    jsonw_string(w, "suite", suite);
    jsonw_string(w, "title", t->title);
    jsonw_array(w, "cells");
    for (int i = 0; i < t->rows.n; i++)
        for (int j = 0; j < t->columns.n; j++)
            add_cell(w, t, i, j);
    jsonw_close(w);
    jsonw_close(w);
}
#endif
