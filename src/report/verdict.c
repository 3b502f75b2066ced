/* verdict.c - the sentences. */
#include "report/verdict.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "base/text.h"
#include "report/prepare.h"
#include "report/style.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of two cells: a leader and the best of another method, or a strategy and random labels. */
struct contest {
    char *test, *budget;  /* "5w-1s", "30K" or "" */
    char *method, *other; /* other: the rival, NULL for none; or the strategy */
    char *apart;          /* the settings that set this cell apart from another; "" */
    double accuracy, rival, difference, half;
    int seeds;
};
struct contests {
    struct contest *at;
    int n;
};

#define SQL_PLACE                                                                                  \
    "iif((SELECT count(DISTINCT dataset) FROM head) > 1, h.dataset || ' ', '') || iif(h.ways > 0," \
    " printf('%dw-', h.ways), '') || printf('%ds', h.test_shots), coalesce(show_count(h.budget), " \
    "'')"

static const char leaders_sql[] =
    "SELECT " SQL_PLACE ", h.method, o.method, 100 * h.accuracy, 100 * o.accuracy, 100 *"
    " c.difference, 100 * c.half, coalesce(c.seeds, h.seeds), h.apart FROM (SELECT *, row_number() "
    "OVER"
    "  (PARTITION BY dataset, ways, budget, test_shots ORDER BY accuracy DESC, place) AS number"
    "  FROM head) h LEFT JOIN (SELECT *, row_number() OVER (PARTITION BY a ORDER BY difference)"
    "  AS near FROM contests WHERE kind = 'method') c ON c.a = h.place AND c.near = 1"
    " LEFT JOIN head o ON o.place = c.b WHERE h.number = 1 ORDER BY h.place";

static const char labels_sql[] =
    "SELECT " SQL_PLACE ", h.method, h.labels, 100 * h.accuracy, NULL, 100 * c.difference, 100 *"
    " c.half, c.seeds, h.apart FROM contests c JOIN head h ON h.place = c.a WHERE c.kind = 'labels'"
    " ORDER BY h.place";

static double number(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NAN
                                                           : sqlite3_column_double(row, column);
}

static char *words(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NULL : sql_text(row, column);
}

static int read_contests(struct store *s, const char *sql, struct contests *out)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(s, &stmt, sql);
    while (!err && (row = sql_row(s, stmt)) == 1) {
        out->at = mem_grow(out->at, (size_t)out->n + 1, sizeof *out->at);
        out->at[out->n++] = (struct contest){.test = words(stmt, 0),
                                             .budget = words(stmt, 1),
                                             .method = words(stmt, 2),
                                             .other = words(stmt, 3),
                                             .accuracy = number(stmt, 4),
                                             .rival = number(stmt, 5),
                                             .difference = number(stmt, 6),
                                             .half = number(stmt, 7),
                                             .seeds = sqlite3_column_int(stmt, 8),
                                             .apart = words(stmt, 9)};
    }
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static void release(struct contests *c)
{
    for (int i = 0; i < c->n; i++) {
        free(c->at[i].test);
        free(c->at[i].budget);
        free(c->at[i].method);
        free(c->at[i].other);
        free(c->at[i].apart);
    }
    free(c->at);
}

/* 1: shown to be better, -1: worse, 0: undecided. */
static int decided(const struct contest *c)
{
    if (isnan(c->half) || fabs(c->difference) <= c->half)
        return 0;
    return c->difference > 0 ? 1 : -1;
}

static void add_difference(struct text *t, const struct contest *c)
{
    text_print(t, "%+.1f", c->difference);
    if (!isnan(c->half))
        text_print(t, " ±%.1f", c->half);
}

/* "ProtoNets lead", "MAML leads". */
static const char *ending(const char *name)
{
    size_t n = strlen(name);
    return n && name[n - 1] == 's' ? "" : "s";
}

/* "ProtoNets lead 5w-1s with 89.1 % (+7.0 ±2.3 on MAML)"; in short "with 96.9 % (+3.3 ±1.2)",
 * where the sentence before says the rest. */
static void add_leader(struct text *t, const struct contest *c, bool in_short)
{
    const char *name = style_method(c->method), *rival = c->other ? style_method(c->other) : NULL;
    int lead = decided(c);
    if (in_short)
        text_print(t, "with %.1f %%", c->accuracy);
    else if (!rival)
        text_print(t, "%s reach%s %.1f %% on %s", name, *ending(name) ? "es" : "", c->accuracy,
                   c->test);
    else if (!lead)
        text_print(t, "%s and %s are tied on %s: %.1f and %.1f %%", name, rival, c->test,
                   c->accuracy, c->rival);
    else
        text_print(t, "%s lead%s %s with %.1f %%", name, ending(name), c->test, c->accuracy);
    if (*c->apart)
        text_print(t, " (%s)", c->apart);
    if (rival) {
        text_add(t, " (");
        add_difference(t, c);
        text_print(t, "%s%s)", lead && !in_short ? " on " : "", lead && !in_short ? rival : "");
    }
}

static bool same_test(const struct contest *a, const struct contest *b)
{
    return strcmp(a->test, b->test) == 0;
}

/* The same leader with the same rival, and both beyond the interval or both without one. */
static bool goes_on(const struct contest *a, const struct contest *b)
{
    bool rivals = a->other && b->other ? strcmp(a->other, b->other) == 0 : a->other == b->other;
    return rivals && strcmp(a->method, b->method) == 0 && decided(a) == decided(b) &&
           (decided(a) > 0 || !a->other);
}

/* How often the leader of the first test leads, over all tests and budgets. */
static void add_elsewhere(struct text *t, const struct contests *c)
{
    const char *name = style_method(c->at[0].method);
    int leads = 0, beyond = 0;
    for (int i = 0; i < c->n; i++) {
        bool same = strcmp(c->at[i].method, c->at[0].method) == 0;
        leads += same;
        beyond += same && decided(&c->at[i]) > 0;
    }
    text_print(t, " Of all %d tests and budgets %s %s first in %d, in %d beyond the interval.",
               c->n, name, *ending(name) ? "is" : "are", leads, beyond);
}

static void add_leaders(struct text *t, const struct contests *c)
{
    bool rivals = false;
    const struct contest *before = NULL;
    int tests = 0; /* those of the first kind, which the sentence names */
    for (int i = 0; i < c->n; i++) {
        const struct contest *x = &c->at[i];
        rivals |= x->other != NULL;
        tests += same_test(x, &c->at[0]);
        if (!same_test(x, &c->at[0]))
            continue;
        bool in_short = before && goes_on(before, x);
        if (before)
            text_add(t, in_short ? ", " : "; ");
        if (*x->budget)
            text_print(t, "%s %s %s", before ? "at" : "At", x->budget, before ? "" : "labels ");
        add_leader(t, x, in_short);
        before = x;
    }
    text_add(t, ".");
    if (c->n > tests + 1 && rivals)
        add_elsewhere(t, c);
}

/* The methods of one verdict at the first test and budget: "Reptile (+1.9 ±0.6) and ...". */
static int add_methods(struct text *t, const struct contests *c, const char *strategy, int verdict,
                       const char *before)
{
    int n = 0, total = 0;
    const struct contest *first = NULL;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < c->n; i++) {
            const struct contest *x = &c->at[i];
            if (strcmp(x->other, strategy) != 0)
                continue;
            first = first ? first : x;
            if (!same_test(x, first) || strcmp(x->budget, first->budget) != 0 ||
                decided(x) != verdict)
                continue;
            if (pass == 0) {
                total++;
                continue;
            }
            text_print(t, "%s%s (",
                       n == 0           ? before
                       : n == total - 1 ? " and "
                                        : ", ",
                       style_method(x->method));
            text_print(t, "%s%s", x->apart, *x->apart ? ": " : "");
            add_difference(t, x);
            text_add(t, ")");
            n++;
        }
    return total;
}

static void add_strategy(struct text *t, const struct contests *c, int which)
{
    const struct contest *first = &c->at[which];
    int n = 0, better = 0, worse = 0, said = 0;
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->at[i].other, first->other) == 0) {
            n++;
            better += decided(&c->at[i]) > 0;
            worse += decided(&c->at[i]) < 0;
        }
    text_print(t, " %c%s labels", toupper((unsigned char)*first->other), first->other + 1);
    said = add_methods(t, c, first->other, 1, " help ");
    said += add_methods(t, c, first->other, -1, said ? ", hurt " : " hurt ");
    int here =
        said + add_methods(t, c, first->other, 0, said ? "; undecided for " : ": undecided for ");
    text_print(t, "; %s%s%s, %d seed%s%s.", first->test, *first->budget ? " at " : "",
               first->budget, first->seeds, first->seeds == 1 ? "" : "s",
               first->seeds < SEEDS_ENOUGH ? ", intervals over test tasks" : "");
    if (n > here)
        text_print(t, " Of all %d comparisons %s is ahead in %d and behind in %d.", n, first->other,
                   better, worse);
}

static void add_strategies(struct text *t, const struct contests *c)
{
    for (int i = 0; i < c->n; i++) {
        bool met = false;
        for (int k = 0; k < i; k++)
            met |= strcmp(c->at[k].other, c->at[i].other) == 0;
        if (!met)
            add_strategy(t, c, i);
    }
}

int verdict_read(struct store *s, char **out)
{
    struct contests leaders = {0}, labels = {0};
    struct text t = {0};
    int err = read_contests(s, leaders_sql, &leaders);
    if (!err)
        err = read_contests(s, labels_sql, &labels);
    if (!err && leaders.n > 0) {
        add_leaders(&t, &leaders);
        add_strategies(&t, &labels);
    }
    release(&leaders);
    release(&labels);
    *out = text_take(&t);
    return err;
}
#endif
