/* measures.c - what studies measured, as text: `mete results` of a theory suite. */
#include "report/measures.h"
#include "base/memory.h"
#include "store/store.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    int64_t run;
    char *dataset, *method, *labels, *name;
    uint64_t seed;
    double value, half;
};

struct rows {
    struct row *at;
    int n, room;
};

static void take(void *user, const struct store_measured *m)
{
    struct rows *r = user;
    if (r->n == r->room) {
        r->room = 2 * r->room + 64;
        r->at = mem_grow(r->at, (size_t)r->room, sizeof *r->at);
    }
    r->at[r->n++] = (struct row){.run = m->run,
                                 .dataset = mem_string(m->dataset),
                                 .method = mem_string(m->method),
                                 .labels = mem_string(m->labels),
                                 .name = mem_string(m->measure.name),
                                 .seed = m->seed,
                                 .value = m->measure.value,
                                 .half = m->measure.half};
}

static void release(struct rows *r)
{
    for (int i = 0; i < r->n; i++) {
        free(r->at[i].dataset);
        free(r->at[i].method);
        free(r->at[i].labels);
        free(r->at[i].name);
    }
    free(r->at);
}

static int same_group(const struct row *a, const struct row *b)
{
    return strcmp(a->dataset, b->dataset) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->labels, b->labels) == 0;
}

/* By dataset, method, strategy and measure; values rise, and those that are no numbers are last. */
static int by_measure(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    const char *const left[] = {a->dataset, a->method, a->labels, a->name};
    const char *const right[] = {b->dataset, b->method, b->labels, b->name};
    for (int i = 0; i < 4; i++) {
        int c = strcmp(left[i], right[i]);
        if (c)
            return c;
    }
    if (isnan(a->value) || isnan(b->value))
        return isnan(a->value) - isnan(b->value);
    return (a->value > b->value) - (a->value < b->value);
}

/* at[0..n): one measure of one group. */
static void print_measure(struct text *out, const struct row *at, int n)
{
    int known = n;
    while (known > 0 && isnan(at[known - 1].value))
        known--;
    if (known == 0) {
        text_print(out, "  %-20s %5d %14s %14s %14s\n", at->name, 0, "-", "-", "-");
        return;
    }
    double middle = (at[(known - 1) / 2].value + at[known / 2].value) / 2;
    text_print(out, "  %-20s %5d %14.6g %14.6g %14.6g\n", at->name, known, at[0].value, middle,
               at[known - 1].value);
}

int measures_text(struct text *out, struct store *s, const char *suite, bool *found)
{
    struct rows rows = {0};
    int err = store_measures(s, suite, take, &rows);
    *found = rows.n > 0;
    if (!err && rows.n)
        qsort(rows.at, (size_t)rows.n, sizeof *rows.at, by_measure);
    for (int i = 0, n; i < rows.n && !err; i += n) {
        const struct row *first = &rows.at[i];
        for (n = 1; i + n < rows.n && same_group(first, &first[n]) &&
                    strcmp(first->name, first[n].name) == 0;)
            n++;
        if (i == 0 || !same_group(first - 1, first))
            text_print(out, "%s%s, %s labels, %s\n  %-20s %5s %14s %14s %14s\n", i ? "\n" : "",
                       first->method, first->labels, first->dataset, "measure", "runs", "least",
                       "median", "largest");
        print_measure(out, first, n);
    }
    release(&rows);
    return err;
}

int measures_csv(struct text *out, struct store *s, const char *suite, bool *found)
{
    struct rows rows = {0};
    int err = store_measures(s, suite, take, &rows);
    *found = rows.n > 0;
    text_add(out, rows.n ? "run,dataset,method,labels,seed,measure,value,half\n" : "");
    for (int i = 0; i < rows.n && !err; i++) {
        const struct row *r = &rows.at[i];
        char value[32] = "", half[32] = "";
        if (isfinite(r->value))
            snprintf(value, sizeof value, "%.9g", r->value);
        if (isfinite(r->half))
            snprintf(half, sizeof half, "%.9g", r->half);
        text_print(out, "%lld,\"%s\",%s,%s,%llu,%s,%s,%s\n", (long long)r->run, r->dataset,
                   r->method, r->labels, (unsigned long long)r->seed, r->name, value, half);
    }
    release(&rows);
    return err;
}
