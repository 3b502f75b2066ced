/* cmd_bound.c - mete bound: what the theory promises for n tasks of m points.
 *
 * Every number of the setting is an option, and every option that holds a number
 * can be swept; one table names them all.
 */
#include "cli.h"
#include "commands.h"
#include "bound_print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: mete bound --method METHOD --n N [--m M] [options]\n"
    "       mete bound --method METHOD --budget B [--query Q] [options]\n"
    "\n"
    "How far the risk on new tasks can lie above the meta-training objective, with\n"
    "probability 1 - delta, by the stability of the method (docs/theory.md).\n"
    "\n"
    "  --method METHOD     maml, fomaml, protonet: held-out estimator; reptile, fedavg: empirical\n"
    "  --n N               training tasks\n"
    "  --m M               points per task (with --budget: at least so many)\n"
    "  --delta D           the bound may fail with this probability (0.05)\n"
    "  --M M               the loss lies in [0, M] (1)\n"
    "  --loss-seen X       the largest loss met; refused if above M\n"
    "  --rescale           restate the lemma for a loss in [0, M] instead of [0, 1]\n"
    "  --tight             use the best gamma at or above the one given (matters when gamma c is\n"
    "                      near 0, where the bound as printed grows without limit)\n"
    "\n"
    "The outer loop, over tasks; each option also as --inner-..., over the points of a task:\n"
    "  --outer-L X         Lipschitz constant: the largest gradient norm (1)\n"
    "  --outer-gamma X     smoothness: the largest curvature (1)\n"
    "  --outer-T N         steps (1)\n"
    "  --outer-c X         step sizes are at most c/t (1, or lr times T)\n"
    "  --outer-lr X        step sizes are constant, so that c = lr T\n"
    "  --outer-batch N     tasks or points that a step sees (1)\n"
    "  --outer-adam        the optimiser is Adam, which the theory does not cover\n"
    "  --outer-beta X      the stability itself, where it is known or measured\n"
    "\n"
    "  --budget B          the n and m that minimise the bound when n tasks of m labels cost\n"
    "                      n (m + query + task-cost) labels\n"
    "  --query Q           labels a task needs besides the m of its support (0)\n"
    "  --task-cost X       what a task costs besides its labels, in labels (0)\n"
    "  --sweep NAME=FROM:TO[:log|lin][:POINTS]\n"
    "                      a row for each value of any option above; twice for a grid\n"
    "  --csv, --json       rows for a program instead of a table\n"
    "\n"
    "examples:\n"
    "  mete bound --method maml --n 30000 --outer-L 0.3 --outer-T 500\n"
    "  mete bound --method reptile --m 10 --sweep n=10:1e6:log --csv\n"
    "  mete bound --method reptile --budget 300000 --inner-T 10 --inner-lr 0.01\n";

enum { SWEEPS = 2, SWEEP_POINTS = 21, ROWS_MAX = 100000 };

/* The numbers of a request: option "--NAME", and what --sweep calls NAME. */
static const struct number {
    const char *option;
    size_t offset;
    bool whole; /* a sweep rounds it */
} numbers[] = {
#define AT(field) offsetof(struct bound_row, field)
    {"--n", AT(s.n), true},
    {"--m", AT(s.m), true},
    {"--delta", AT(s.delta), false},
    {"--M", AT(s.max_loss), false},
    {"--loss-seen", AT(s.loss_seen), false},
    {"--outer-L", AT(s.outer.lipschitz), false},
    {"--outer-gamma", AT(s.outer.smooth), false},
    {"--outer-c", AT(s.outer.c), false},
    {"--outer-T", AT(s.outer.steps), true},
    {"--outer-lr", AT(s.outer.lr), false},
    {"--outer-batch", AT(s.outer.batch), true},
    {"--outer-beta", AT(s.outer.beta), false},
    {"--inner-L", AT(s.inner.lipschitz), false},
    {"--inner-gamma", AT(s.inner.smooth), false},
    {"--inner-c", AT(s.inner.c), false},
    {"--inner-T", AT(s.inner.steps), true},
    {"--inner-lr", AT(s.inner.lr), false},
    {"--inner-batch", AT(s.inner.batch), true},
    {"--inner-beta", AT(s.inner.beta), false},
    {"--budget", AT(budget), true},
    {"--query", AT(query), true},
    {"--task-cost", AT(task_cost), false},
#undef AT
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double *number_in(struct bound_row *row, const struct number *n)
{
    return (double *)((char *)row + n->offset);
}

struct sweep {
    const struct number *number; /* NULL: none */
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
    for (int i = 0; i < NUMBERS && !s->number; i++)
        if (strlen(numbers[i].option) == length + 2 &&
            strncmp(numbers[i].option + 2, text, length) == 0)
            s->number = &numbers[i];
    if (!s->number)
        return cli_usage("--sweep %s: no number named '%.*s'; --help lists them", text, (int)length,
                         text);
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
    return s->number->whole ? round(value) : value;
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

static int check_request(const struct bound_row *base, const struct text_list *words,
                         const struct text_list *sweep_texts, const char *method)
{
    if (words->n)
        return cli_usage("bound takes no argument '%s'; --help shows its options", words->at[0]);
    if (!method)
        return cli_usage("bound needs --method: maml, fomaml, protonet, reptile or fedavg");
    if (sweep_texts->n > SWEEPS)
        return cli_usage("--sweep may be given once or twice");
    if (!isnan(base->budget) && base->s.n != 0)
        return cli_usage("--n and --budget exclude each other: a budget chooses n");
    if (!(base->query >= 0))
        return cli_usage("--query must be at least 0, got %g", base->query);
    return 0;
}

static int run(struct bound_row *base, struct bound_format *format,
               const struct text_list *sweep_texts)
{
    struct sweep sweeps[SWEEPS] = {{.points = 1}, {.points = 1}};
    for (int i = 0; i < sweep_texts->n; i++) {
        int err = read_sweep(&sweeps[i], sweep_texts->at[i]);
        if (err)
            return err;
        format->swept[i] = sweeps[i].number->option + 2;
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

int cmd_bound(int argc, char **argv)
{
    struct bound_row base = {.s = mete_bound_defaults(), .budget = NAN};
    struct bound_format format = {0};
    struct text_list words = {0}, sweep_texts = {0};
    bool csv = false, json = false;
    base.s.outer.c = base.s.inner.c = NAN; /* not given */
    struct option_row options[NUMBERS + 9] = {
        {"--method", OPT_TEXT, &format.method},
        {"--rescale", OPT_FLAG, &base.s.rescale},
        {"--tight", OPT_FLAG, &base.s.tight},
        {"--outer-adam", OPT_FLAG, &base.s.outer.adam},
        {"--inner-adam", OPT_FLAG, &base.s.inner.adam},
        {"--sweep", OPT_LIST, &sweep_texts},
        {"--csv", OPT_FLAG, &csv},
        {"--json", OPT_FLAG, &json},
    };
    for (int i = 0; i < NUMBERS; i++)
        options[8 + i] =
            (struct option_row){numbers[i].option, OPT_REAL, number_in(&base, &numbers[i])};
    int err = cli_options(argc, argv, usage, options, &words);
    if (!err)
        err = check_request(&base, &words, &sweep_texts, format.method);
    if (err)
        return err;
    err = mete_bound_method(format.method, &base.s.estimator);
    if (err)
        return cli_failed(err);
    format.kind = json ? BOUND_JSON : csv ? BOUND_CSV : BOUND_TABLE;
    return run(&base, &format, &sweep_texts);
}
