/* beside.c - holding cells against the paper's. */
#include "report/beside.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "base/text.h"
#include "report/style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char cells_sql[] =
    "SELECT dataset || ' ' || iif(ways > 0, printf('%dw-', ways), '') || printf('%ds', test_shots)"
    "  || ' ' || coalesce(show_count(budget), 'no cap'), method, dash, 100 * accuracy, 100 * half,"
    "  dataset, labels, ways, test_shots, coalesce(budget, 0) FROM head ORDER BY place";

static const char fedavg_sql[] = "SELECT count(*) FROM head WHERE method = 'fedavg'";

static const char *word(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static int has_fedavg(struct store *s, bool *out)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, fedavg_sql), row = err ? 0 : sql_row(s, stmt);
    *out = row == 1 && sqlite3_column_int(stmt, 0) > 0;
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static enum beside verdict_of(const char *dataset, double difference)
{
    double near = strcmp(dataset, "omniglot") == 0 ? 1 : 2.5;
    return difference > 0 ? ABOVE : difference >= -near ? NEAR : BELOW;
}

static void add_cell(struct beside_cells *out, sqlite3_stmt *row, bool fedavg)
{
    struct paper_cell at = {.dataset = word(row, 5),
                            .method = word(row, 1),
                            .labels = word(row, 6),
                            .ways = sqlite3_column_int(row, 7),
                            .shots = sqlite3_column_int(row, 8),
                            .budget = sqlite3_column_int64(row, 9)};
    bool half = sqlite3_column_type(row, 4) != SQLITE_NULL;
    struct beside_cell c = {.accuracy = sqlite3_column_double(row, 3),
                            .half = half ? sqlite3_column_double(row, 4) : NAN};
    if (!paper_find(&at, fedavg, &c.paper))
        return;
    c.test = mem_string(word(row, 0));
    c.method = mem_string(word(row, 1));
    c.labels = mem_string(word(row, 2));
    c.verdict = verdict_of(at.dataset, c.accuracy - c.paper.accuracy);
    out->count[c.verdict]++;
    out->at = mem_grow(out->at, (size_t)out->n + 1, sizeof *out->at);
    out->at[out->n++] = c;
}

int beside_read(struct beside_cells *out, struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    bool fedavg = false;
    int row = 0, err = has_fedavg(s, &fedavg);
    *out = (struct beside_cells){0};
    if (!err)
        err = sql_prepare(s, &stmt, cells_sql);
    while (!err && (row = sql_row(s, stmt)) == 1)
        add_cell(out, stmt, fedavg);
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

void beside_release(struct beside_cells *c)
{
    for (int i = 0; i < c->n; i++) {
        free(c->at[i].test);
        free(c->at[i].method);
        free(c->at[i].labels);
    }
    free(c->at);
    *c = (struct beside_cells){0};
}

const char *beside_word(enum beside verdict)
{
    static const char *const words[] = {"below", "near", "above"};
    return words[verdict];
}

char *beside_sentence(const struct beside_cells *c)
{
    if (c->n == 0)
        return mem_string("No cell of this database is one of the paper's.");
    return mem_print("Of %d cells that the paper has, %d %s above its number, %d within a point "
                     "below it (2.5 points but for Omniglot), and %d further below.",
                     c->n, c->count[ABOVE], c->count[ABOVE] == 1 ? "is" : "are", c->count[NEAR],
                     c->count[BELOW]);
}

static void add_line(struct text *t, const struct beside_cell *c, const struct beside_cell *above)
{
    bool same = above && strcmp(above->test, c->test) == 0;
    char *ours = isnan(c->half) ? mem_print("%.1f", c->accuracy)
                                : mem_print("%.1f ±%.1f", c->accuracy, c->half);
    text_pad(t, same ? "" : c->test, -25);
    text_pad(t, style_method(c->method), -11);
    text_pad(t, c->labels, -11);
    text_pad(t, ours, -12);
    text_print(t, "%5.1f  %+5.1f  %s\n", c->paper.accuracy, c->accuracy - c->paper.accuracy,
               beside_word(c->verdict));
    free(ours);
}

int beside_table(struct store *s, char **out)
{
    struct beside_cells c;
    struct text t = {0};
    int err = beside_read(&c, s);
    if (!err && c.n > 0)
        text_print(&t, "%-25s%-11s%-11s%-12s%5s%7s\n", "test", "method", "labels", "here", "paper",
                   "apart");
    for (int i = 0; !err && i < c.n; i++)
        add_line(&t, &c.at[i], i ? &c.at[i - 1] : NULL);
    char *sentence = beside_sentence(&c);
    text_print(&t, "%s", c.n ? "\n" : "");
    text_wrap(&t, sentence, 78);
    free(sentence);
    beside_release(&c);
    *out = text_take(&t);
    return err;
}
#endif
