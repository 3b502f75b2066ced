/* table_notes.c - what a reader must know to believe a table. */
#include "report/table.h"
#include "report/prepare.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"
#include "method/baseline.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef char *note_fn(const struct table *t); /* NULL: nothing to say */

static const struct result *first_chosen(const struct table *t)
{
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].chosen)
            return t->cells[i].chosen;
    return NULL;
}

/* The least and the most seeds of any cell. */
static void seed_range(const struct table *t, int *least, int *most)
{
    *least = *most = first_chosen(t)->seeds;
    for (int i = 0; i < t->rows.n * t->columns.n; i++) {
        const struct result *r = t->cells[i].chosen;
        if (r && r->seeds < *least)
            *least = r->seeds;
        if (r && r->seeds > *most)
            *most = r->seeds;
    }
}

static char *note_interval(const struct table *t)
{
    int least, most;
    const struct result *r = first_chosen(t);
    if (!r)
        return mem_string("Nothing has been measured yet.");
    seed_range(t, &least, &most);
    const char *tasks = r->users ? "users" : "test tasks";
    char *start = mem_print("Test accuracy in %%, mean over %d test tasks%s after adaptation",
                            r->test_tasks, r->users ? " of users" : ""),
         *note;
    if (most == 1)
        note = mem_print("%s, one seed; ± 95 %% over %s.", start, tasks);
    else if (least >= SEEDS_ENOUGH && least == most)
        note = mem_print("%s and %d seeds; ± 95 %% over seeds (Student's t).", start, most);
    else if (least >= SEEDS_ENOUGH)
        note = mem_print("%s and %d to %d seeds; ± 95 %% over seeds (Student's t).", start, least,
                         most);
    else
        note = mem_print("%s and up to %d seeds; ± 95 %% over seeds (Student's t), over %s where "
                         "there are fewer than three.",
                         start, most, tasks);
    free(start);
    return note;
}

/* The batch-norm mode of those that have batch norm; "none" where nobody has. */
static const char *mode_of(const struct table *t)
{
    for (int i = 0; i < t->rows.n * t->columns.n; i++) {
        const struct result *r = t->cells[i].chosen;
        if (r && strcmp(r->field[FIELD_BN], "none") != 0)
            return r->field[FIELD_BN];
    }
    return "none";
}

static char *note_protocol(const struct table *t)
{
    const struct result *r = first_chosen(t);
    if (!r)
        return NULL;
    struct text out = {0};
    const char *bn = mode_of(t);
    bool varies_bn = axis_field(&t->rows, "bn") >= 0 || axis_field(&t->columns, "bn") >= 0;
    bool varies_support =
        axis_field(&t->rows, "support") >= 0 || axis_field(&t->columns, "support") >= 0;
    if (!varies_bn)
        text_print(&out, "Batch norm: %s%s. ", bn,
                   strcmp(bn, "batch") == 0
                       ? " (statistics of the batch at hand, the query's at test: transductive)"
                       : "");
    if (!varies_support)
        text_print(&out, "Test supports: %s. ", r->field[FIELD_SUPPORT]);
    text_print(&out, "Model: %s.",
               strcmp(r->field[FIELD_MODEL], "best") == 0 ? "best by validation" : "the last");
    return text_take(&out);
}

static char *note_choice(const struct table *t)
{
    int most = 1;
    const char *example = NULL;
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].variants > most) {
            most = t->cells[i].variants;
            example = t->cells[i].choice;
        }
    if (most == 1)
        return NULL;
    return mem_print("A cell is the best of up to %d variants by validation accuracy%s%s%s.", most,
                     example ? " (such as: " : "", example ? example : "", example ? ")" : "");
}

/* Labels of each kind that a run used: the least and the most, over the runs of the cells. */
enum { SUPPORT, QUERY, UNIQUE, VALIDATION, UNIQUE_VALIDATION, COUNTS };
struct label_counts {
    int64_t least[COUNTS], most[COUNTS];
    bool any, unknown, charged; /* charged: those of validation */
};

static void count_labels(const struct table *t, const struct result *r, struct label_counts *c)
{
    sqlite3_stmt *find = NULL;
    struct store *s = t->results->store;
    if (sql_prepare(s, &find,
                    "SELECT o.support_labels, o.query_labels, o.unique_labels,"
                    " o.validation_labels, o.unique_validation, EXISTS (SELECT 1 FROM settings x"
                    " WHERE x.run = r.run AND x.key = 'budget.charge' AND x.value LIKE"
                    " '%validation') FROM outcomes o JOIN runs r USING (run) WHERE variant = ?"))
        return;
    sql_bind(find, "t", r->variant);
    while (sql_row(s, find) == 1) {
        for (int i = 0; i < COUNTS; i++) {
            int64_t n = sqlite3_column_int64(find, i);
            c->unknown |= sqlite3_column_type(find, i) == SQLITE_NULL;
            c->least[i] = c->any && c->least[i] < n ? c->least[i] : n;
            c->most[i] = c->any && c->most[i] > n ? c->most[i] : n;
        }
        c->charged |= sqlite3_column_int(find, COUNTS) != 0;
        c->any = true;
    }
    sqlite3_finalize(find);
}

static void print_count(struct text *out, const struct label_counts *c, int i)
{
    text_print(out, "%lld", (long long)c->least[i]);
    if (c->least[i] < c->most[i])
        text_print(out, " to %lld", (long long)c->most[i]);
}

static char *note_labels(const struct table *t)
{
    struct label_counts c = {0};
    struct text out = {0};
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].chosen)
            count_labels(t, t->cells[i].chosen, &c);
    if (!c.any || c.unknown)
        return NULL;
    text_add(&out, "Labels of a run: ");
    print_count(&out, &c, SUPPORT);
    text_add(&out, " support and ");
    print_count(&out, &c, QUERY);
    text_add(&out, " query, of ");
    print_count(&out, &c, UNIQUE);
    text_add(&out, " items; validation, ");
    text_add(&out, c.charged ? "" : "not charged, ");
    print_count(&out, &c, VALIDATION);
    text_add(&out, " of ");
    print_count(&out, &c, UNIQUE_VALIDATION);
    text_add(&out, " items.");
    return text_take(&out);
}

/* ---- baselines ---- */

static bool is_baseline(const struct result *r)
{
    for (int i = 0; baseline_at(i); i++)
        if (strcmp(r->field[FIELD_METHOD], baseline_at(i)) == 0)
            return true;
    return false;
}

static bool same_test(const struct result *a, const struct result *b)
{
    static const int fields[] = {FIELD_DATASET, FIELD_WAYS, FIELD_BUDGET, FIELD_TEST_SHOTS,
                                 FIELD_SUPPORT};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(a->field[fields[i]], b->field[fields[i]]) != 0)
            return false;
    return true;
}

/* The baseline with the best accuracy on the tests of `r`; NULL where there is none. */
static const struct result *best_baseline(const struct table *t, const struct result *r)
{
    const struct result *best = NULL;
    for (int i = 0; i < t->rows.n * t->columns.n; i++) {
        const struct result *b = t->cells[i].chosen;
        if (b && is_baseline(b) && same_test(r, b) && (!best || b->accuracy > best->accuracy))
            best = b;
    }
    return best;
}

#define MEANS                                                                                      \
    "SELECT coalesce(x.user, x.task) AS who, avg(x.accuracy) AS y FROM runs r JOIN tests t"        \
    " USING (run) JOIN task_results x USING (run, test) WHERE t.model = ?3 AND t.shots = ?4"       \
    " AND t.support = ?5 AND r.variant = "

/* a - b over the users (or tasks) that both were tested on; false: nobody. */
static bool paired_difference(const struct table *t, const struct result *a, const struct result *b,
                              double *mean, double *half)
{
    static const char sql[] =
        "SELECT n, s / n, (SELECT t FROM student WHERE df = min(n, 1001) - 1)"
        " * sqrt(max(0, q - s * s / n) / (n - 1) / n) FROM (SELECT count(*) AS n, sum(d) AS s,"
        " sum(d * d) AS q FROM (SELECT a.y - b.y AS d FROM (" MEANS
        "?1 GROUP BY who) a JOIN (" MEANS "?2 GROUP BY who) b USING (who)))";
    const char *shots = a->field[FIELD_TEST_SHOTS];
    sqlite3_stmt *stmt = NULL;
    bool found = false;
    if (sql_prepare(t->results->store, &stmt, sql) == 0) {
        sql_bind(stmt, "tttit", a->variant, b->variant, a->field[FIELD_MODEL],
                 strchr(shots, ' ') ? -atoi(shots) : atoi(shots), a->field[FIELD_SUPPORT]);
        found = sql_row(t->results->store, stmt) == 1 && sqlite3_column_int(stmt, 0) > 1;
        *mean = sqlite3_column_double(stmt, 1);
        *half = sqlite3_column_double(stmt, 2);
    }
    sqlite3_finalize(stmt);
    return found;
}

static char *note_baselines(const struct table *t)
{
    struct text out = {0};
    bool any = false;
    for (int i = 0; i < t->rows.n * t->columns.n; i++) {
        const struct result *r = t->cells[i].chosen;
        const struct result *b = r && !is_baseline(r) ? best_baseline(t, r) : NULL;
        double mean, half;
        any |= b != NULL;
        if (!b || !paired_difference(t, r, b, &mean, &half) || mean > half)
            continue;
        char *at = result_show("test_shots", r->field[FIELD_TEST_SHOTS]);
        text_print(&out, "%s%s %s at %s by %s (%+.1f ±%.1f beside %s)", out.size ? ", " : "",
                   r->field[FIELD_METHOD], r->field[FIELD_LABELS], at, r->field[FIELD_SUPPORT],
                   100 * mean, 100 * half, b->field[FIELD_METHOD]);
        free(at);
    }
    if (!out.size)
        return any ? mem_string(
                         "Every method is ahead of the best baseline, in pairs over the same "
                         "tests.")
                   : NULL;
    char *note = mem_print("Not ahead of the best baseline, in pairs over the same %s: %s.",
                           first_chosen(t)->users ? "users" : "tasks", out.at);
    text_release(&out);
    return note;
}

/* ---- who keeps the model for all ---- */

static char *note_keep(const struct table *t)
{
    struct text out = {0};
    for (int i = 0; i < t->rows.n * t->columns.n; i++) {
        const struct result *r = t->cells[i].chosen;
        if (!r || isnan(r->kept_share))
            continue;
        char *at = result_show("test_shots", r->field[FIELD_TEST_SHOTS]);
        text_print(&out, "%s%s %s at %s by %s %.1f %% (%.1f %% if all adapt; %.1f %% do not)",
                   out.size ? ", " : "", r->field[FIELD_METHOD], r->field[FIELD_LABELS], at,
                   r->field[FIELD_SUPPORT], 100 * r->worse_share, 100 * r->adapted_worse_share,
                   100 * r->kept_share);
        free(at);
    }
    if (!out.size)
        return NULL;
    char *note = mem_print("Users made worse by adaptation, where those keep the model for all "
                           "whom it serves better by their own support: %s.",
                           out.at);
    text_release(&out);
    return note;
}

/* Whether runs of a variant had a learner of another program that promises less than ours. */
static bool may_differ(const struct table *t, const struct result *r)
{
    sqlite3_stmt *find = NULL;
    struct store *s = t->results->store;
    if (sql_prepare(s, &find,
                    "SELECT 1 FROM runs r JOIN times USING (run) JOIN environments e"
                    " USING (environment) WHERE r.variant = ? AND json_valid(e.json)"
                    " AND json_extract(e.json, '$.bytes') = 'may differ' LIMIT 1"))
        return false;
    sql_bind(find, "t", r->variant);
    bool found = sql_row(s, find) == 1;
    sqlite3_finalize(find);
    return found;
}

static char *note_learners(const struct table *t)
{
    enum { MOST = 32 };
    const char *named[MOST];
    int n = 0;
    for (int i = 0; i < t->rows.n * t->columns.n && n < MOST; i++) {
        const struct result *r = t->cells[i].chosen;
        bool known = !r;
        for (int k = 0; k < n && !known; k++)
            known = strcmp(named[k], r->field[FIELD_METHOD]) == 0;
        if (!known && may_differ(t, r))
            named[n++] = r->field[FIELD_METHOD];
    }
    if (n == 0)
        return NULL;
    struct text out = {0};
    text_add(&out, "Learners of other programs, which do not promise the same bytes for the same "
                   "seed: ");
    for (int k = 0; k < n; k++)
        text_print(&out, "%s%s", k ? ", " : "", named[k]);
    text_add(&out, ".");
    return text_take(&out);
}

static char *note_paper(const struct table *t)
{
    bool used[4] = {false};
    for (int i = 0; i < t->rows.n * t->columns.n; i++)
        if (t->cells[i].has_paper)
            used[t->cells[i].paper.table] = true;
    struct text out = {0};
    for (int k = 1; k <= 3; k++)
        if (used[k])
            text_print(&out, "%s%d", out.size ? ", " : "", k);
    if (!out.size)
        return NULL;
    char *note = mem_print("Paper: Al-Shedivat et al., On Data Efficiency of Meta-learning, Table "
                           "%s (3 seeds).",
                           out.at);
    text_release(&out);
    return note;
}

static char *note_missing(const struct table *t)
{
    const struct result_list *r = t->results;
    if (r->failed + r->planned + r->running == 0)
        return NULL;
    struct text out = {0};
    text_print(&out, "Of %d runs %d are done", r->done + r->failed + r->planned + r->running,
               r->done);
    if (r->running)
        text_print(&out, ", %d are running", r->running);
    if (r->planned)
        text_print(&out, ", %d are planned", r->planned);
    if (r->failed)
        text_print(&out, ", %d failed", r->failed);
    text_add(&out, "; rows that lack some have a †.");
    return text_take(&out);
}

char *table_note(const struct table *t, int i)
{
    static note_fn *const notes[] = {note_interval, note_protocol,  note_labels,
                                     note_choice,   note_baselines, note_keep,
                                     note_learners, note_paper,     note_missing};
    for (size_t k = 0; k < sizeof notes / sizeof *notes; k++) {
        char *note = notes[k](t);
        if (note && i-- == 0)
            return note;
        free(note);
    }
    return NULL;
}
#endif
