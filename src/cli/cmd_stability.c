/* cmd_stability.c - mete stability: what the theory speaks of, measured. */
#include "cli.h"
#include "commands.h"
#include "study_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "usage: mete stability BENCH [--method M] [options]\n"
    "       mete stability fit DB [--json]\n"
    "\n"
    "How much leaving out a task, or a point of a task, changes what a method learns; how large\n"
    "its gradients and curvatures are; how far its risk on new tasks lies above its objective;\n"
    "and what the theory's bounds make of those numbers (docs/theory.md).\n"
    "\n"
    "  --method M      maml (default), protonet, reptile, fedavg\n" STUDY_USAGE
    "  --removals N    tasks left out in turn, and points of a task (10)\n"
    "  --fresh N       new tasks on which models are compared (100)\n"
    "  --M M           every loss that is compared is clipped to M (4)\n"
    "  --delta D       of the bounds (0.05)\n"
    "  --json          the result as one JSON object\n"
    "\n"
    "`mete run SUITE` measures a whole grid where the suite says study: stability, and `mete\n"
    "stability fit DB` fits the bound's shape, a + b/sqrt(n) + c/m, to what it found.\n"
    "\n"
    "examples:\n"
    "  mete stability glyphs:5w-1s --method reptile --tasks 50\n"
    "  mete stability glyphs:5w-1s@1K --method maml --set inner.lr=0.1 --json\n";

static const char *vacuous(const struct mete_bound *b)
{
    return b->vacuous ? ", vacuous" : "";
}

static void print_words(const struct mete_study *o, const struct mete_stability *r)
{
    bool empirical = r->estimator == METE_ESTIMATOR_EMPIRICAL;
    printf("%s on %s: n %d tasks, m %d points each, T' %d outer and T %d inner steps, losses up to "
           "M %g\n",
           o->method ? o->method : "maml", o->bench, r->n, r->m, r->outer_steps, r->inner_steps,
           r->max_loss);
    printf("  a task left out    beta' %.4g at most, %.4g +- %.2g on average (%d tasks in turn, %d "
           "new tasks)\n",
           r->outer_beta.largest, r->outer_beta.mean, r->outer_beta.half, r->removals, r->fresh);
    if (r->exceeding > 0)
        printf(
            "                     (95 %% sure: at most %.0f %% of the tasks move more than that)\n",
            100 * r->exceeding);
    printf("  a point left out   beta  %.4g at most, %.4g +- %.2g on average\n",
           r->inner_beta.largest, r->inner_beta.mean, r->inner_beta.half);
    printf("  outer loop         L' %.4g, gamma' %.4g\n", r->outer_l, r->outer_gamma);
    if (!isnan(r->inner_l))
        printf("  inner loop         L  %.4g, gamma  %.4g\n", r->inner_l, r->inner_gamma);
    printf("  objective          %.4f +- %.4f on the training tasks\n", r->objective.mean,
           r->objective.half);
    printf("  risk               %.4f +- %.4f on new tasks\n", r->risk.mean, r->risk.half);
    printf("  gap                %.4f +- %.4f", r->gap, r->gap_half);
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
    printf(", \"%s\": {\"largest\": %.9g", name, m->largest);
    print_number("mean", m->mean);
    print_number("half", m->half);
    putchar('}');
}

static void print_json(const struct mete_study *o, const struct mete_stability *r)
{
    printf("{\"bench\": \"%s\", \"method\": \"%s\", \"labels\": \"%s\", \"seed\": %llu, "
           "\"estimator\": \"%s\", \"n\": %d, \"m\": %d, \"outer_steps\": %d, \"inner_steps\": %d, "
           "\"removals\": %d, \"fresh\": %d",
           o->bench, o->method ? o->method : "maml", o->labels ? o->labels : "random",
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

/* "1.2 +- 0.3", or "-". */
static void print_term(double value, double half)
{
    char text[32] = "-";
    if (!isnan(value))
        snprintf(text, sizeof text, "%.3g +- %.2g", value, half);
    printf(" %18s", text);
}

static void print_shapes(const struct mete_shape *rows, int n)
{
    printf("%-10s %-11s %-12s %5s %18s %18s %18s %6s  data set\n", "method", "labels", "measure",
           "runs", "a", "b (/sqrt n)", "c (/m)", "R2");
    for (const struct mete_shape *r = rows; r < rows + n; r++) {
        printf("%-10s %-11s %-12s %5d", r->method, r->labels, r->measure, r->runs);
        print_term(r->a, r->a_half);
        print_term(r->b, r->b_half);
        print_term(r->c, r->c_half);
        printf(" %6.2f  %s\n", r->r2, r->dataset);
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

static int cmd_fit(int argc, char **argv)
{
    struct text_list words = {0};
    struct mete_shape *rows;
    bool json = false;
    int n;
    const struct option_row options[] = {{"--json", OPT_FLAG, &json}, {0}};
    int err = cli_options(argc, argv, usage, options, &words);
    if (err)
        return err;
    if (words.n != 1)
        return cli_usage("stability fit takes one database, such as results.db");
    err = mete_shape(words.at[0], &rows, &n);
    if (err)
        return cli_failed(err);
    if (json)
        print_shapes_json(rows, n);
    else
        print_shapes(rows, n);
    mete_free(rows);
    return EXIT_DONE;
}

int cmd_stability(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "fit") == 0)
        return cmd_fit(argc - 1, argv + 1);
    struct mete_study o = mete_study_defaults();
    struct mete_stability r;
    bool json = false;
    const struct option_row more[] = {
        {"--removals", OPT_INT, &o.removals}, {"--fresh", OPT_INT, &o.fresh},
        {"--M", OPT_REAL, &o.max_loss},       {"--delta", OPT_REAL, &o.delta},
        {"--json", OPT_FLAG, &json},          {0},
    };
    int err = study_options(argc, argv, usage, more, &o);
    if (err)
        return err;
    err = mete_stability(&o, &r);
    if (err)
        return cli_failed(err);
    if (json)
        print_json(&o, &r);
    else
        print_words(&o, &r);
    return EXIT_DONE;
}
