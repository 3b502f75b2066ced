/* cmd_bound.c - mete bound: what the theory promises for n tasks of m points.
 *
 * Every number of the setting is an option, and every option that holds a number
 * can be swept; one table names them all.
 */
#include "commands.h"
#include "bound_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct values {
    struct bound_row row;
    const char *method;
    struct text_list sweeps;
    bool csv, json;
};

/* Every OPT_REAL can be swept. */
static const struct option options[] = {
    OPTION_TEXT(struct values, method, "--method", "METHOD",
                "maml, fomaml, protonet (held-out estimator), reptile or fedavg (empirical)"),
    OPTION_REAL(struct values, row.s.n, "--n", "N", "training tasks"),
    OPTION_REAL(struct values, row.s.m, "--m", "M",
                "points per task (with --budget: at least this many)"),
    OPTION_REAL(struct values, row.s.delta, "--delta", "D",
                "the bound fails with at most this probability (default 0.05)"),
    OPTION_REAL(struct values, row.s.max_loss, "--M", "M", "the loss lies in [0, M] (default 1)"),
    OPTION_REAL(struct values, row.s.loss_seen, "--loss-seen", "X",
                "the largest loss seen; refused if it is above M"),
    OPTION_REAL(struct values, row.s.outer.lipschitz, "--outer-L", "X",
                "outer loop: Lipschitz constant, the largest gradient norm (default 1)"),
    OPTION_REAL(struct values, row.s.outer.smooth, "--outer-gamma", "X",
                "outer loop: smoothness, the largest curvature (default 1)"),
    OPTION_REAL(struct values, row.s.outer.steps, "--outer-T", "N",
                "outer loop: steps (default 1)"),
    OPTION_REAL(struct values, row.s.outer.c, "--outer-c", "X",
                "outer loop: step sizes are at most c/t (default 1, or lr times T)"),
    OPTION_REAL(struct values, row.s.outer.lr, "--outer-lr", "X",
                "outer loop: a constant step size, so that c = lr T"),
    OPTION_REAL(struct values, row.s.outer.batch, "--outer-batch", "N",
                "outer loop: tasks that a step sees (default 1)"),
    OPTION_REAL(struct values, row.s.outer.beta, "--outer-beta", "X",
                "outer loop: the stability itself, if known or measured"),
    OPTION_REAL(struct values, row.s.inner.lipschitz, "--inner-L", "X",
                "inner loop: Lipschitz constant, the largest gradient norm (default 1)"),
    OPTION_REAL(struct values, row.s.inner.smooth, "--inner-gamma", "X",
                "inner loop: smoothness, the largest curvature (default 1)"),
    OPTION_REAL(struct values, row.s.inner.steps, "--inner-T", "N",
                "inner loop: steps (default 1)"),
    OPTION_REAL(struct values, row.s.inner.c, "--inner-c", "X",
                "inner loop: step sizes are at most c/t (default 1, or lr times T)"),
    OPTION_REAL(struct values, row.s.inner.lr, "--inner-lr", "X",
                "inner loop: a constant step size, so that c = lr T"),
    OPTION_REAL(struct values, row.s.inner.batch, "--inner-batch", "N",
                "inner loop: points of a task that a step sees (default 1)"),
    OPTION_REAL(struct values, row.s.inner.beta, "--inner-beta", "X",
                "inner loop: the stability itself, if known or measured"),
    OPTION_REAL(struct values, row.budget, "--budget", "B",
                "find the n and m with the least bound when n tasks of m labels cost n (m + query "
                "+ task-cost) labels"),
    OPTION_REAL(struct values, row.query, "--query", "Q",
                "labels of a task besides the m of its support (default 0)"),
    OPTION_REAL(struct values, row.task_cost, "--task-cost", "X",
                "cost of a task besides its labels, in labels (default 0)"),
    OPTION_FLAG(struct values, row.s.outer.adam, "--outer-adam",
                "the outer optimiser is Adam, which the theory does not cover"),
    OPTION_FLAG(struct values, row.s.inner.adam, "--inner-adam",
                "the inner optimiser is Adam, which the theory does not cover"),
    OPTION_FLAG(struct values, row.s.rescale, "--rescale",
                "restate the lemma for a loss in [0, M] instead of [0, 1]"),
    OPTION_FLAG(struct values, row.s.tight, "--tight",
                "use the best gamma at or above the one given (it matters when gamma c is near 0, "
                "where the printed bound grows without limit)"),
    OPTION_LIST(struct values, sweeps, "--sweep", "NAME=FROM:TO[:log|lin][:POINTS]",
                "one row for each value of an option above; give it twice for a grid"),
    OPTION_FLAG(struct values, csv, "--csv", "print the rows as CSV"),
    OPTION_FLAG(struct values, json, "--json", "print the rows as JSON"),
    {0},
};

enum { SWEEPS = 2, SWEEP_POINTS = 21, ROWS_MAX = 100000 };

/* The number of `row` that an option sets. */
static double *number_in(struct bound_row *row, const struct option *o)
{
    return (double *)((char *)row + (o->offset - offsetof(struct values, row)));
}

/* Whether a sweep of it goes over whole numbers. */
static bool is_whole(const struct option *o)
{
    static const char *const names[] = {"--n",       "--m",           "--outer-T", "--outer-batch",
                                        "--inner-T", "--inner-batch", "--budget",  "--query"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], o->name) == 0)
            return true;
    return false;
}

/* The option that --sweep calls `name`. */
static const struct option *find_number(const char *name, size_t length)
{
    for (const struct option *o = options; o->name; o++)
        if (o->kind == OPT_REAL && strlen(o->name) == length + 2 &&
            strncmp(o->name + 2, name, length) == 0)
            return o;
    return NULL;
}

static int unknown_number(const char *text, size_t length)
{
    const char *known[sizeof options / sizeof *options];
    char name[64];
    int n = 0;
    for (const struct option *o = options; o->name; o++)
        if (o->kind == OPT_REAL)
            known[n++] = o->name + 2;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    const char *near = mete_nearest(name, known, n);
    return near
               ? cli_usage("--sweep %s: no number named '%s'; did you mean '%s'?", text, name, near)
               : cli_usage("--sweep %s: no number named '%s'; 'mete bound --help' lists them", text,
                           name);
}

struct sweep {
    const struct option *number; /* NULL: none */
    double from, to;
    bool log;
    int points;
};

/* Reads ":"-separated words after FROM:TO. */
static int read_spacing(struct sweep *s, const char *text, char *rest)
{
    for (char *save = NULL, *word = strtok_r(rest, ":", &save); word;
         word = strtok_r(NULL, ":", &save)) {
        char *end;
        long points = strtol(word, &end, 10);
        if (strcmp(word, "log") == 0 || strcmp(word, "lin") == 0)
            s->log = word[1] == 'o';
        else if (end != word && !*end && points >= 2 && points <= ROWS_MAX)
            s->points = (int)points;
        else
            return cli_usage(
                "--sweep %s: expected log, lin or a number of points (2..%d), got '%s'", text,
                ROWS_MAX, word);
    }
    if (s->log && !(s->from > 0 && s->to > 0))
        return cli_usage("--sweep %s: a log sweep needs two numbers above 0", text);
    return 0;
}

static int read_sweep(struct sweep *s, const char *text)
{
    size_t length = strcspn(text, "=");
    s->number = find_number(text, length);
    if (!s->number)
        return unknown_number(text, length);
    char copy[128], *at = copy, *end;
    if (text[length] != '=' || strlen(text) >= sizeof copy)
        return cli_usage("--sweep %s: expected NAME=FROM:TO[:log|lin][:POINTS]", text);
    strcpy(copy, text + length + 1);
    s->points = SWEEP_POINTS;
    s->from = strtod(at, &end);
    bool good = end != at && *end == ':';
    at = end + good;
    s->to = good ? strtod(at, &end) : 0;
    good = good && end != at && (*end == ':' || !*end) && isfinite(s->from) && isfinite(s->to);
    if (!good)
        return cli_usage("--sweep %s: expected NAME=FROM:TO[:log|lin][:POINTS]", text);
    return read_spacing(s, text, end);
}

static double sweep_value(const struct sweep *s, int i)
{
    double t = (double)i / (s->points - 1);
    double value = s->log ? exp(log(s->from) + t * (log(s->to) - log(s->from)))
                          : s->from + t * (s->to - s->from);
    if (i == 0 || i == s->points - 1)
        value = i ? s->to : s->from;
    return is_whole(s->number) ? round(value) : value;
}

/* One evaluated row; c is left to the step size where only that is given. */
static int evaluate(struct bound_row *row)
{
    if (isnan(row->s.outer.c))
        row->s.outer.c = row->s.outer.lr > 0 ? 0 : 1;
    if (isnan(row->s.inner.c))
        row->s.inner.c = row->s.inner.lr > 0 ? 0 : 1;
    if (isnan(row->budget))
        return mete_bound(&row->s, &row->b);
    int err = mete_bound_best(&row->s, row->budget, row->query + row->task_cost, &row->b);
    row->s.n = row->b.n;
    row->s.m = row->b.m;
    return err;
}

/* All rows of the sweeps; values that rounding made equal to the last are left out. */
static int evaluate_all(const struct bound_row *base, const struct sweep sweeps[SWEEPS],
                        struct bound_row *rows, int *n)
{
    double last[SWEEPS] = {NAN, NAN}, value[SWEEPS];
    for (int i = 0; i < sweeps[0].points; i++) {
        value[0] = sweeps[0].number ? sweep_value(&sweeps[0], i) : 0;
        if (value[0] == last[0])
            continue;
        last[0] = value[0];
        last[1] = NAN;
        for (int j = 0; j < sweeps[1].points; j++) {
            value[1] = sweeps[1].number ? sweep_value(&sweeps[1], j) : 0;
            if (value[1] == last[1])
                continue;
            last[1] = value[1];
            struct bound_row *row = &rows[*n];
            *row = *base;
            for (int k = 0; k < SWEEPS; k++)
                if (sweeps[k].number)
                    row->swept[k] = *number_in(row, sweeps[k].number) = value[k];
            int err = evaluate(row);
            if (err)
                return cli_failed(err);
            ++*n;
        }
    }
    return 0;
}

static int check_request(const struct values *v)
{
    if (!v->method)
        return cli_usage("bound needs --method: maml, fomaml, protonet, reptile or fedavg");
    if (v->sweeps.n > SWEEPS)
        return cli_usage("--sweep may be given once or twice");
    if (!isnan(v->row.budget) && v->row.s.n != 0)
        return cli_usage("give --n or --budget, not both: with a budget, n is computed");
    if (!(v->row.query >= 0))
        return cli_usage("--query must be at least 0, got %g", v->row.query);
    return 0;
}

static int print_rows(struct bound_row *base, struct bound_format *format,
                      const struct text_list *sweep_texts)
{
    struct sweep sweeps[SWEEPS] = {{.points = 1}, {.points = 1}};
    for (int i = 0; i < sweep_texts->n; i++) {
        int err = read_sweep(&sweeps[i], sweep_texts->at[i]);
        if (err)
            return err;
        format->swept[i] = sweeps[i].number->name + 2;
    }
    long total = (long)sweeps[0].points * sweeps[1].points;
    if (total > ROWS_MAX)
        return cli_usage("--sweep: %ld rows are too many; the most is %d", total, ROWS_MAX);
    struct bound_row *rows = calloc((size_t)total, sizeof *rows);
    if (!rows)
        return cli_usage("no memory for %ld rows", total);
    int n = 0, err = evaluate_all(base, sweeps, rows, &n);
    if (!err)
        bound_print(format, rows, n);
    free(rows);
    return err;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {.row = {.s = mete_bound_defaults(), .budget = NAN}};
    struct bound_format format = {0};
    struct text_list words = {0};
    v.row.s.outer.c = v.row.s.inner.c = NAN; /* not given */
    int err = cli_options(self, argc, argv, &v, &words);
    if (!err)
        err = check_request(&v);
    if (err)
        return err;
    err = mete_bound_method(v.method, &v.row.s.estimator);
    if (err)
        return cli_failed(err);
    format.method = v.method;
    format.kind = v.json ? BOUND_JSON : v.csv ? BOUND_CSV : BOUND_TABLE;
    return print_rows(&v.row, &format, &v.sweeps);
}

const struct command command_bound = {
    .name = "bound",
    .summary = "compute the theory's bound for n tasks of m points",
    .about = "Computes how far the risk on new tasks can lie above the meta-training objective, "
             "with probability 1 - delta, from the stability of the method (docs/theory.md).  "
             "Give --n and, for reptile and fedavg, --m; or give --budget to find the best n and "
             "m.",
    .options = options,
    .examples = "mete bound --method maml --n 30000 --outer-L 0.3 --outer-T 500\n"
                "mete bound --method reptile --m 10 --sweep n=10:1e6:log --csv\n"
                "mete bound --method reptile --budget 300000 --inner-T 10 --inner-lr 0.01\n",
    .run = run,
};
