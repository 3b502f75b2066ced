/* cmd_drift.c - mete drift: Reptile's update beside the gradient it approximates. */
#include "cli.h"
#include "commands.h"
#include "study_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: mete drift BENCH [options]\n"
    "\n"
    "Reptile moves its weights by u = theta(0) - theta(T), where T inner steps lead.  The paper's\n"
    "appendix A argues that this approximates the gradient G of the empirical transfer risk.  "
    "Here\n"
    "is how well, for inner step sizes and numbers of steps (docs/theory.md):\n"
    "\n"
    "  cosine      between u and G; 1: the same direction\n"
    "  deviation   |u/(lr T) - G| / |G|\n"
    "  |u/lr-G|    relative to |G|, and beside it the appendix's bound on it\n"
    "  left        of u/lr - G after the appendix's expression for it, and after the second-order\n"
    "              one, relative to |G|\n"
    "\n"
    "  --lr A,B,...    inner step sizes (0.0001,0.001,0.01,0.1)\n"
    "  --steps A,B,... numbers of inner steps (1,2,5,10)\n"
    "  --trained       at the weights that Reptile learns from the tasks, not the initial "
    "ones\n" STUDY_USAGE "  --csv, --json   rows for a program instead of a table\n"
    "\n"
    "example:\n"
    "  mete drift glyphs:5w-5s --tasks 50 --net mlp --device ref64 --probed 10\n";

enum { LIST_MAX = 64 };

/* Reads "a,b,c" into out; how many, or 0 after saying why. */
static int read_list(const char *option, const char *text, double out[LIST_MAX])
{
    int n = 0;
    for (const char *at = text; n < LIST_MAX; at++) {
        char *end;
        out[n++] = strtod(at, &end);
        if (end == at || (*end != ',' && *end)) {
            cli_usage("%s: expected numbers with commas between them, got '%s'", option, text);
            return 0;
        }
        if (!*end)
            return n;
        at = end;
    }
    cli_usage("%s: more than %d numbers", option, LIST_MAX);
    return 0;
}

static const struct column {
    const char *name, *title;
    size_t offset;
} columns[] = {
#define AT(field) offsetof(struct mete_drift, field)
    {"cosine", "cosine", AT(cosine)},
    {"cosine_half", "+-", AT(cosine_half)},
    {"deviation", "deviation", AT(deviation)},
    {"deviation_half", "+-", AT(deviation_half)},
    {"raw", NULL, AT(raw)},
    {"summed", "|u/lr-G|", AT(summed)},
    {"bound", "bound", AT(bound)},
    {"left_printed", "left", AT(left_printed)},
    {"left_second", "left 2nd", AT(left_second)},
#undef AT
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value_of(const struct mete_drift *row, int column)
{
    return *(const double *)((const char *)row + columns[column].offset);
}

static void print_table(const struct mete_drift *rows, int n)
{
    printf("%10s %6s", "lr", "steps");
    for (int c = 0; c < COLUMNS; c++)
        if (columns[c].title)
            printf("%11s", columns[c].title);
    putchar('\n');
    for (const struct mete_drift *row = rows; row < rows + n; row++) {
        printf("%10g %6d", row->lr, row->steps);
        for (int c = 0; c < COLUMNS; c++)
            if (columns[c].title)
                printf(" %10.4g", value_of(row, c));
        putchar('\n');
    }
}

static void print_csv(const struct mete_drift *rows, int n)
{
    fputs("lr,steps,tasks", stdout);
    for (int c = 0; c < COLUMNS; c++)
        printf(",%s", columns[c].name);
    for (const struct mete_drift *row = rows; row < rows + n; row++) {
        printf("\n%.9g,%d,%d", row->lr, row->steps, row->tasks);
        for (int c = 0; c < COLUMNS; c++)
            if (isfinite(value_of(row, c)))
                printf(",%.9g", value_of(row, c));
            else
                putchar(',');
    }
    putchar('\n');
}

static void print_json(const struct mete_drift *rows, int n)
{
    for (int i = 0; i < n; i++) {
        printf("%s{\"lr\": %.9g, \"steps\": %d, \"tasks\": %d", i ? ",\n " : "[", rows[i].lr,
               rows[i].steps, rows[i].tasks);
        for (int c = 0; c < COLUMNS; c++)
            if (isfinite(value_of(&rows[i], c)))
                printf(", \"%s\": %.9g", columns[c].name, value_of(&rows[i], c));
            else
                printf(", \"%s\": null", columns[c].name);
        putchar('}');
    }
    puts("]");
}

static int run(const struct mete_study *o, bool trained, const char *lr_text,
               const char *steps_text, void (*print)(const struct mete_drift *, int))
{
    double lrs[LIST_MAX], numbers[LIST_MAX];
    int steps[LIST_MAX], n_lrs = read_list("--lr", lr_text, lrs);
    int n_steps = n_lrs ? read_list("--steps", steps_text, numbers) : 0;
    if (!n_steps)
        return EXIT_USAGE;
    for (int i = 0; i < n_steps; i++) {
        steps[i] = (int)fmin(fmax(numbers[i], -1), 1e6);
        if (steps[i] != numbers[i])
            return cli_usage("--steps: expected whole numbers, got %g", numbers[i]);
    }
    struct mete_drift *rows = calloc((size_t)(n_lrs * n_steps), sizeof *rows);
    if (!rows)
        return cli_usage("no memory for %d rows", n_lrs * n_steps);
    int err = mete_drift(o, trained, lrs, n_lrs, steps, n_steps, rows);
    if (!err)
        print(rows, n_lrs * n_steps);
    free(rows);
    return err ? cli_failed(err) : EXIT_DONE;
}

int cmd_drift(int argc, char **argv)
{
    struct mete_study o = mete_study_defaults();
    const char *lr = "0.0001,0.001,0.01,0.1", *steps = "1,2,5,10";
    bool trained = false, csv = false, json = false;
    const struct option_row more[] = {
        {"--lr", OPT_TEXT, &lr},   {"--steps", OPT_TEXT, &steps}, {"--trained", OPT_FLAG, &trained},
        {"--csv", OPT_FLAG, &csv}, {"--json", OPT_FLAG, &json},   {0},
    };
    o.fresh = 1; /* none are needed */
    int err = study_options(argc, argv, usage, more, &o);
    if (err)
        return err;
    return run(&o, trained, lr, steps, json ? print_json : csv ? print_csv : print_table);
}
