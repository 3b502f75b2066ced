/* sheet.c - laying a table out: headers, labels, our numbers and the paper's. */
#include "report/sheet.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ways and test shots side by side read as one label, 5w-1s. */
static bool is_task_pair(const struct table_axis *rows, int f)
{
    return f + 1 < rows->fields && strcmp(rows->field[f], "ways") == 0 &&
           strcmp(rows->field[f + 1], "test_shots") == 0;
}

static void add_label_head(struct sheet *s, const char *text)
{
    s->label_head = mem_grow(s->label_head, (size_t)s->labels + 1, sizeof *s->label_head);
    s->label_head[s->labels++] = mem_string(text);
}

static void make_heads(struct sheet *s, const struct table *t)
{
    for (int f = 0; f < t->rows.fields; f++) {
        bool pair = is_task_pair(&t->rows, f);
        add_label_head(s, pair ? "task" : field_title(t->rows.field[f]));
        f += pair;
    }
    if (s->labels == 0)
        add_label_head(s, "");
    s->columns = t->columns.n;
    s->heads = t->columns.fields;
    s->head = mem_array((size_t)(s->heads * s->columns) + 1, sizeof *s->head);
    for (int h = 0; h < s->heads; h++)
        for (int j = 0; j < s->columns; j++)
            s->head[h * s->columns + j] =
                result_head(t->columns.field[h], axis_value(&t->columns, j, h));
}

static char *label_text(const struct table *t, int row, int f)
{
    char *a = result_show(t->rows.field[f], axis_value(&t->rows, row, f));
    if (!is_task_pair(&t->rows, f))
        return a;
    char *b = result_show("test_shots", axis_value(&t->rows, row, f + 1));
    char *both = mem_print("%s-%s", a, b);
    free(a);
    free(b);
    return both;
}

static char *percent(double x)
{
    return isnan(x) ? mem_string("") : mem_print("%.1f", x);
}

static void add_line(struct sheet *s, bool paper)
{
    size_t n = (size_t)s->lines + 1;
    s->paper = mem_grow(s->paper, n, sizeof *s->paper);
    s->label = mem_grow(s->label, n * (size_t)s->labels, sizeof *s->label);
    s->cell = mem_grow(s->cell, n * (size_t)s->columns, sizeof *s->cell);
    s->paper[s->lines++] = paper;
}

static void add_ours(struct sheet *s, const struct table *t, int row)
{
    add_line(s, false);
    char **label = s->label + (s->lines - 1) * s->labels;
    for (int f = 0, l = 0; l < s->labels; f++, l++) {
        label[l] = t->rows.fields ? label_text(t, row, f) : mem_string("all");
        if (l == s->labels - 1 && t->missing[row] > 0) {
            char *marked = mem_print("%s†", label[l]);
            free(label[l]);
            label[l] = marked;
        }
        f += t->rows.fields && is_task_pair(&t->rows, f);
    }
    for (int j = 0; j < s->columns; j++) {
        const struct cell *c = table_cell(t, row, j);
        s->cell[(s->lines - 1) * s->columns + j] =
            (struct sheet_cell){percent(c->chosen ? 100 * c->chosen->accuracy : NAN),
                                percent(c->chosen ? 100 * cell_half(c) : NAN), c, c->best};
    }
}

static void add_paper(struct sheet *s, const struct table *t, int row)
{
    bool any = false;
    for (int j = 0; j < s->columns; j++)
        any |= table_cell(t, row, j)->has_paper;
    if (!any)
        return;
    add_line(s, true);
    for (int l = 0; l < s->labels; l++)
        s->label[(s->lines - 1) * s->labels + l] = mem_string(l == s->labels - 1 ? "paper" : "");
    for (int j = 0; j < s->columns; j++) {
        const struct cell *c = table_cell(t, row, j);
        s->cell[(s->lines - 1) * s->columns + j] =
            (struct sheet_cell){percent(c->has_paper ? c->paper.accuracy : NAN),
                                percent(c->has_paper ? c->paper.half : NAN), NULL, false};
    }
}

/* A label that repeats the one above is left blank, from the left. */
static void blank_repeats(struct sheet *s)
{
    char **above = mem_array((size_t)s->labels, sizeof *above);
    for (int i = 0; i < s->lines; i++) {
        bool same = true;
        for (int l = 0; !s->paper[i] && l < s->labels - 1; l++) {
            char **label = &s->label[i * s->labels + l];
            same = same && above[l] && strcmp(above[l], *label) == 0;
            if (!same) {
                free(above[l]);
                above[l] = mem_string(*label);
            } else {
                **label = '\0';
            }
        }
    }
    for (int l = 0; l < s->labels; l++)
        free(above[l]);
    free(above);
}

void sheet_open(struct sheet *out, const struct table *t)
{
    *out = (struct sheet){0};
    make_heads(out, t);
    for (int i = 0; i < t->rows.n; i++) {
        add_ours(out, t, i);
        add_paper(out, t, i);
    }
    blank_repeats(out);
}

static void free_texts(char **texts, int n)
{
    for (int i = 0; i < n; i++)
        free(texts[i]);
    free(texts);
}

void sheet_release(struct sheet *s)
{
    for (int i = 0; i < s->lines * s->columns; i++) {
        free(s->cell[i].text);
        free(s->cell[i].half);
    }
    free(s->cell);
    free(s->paper);
    free_texts(s->head, s->heads * s->columns);
    free_texts(s->label_head, s->labels);
    free_texts(s->label, s->lines * s->labels);
    *s = (struct sheet){0};
}

int sheet_span(const struct sheet *s, int level, int j)
{
    int n = 1;
    for (; j + n < s->columns; n++)
        for (int h = 0; h <= level; h++)
            if (strcmp(s->head[h * s->columns + j], s->head[h * s->columns + j + n]) != 0)
                return n;
    return n;
}
#endif
