/* cmd_stability.c - mete stability: what the theory speaks of, measured. */
#include "commands.h"
#include "study_options.h"

#include <math.h>
#include <string.h>

struct values {
    struct study_values study; /* first: its options are at the same places */
    const char *method;
    int removals, fresh, rank_timeout;
    double max_loss, delta;
    bool json;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, method, "--method", "METHOD",
                "maml (default), protonet, reptile or fedavg"),
    STUDY_OPTIONS,
    OPTION_COUNT(struct values, removals, "--removals",
                 "tasks left out one at a time, and points of a task (default 10)"),
    OPTION_COUNT(struct values, fresh, "--fresh",
                 "new tasks on which models are compared (default 100)"),
    OPTION_REAL(struct values, max_loss, "--M", "M",
                "every loss that is compared is clipped to M (default 4)"),
    OPTION_REAL(struct values, delta, "--delta", "D",
                "the bounds hold with probability 1 - D (default 0.05)"),
    OPTION_COUNT(struct values, rank_timeout, "--rank-timeout", RANK_TIMEOUT_HELP),
    OPTION_FLAG(struct values, json, "--json", "print the result as one JSON object"),
    {0},
};

static const char *vacuous(const struct mete_bound *b)
{
    return b->vacuous ? ", vacuous" : "";
}

static void print_words(const struct mete_study *o, const struct mete_stability *r)
{
    bool empirical = r->estimator == METE_ESTIMATOR_EMPIRICAL;
    printf("%s on %s: n %d tasks of m %d points,\n"
           "T' %d outer steps and T %d inner steps, losses up to M %g\n",
           o->method ? o->method : "maml", o->bench, r->n, r->m, r->outer_steps, r->inner_steps,
           r->max_loss);
    printf("  a task left out    beta' %.4g at most, %.4g ± %.2g on average\n",
           r->outer_beta.largest, r->outer_beta.mean, r->outer_beta.half);
    printf("                     (%d tasks, one at a time; %d new tasks)\n", r->removals, r->fresh);
    if (r->exceeding > 0)
        printf("                     (with 95 %% confidence at most %.0f %% of the tasks change "
               "more)\n",
               100 * r->exceeding);
    printf("  a point left out   beta  %.4g at most, %.4g ± %.2g on average\n",
           r->inner_beta.largest, r->inner_beta.mean, r->inner_beta.half);
    printf("  outer loop         L' %.4g, gamma' %.4g\n", r->outer_l, r->outer_gamma);
    if (!isnan(r->inner_l))
        printf("  inner loop         L  %.4g, gamma  %.4g\n", r->inner_l, r->inner_gamma);
    printf("  objective          %.4f ± %.4f on the training tasks\n", r->objective.mean,
           r->objective.half);
    printf("  risk               %.4f ± %.4f on new tasks\n", r->risk.mean, r->risk.half);
    printf("  gap                %.4f ± %.4f", r->gap, r->gap_half);
    if (empirical)
        printf(": %.4f between tasks, %.4f within a task", r->gap_outer, r->gap_inner);
    printf("\n  bound              %.4g by Theorem %d with these beta (delta %g%s)\n",
           r->by_beta.total, empirical ? 1 : 2, r->delta, vacuous(&r->by_beta));
    printf("                     %.4g by Theorem 3 with these L and gamma (c = lr T%s)\n",
           r->by_lemma.total, vacuous(&r->by_lemma));
}

static void print_number(const char *name, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.9g", name, value);
    else
        printf(", \"%s\": null", name);
}

static void print_measured(const char *name, const struct mete_measured *m)
{
    printf(", \"%s\": {", name);
    cli_json_real("largest", "%.9g", m->largest);
    print_number("mean", m->mean);
    print_number("half", m->half);
    putchar('}');
}

static void print_json(const struct mete_study *o, const struct mete_stability *r)
{
    putchar('{');
    cli_json_text("bench", o->bench);
    printf(", \"method\": \"%s\", \"labels\": \"%s\", \"seed\": %llu, "
           "\"estimator\": \"%s\", \"n\": %d, \"m\": %d, \"outer_steps\": %d, \"inner_steps\": %d, "
           "\"removals\": %d, \"fresh\": %d",
           o->method ? o->method : "maml", o->labels ? o->labels : "random",
           (unsigned long long)o->seed,
           r->estimator == METE_ESTIMATOR_EMPIRICAL ? "empirical" : "held-out", r->n, r->m,
           r->outer_steps, r->inner_steps, r->removals, r->fresh);
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"max_loss", r->max_loss},
                   {"delta", r->delta},
                   {"exceeding", r->exceeding},
                   {"outer_L", r->outer_l},
                   {"outer_gamma", r->outer_gamma},
                   {"inner_L", r->inner_l},
                   {"inner_gamma", r->inner_gamma},
                   {"gap", r->gap},
                   {"gap_half", r->gap_half},
                   {"gap_outer", r->gap_outer},
                   {"gap_inner", r->gap_inner},
                   {"bound_by_beta", r->by_beta.total},
                   {"bound_by_lemma", r->by_lemma.total}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        print_number(numbers[i].name, numbers[i].value);
    print_measured("outer_beta", &r->outer_beta);
    print_measured("inner_beta", &r->inner_beta);
    print_measured("objective", &r->objective);
    print_measured("risk", &r->risk);
    puts("}");
}

/* "1.2 ±0.3", or "-". */
static void print_term(double value, double half)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.3g ±%.2g", value, half);
    printf("%*s%s", 18 - cli_columns(text), "", text);
}

static bool same_runs(const struct mete_shape *a, const struct mete_shape *b)
{
    return strcmp(a->dataset, b->dataset) == 0 && strcmp(a->method, b->method) == 0 &&
           strcmp(a->labels, b->labels) == 0;
}

static void print_shapes(const struct mete_shape *rows, int n)
{
    for (const struct mete_shape *r = rows; r < rows + n; r++) {
        if (r == rows || !same_runs(r - 1, r)) {
            printf("%s%s, %s labels, %s\n", r == rows ? "" : "\n", r->method, r->labels,
                   r->dataset);
            printf("  %-12s%5s%18s%18s%18s%6s\n", "measure", "runs", "a", "b (/sqrt n)", "c (/m)",
                   "R2");
        }
        printf("  %-12s%5d", r->measure, r->runs);
        print_term(r->a, r->a_half);
        print_term(r->b, r->b_half);
        print_term(r->c, r->c_half);
        printf("%6.2f\n", r->r2);
    }
}

static void print_shapes_json(const struct mete_shape *rows, int n)
{
    for (int i = 0; i < n; i++) {
        const struct mete_shape *r = &rows[i];
        printf(
            "%s{\"dataset\": \"%s\", \"method\": \"%s\", \"labels\": \"%s\", \"measure\": \"%s\", "
            "\"runs\": %d",
            i ? ",\n " : "[", r->dataset, r->method, r->labels, r->measure, r->runs);
        print_number("a", r->a);
        print_number("a_half", r->a_half);
        print_number("b", r->b);
        print_number("b_half", r->b_half);
        print_number("c", r->c);
        print_number("c_half", r->c_half);
        print_number("r2", r->r2);
        putchar('}');
    }
    puts("]");
}

static int run(const struct command *self, int argc, char **argv)
{
    struct mete_study o = mete_study_defaults();
    struct mete_stability r;
    struct values v = {.study = study_defaults(&o),
                       .method = o.method,
                       .removals = o.removals,
                       .fresh = o.fresh,
                       .max_loss = o.max_loss,
                       .delta = o.delta,
                       .rank_timeout = RANK_TIMEOUT};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    study_take(&o, &v.study, words.at[0]);
    o.method = v.method;
    o.removals = v.removals;
    o.fresh = v.fresh;
    o.max_loss = v.max_loss;
    o.delta = v.delta;
    mete_ranks_timeout(v.rank_timeout);
    err = mete_stability(&o, &r);
    if (err)
        return cli_failed(err);
    if (v.json)
        print_json(&o, &r);
    else
        print_words(&o, &r);
    return EXIT_DONE;
}

const struct command command_stability = {
    .name = "stability",
    .summary = "measure the stability and the constants that the bounds assume",
    .words = "BENCH",
    .about = "Measures how much a method's result changes when a task, or a point of a task, is "
             "left out; how large its gradients and curvatures are; and how far its risk on new "
             "tasks lies above its training objective.  Prints what the bounds of the theory give "
             "for these numbers (docs/theory.md).\n"
             "\n"
             "A suite with 'study: stability' measures a whole grid with 'mete run'.",
    .options = options,
    .examples = "mete stability glyphs:5w-1s --method reptile --tasks 50\n"
                "mete stability glyphs:5w-1s@1K --method maml --set inner.lr=0.1 --json\n",
    .run = run,
};

/* ---- fit ---- */

struct fit_values {
    bool json;
};

static const struct option fit_options[] = {
    OPTION_FLAG(struct fit_values, json, "--json", "print the rows as JSON"),
    {0},
};

static int run_fit(const struct command *self, int argc, char **argv)
{
    struct fit_values v = {0};
    struct text_list words = {0};
    struct mete_shape *rows;
    int n, err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    err = mete_shape(words.at[0], &rows, &n);
    if (err)
        return cli_failed(err);
    if (v.json)
        print_shapes_json(rows, n);
    else
        print_shapes(rows, n);
    mete_free(rows);
    return EXIT_DONE;
}

const struct command command_stability_fit = {
    .name = "stability fit",
    .summary = "fit a + b/sqrt(n) + c/m to the runs of a stability suite",
    .words = "DB",
    .about = "Fits the shape of the bound, a + b/sqrt(n) + c/m for n tasks of m points, to what "
             "the runs of a stability suite measured.",
    .options = fit_options,
    .examples = "mete stability fit results.db\n",
    .run = run_fit,
};
