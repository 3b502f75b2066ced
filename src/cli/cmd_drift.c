/* cmd_drift.c - mete drift: Reptile's update beside the gradient it approximates. */
#include "commands.h"
#include "study_options.h"

#include <math.h>
#include <stdlib.h>

struct values {
    struct study_values study; /* first: its options are at the same places */
    const char *lr, *steps;
    bool trained, csv, json;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, lr, "--lr", "A,B,...",
                "inner step sizes (default 0.0001,0.001,0.01,0.1)"),
    OPTION_TEXT(struct values, steps, "--steps", "A,B,...",
                "numbers of inner steps (default 1,2,5,10)"),
    OPTION_FLAG(struct values, trained, "--trained",
                "at the weights that Reptile learns from the tasks, not at the initial ones"),
    STUDY_OPTIONS,
    OPTION_FLAG(struct values, csv, "--csv", "print the rows as CSV"),
    OPTION_FLAG(struct values, json, "--json", "print the rows as JSON"),
    {0},
};

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
    int width;
    size_t offset;
} columns[] = {
#define AT(field) offsetof(struct mete_drift, field)
    {"cosine", "cosine", 8, AT(cosine)},
    {"cosine_half", "±", 8, AT(cosine_half)},
    {"deviation", "deviation", 10, AT(deviation)},
    {"deviation_half", "±", 8, AT(deviation_half)},
    {"raw", NULL, 0, AT(raw)},
    {"summed", "|u/lr-G|", 9, AT(summed)},
    {"bound", "bound", 8, AT(bound)},
    {"left_printed", "rest", 8, AT(left_printed)},
    {"left_second", "rest 2nd", 9, AT(left_second)},
#undef AT
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value_of(const struct mete_drift *row, int column)
{
    return *(const double *)((const char *)row + columns[column].offset);
}

/* Eight numbers beside lr and steps, in 80 columns. */
static void print_table(const struct mete_drift *rows, int n)
{
    printf("%6s%6s", "lr", "steps");
    for (int c = 0; c < COLUMNS; c++)
        if (columns[c].title)
            printf("%*s%s", columns[c].width - cli_columns(columns[c].title), "", columns[c].title);
    putchar('\n');
    for (const struct mete_drift *row = rows; row < rows + n; row++) {
        printf("%6g%6d", row->lr, row->steps);
        for (int c = 0; c < COLUMNS; c++)
            if (columns[c].title)
                printf("%*.*g", columns[c].width, columns[c].width > 8 || c == 0 ? 3 : 2,
                       value_of(row, c));
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

static int measure(const struct mete_study *o, bool trained, const char *lr_text,
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

static int run(const struct command *self, int argc, char **argv)
{
    struct mete_study o = mete_study_defaults();
    struct values v = {
        .study = study_defaults(&o), .lr = "0.0001,0.001,0.01,0.1", .steps = "1,2,5,10"};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    study_take(&o, &v.study, words.at[0]);
    o.fresh = 1; /* none are needed */
    return measure(&o, v.trained, v.lr, v.steps,
                   v.json  ? print_json
                   : v.csv ? print_csv
                           : print_table);
}

const struct command command_drift = {
    .name = "drift",
    .summary = "compare Reptile's update with the gradient that it approximates",
    .words = "BENCH",
    .about =
        "Reptile changes its weights by u = theta(0) - theta(T) after T inner steps.  Appendix A "
        "of the paper argues that u approximates the gradient G of the empirical transfer risk.  "
        "This measures how well, for each inner step size and number of steps (docs/theory.md):\n"
        "\n"
        "  cosine      of the angle between u and G; 1: the same direction\n"
        "  deviation   |u/(lr T) - G| / |G|\n"
        "  |u/lr-G|    divided by |G|; beside it the appendix's bound on it\n"
        "  rest        of u/lr - G after the appendix's expression for it, divided by |G|\n"
        "  rest 2nd    the same after the second-order expression\n",
    .options = options,
    .examples = "mete drift glyphs:5w-5s --tasks 50 --net mlp --device ref64 --probed 10\n",
    .run = run,
};
