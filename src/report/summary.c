/* summary.c - a database in a table of 80 columns and a verdict. */
#include "report/verdict.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "report/style.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 13, SHOTS = 2 /* as many as have room, with their differences */ };

static const char groups_sql[] =
    "SELECT dataset, ways, budget, dataset || iif(ways > 0, printf(' %dw', ways), '') || ', ' ||"
    " coalesce(show_count(budget) || ' labels', 'no cap'), max(seeds), min(seeds)"
    " FROM head GROUP BY dataset, ways, budget ORDER BY min(place)";

static const char shots_sql[] =
    "SELECT DISTINCT test_shots FROM head WHERE dataset = ?1 AND ways = ?2 AND budget IS ?3"
    " ORDER BY test_shots LIMIT 2";

/* A row for each method, strategy and setting apart; a column for each of two shots. */
static const char rows_sql[] =
    "SELECT h.method, h.dash, h.test_shots, 100 * h.accuracy, 100 * h.half, 100 * c.difference,"
    " 100 * c.half, h.labels = 'random' FROM head h LEFT JOIN contests c ON c.kind = 'labels' AND"
    " c.a = h.place WHERE h.dataset = ?1 AND h.ways = ?2 AND h.budget IS ?3 AND h.test_shots IN"
    " (?4, ?5) ORDER BY min(h.place) OVER (PARTITION BY h.method), h.labels <> 'random',"
    " h.dash, h.test_shots";

struct group {
    char *dataset;
    int ways, shots[SHOTS], n_shots;
    int64_t budget;
    bool capped;
};

static void bind_group(sqlite3_stmt *stmt, const struct group *g)
{
    sql_bind(stmt, "ti", g->dataset, g->ways);
    if (g->capped)
        sqlite3_bind_int64(stmt, 3, g->budget);
    else
        sqlite3_bind_null(stmt, 3);
}

static int read_shots(struct store *s, struct group *g)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(s, &stmt, shots_sql);
    if (!err)
        bind_group(stmt, g);
    while (!err && g->n_shots < SHOTS && (row = sql_row(s, stmt)) == 1)
        g->shots[g->n_shots++] = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static char *value_text(sqlite3_stmt *row, int column, const char *format)
{
    struct text t = {0};
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return mem_string("");
    text_print(&t, format, sqlite3_column_double(row, column));
    if (sqlite3_column_type(row, column + 1) != SQLITE_NULL)
        text_print(&t, " ±%.1f", sqlite3_column_double(row, column + 1));
    return text_take(&t);
}

static void trim(struct text *t)
{
    while (t->size && t->at[t->size - 1] == ' ')
        t->at[--t->size] = '\0';
}

static void add_heads(struct text *out, const struct group *g)
{
    text_pad(out, "method", -11);
    text_pad(out, "labels", -11);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < g->n_shots; i++) {
            char *head =
                mem_print("%s%d-shot", pass && i == 0 ? "minus random, " : "", g->shots[i]);
            text_pad(out, head, pass ? -(i == 0 ? 22 : 12) : -CELL);
            free(head);
        }
    trim(out);
    text_add(out, "\n");
}

/* The cells of one line: accuracies, then differences. */
struct line {
    char *method, *labels, *value[SHOTS], *difference[SHOTS];
};

/* A variant's settings ("random, method.absent=prior") have a line of their own, so that numbers
 * stand below each other. */
static void end_line(struct text *out, struct line *l, const char *above)
{
    if (!l->method)
        return;
    const char *settings = strstr(l->labels, ", ");
    char *labels = settings ? mem_print("%.*s", (int)(settings - l->labels), l->labels)
                            : mem_string(l->labels);
    text_pad(out, above && strcmp(above, l->method) == 0 ? "" : style_method(l->method), -11);
    text_pad(out, labels, text_width(labels) < 11 ? -11 : -text_width(labels) - 1);
    free(labels);
    for (int i = 0; i < SHOTS; i++)
        text_pad(out, l->value[i] ? l->value[i] : "", -CELL);
    for (int i = 0; i < SHOTS; i++)
        text_pad(out, l->difference[i] ? l->difference[i] : "", i == 0 ? -22 : -12);
    trim(out);
    text_add(out, "\n");
    if (settings)
        text_print(out, "  %s\n", settings + 2);
}

static void release_line(struct line *l)
{
    free(l->method);
    free(l->labels);
    for (int i = 0; i < SHOTS; i++) {
        free(l->value[i]);
        free(l->difference[i]);
    }
    *l = (struct line){0};
}

static bool is_line(const struct line *l, const char *method, const char *labels)
{
    return l->method && strcmp(l->method, method) == 0 && strcmp(l->labels, labels) == 0;
}

static int add_rows(struct text *out, struct store *s, const struct group *g)
{
    sqlite3_stmt *stmt = NULL;
    struct line line = {0};
    char *above = NULL;
    int row = 0, err = sql_prepare(s, &stmt, rows_sql);
    if (!err) {
        bind_group(stmt, g);
        sqlite3_bind_int(stmt, 4, g->shots[0]);
        sqlite3_bind_int(stmt, 5, g->shots[g->n_shots - 1]);
    }
    while (!err && (row = sql_row(s, stmt)) == 1) {
        char *method = sql_text(stmt, 0), *labels = sql_text(stmt, 1);
        if (!is_line(&line, method, labels)) {
            end_line(out, &line, above);
            free(above);
            above = line.method ? mem_string(line.method) : NULL;
            release_line(&line);
            line.method = mem_string(method);
            line.labels = mem_string(labels);
        }
        int i = sqlite3_column_int(stmt, 2) == g->shots[0] ? 0 : 1;
        line.value[i] = value_text(stmt, 3, "%.1f");
        line.difference[i] = value_text(stmt, 5, "%+.1f");
        free(method);
        free(labels);
    }
    end_line(out, &line, above);
    free(above);
    release_line(&line);
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

static int add_groups(struct text *out, struct store *s)
{
    sqlite3_stmt *stmt = NULL;
    int row = 0, err = sql_prepare(s, &stmt, groups_sql);
    while (!err && (row = sql_row(s, stmt)) == 1) {
        struct group g = {.dataset = sql_text(stmt, 0),
                          .ways = sqlite3_column_int(stmt, 1),
                          .budget = sqlite3_column_int64(stmt, 2),
                          .capped = sqlite3_column_type(stmt, 2) != SQLITE_NULL};
        int seeds = sqlite3_column_int(stmt, 4), fewest = sqlite3_column_int(stmt, 5);
        char *title = sql_text(stmt, 3);
        text_print(out, "%sTest accuracy in %%: %s, ", out->size ? "\n" : "", title);
        if (fewest < seeds)
            text_print(out, "%d to ", fewest);
        text_print(out, "%d seed%s, 95 %% intervals\n\n", seeds, seeds == 1 ? "" : "s");
        err = read_shots(s, &g);
        if (!err) {
            add_heads(out, &g);
            err = add_rows(out, s, &g);
        }
        free(g.dataset);
        free(title);
    }
    sqlite3_finalize(stmt);
    return err ? err : row < 0 ? row : 0;
}

int summary_read(struct store *s, char **out)
{
    struct text t = {0};
    char *verdict = NULL;
    int err = verdict_read(s, &verdict);
    if (!err && !*verdict)
        text_add(&t, "Nothing has been measured yet.\n");
    if (!err && *verdict) {
        err = add_groups(&t, s);
        text_add(&t, "\n");
        text_wrap(&t, verdict, 78);
    }
    free(verdict);
    *out = text_take(&t);
    return err;
}
#endif
