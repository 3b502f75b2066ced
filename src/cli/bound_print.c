/* bound_print.c - the rows of `mete bound` as a table, CSV or JSON.
 *
 * The columns are one table here, whatever the format.  A number that the bound
 * does not have is "-" in a table, an empty cell in CSV and null in JSON; JSON has
 * no infinity either, and writes null.
 */
#include "bound_print.h"
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct column {
    const char *name;  /* in CSV and JSON */
    const char *title; /* in the table; NULL: left out there */
    size_t offset;     /* of a double in struct bound_row */
};

#define AT(field) offsetof(struct bound_row, field)
static const struct column fixed[] = {
    {"n", "n", AT(b.n)},
    {"m", "m", AT(b.m)},
    {"delta", NULL, AT(s.delta)},
    {"M", NULL, AT(s.max_loss)},
    {"outer_C", NULL, AT(b.outer_c)},
    {"outer_beta", "beta'", AT(b.outer_beta)},
    {"outer_bound", "B'", AT(b.outer)},
    {"inner_C", NULL, AT(b.inner_c)},
    {"inner_beta", "beta", AT(b.inner_beta)},
    {"inner_bound", "B", AT(b.inner)},
    {"bound", "bound", AT(b.total)},
};
enum { FIXED = sizeof fixed / sizeof *fixed, COLUMNS_MAX = FIXED + 2, NOTE_SIZE = 256 };

/* The swept numbers that are not among the fixed columns, then those. */
static int choose_columns(const struct bound_format *f, struct column out[COLUMNS_MAX])
{
    int n = 0;
    for (int i = 0; i < 2; i++)
        if (f->swept[i])
            out[n++] = (struct column){f->swept[i], f->swept[i], AT(swept[i])};
    for (int i = 0; i < FIXED; i++) {
        bool swept = false;
        for (int j = 0; j < 2; j++)
            swept = swept || (f->swept[j] && strcmp(f->swept[j], fixed[i].name) == 0);
        bool wanted = f->kind != BOUND_TABLE || fixed[i].title;
        if (!swept && wanted)
            out[n++] = fixed[i];
    }
    return n;
}

static double value_of(const struct bound_row *row, const struct column *c)
{
    double value = *(const double *)((const char *)row + c->offset);
    return c->offset == AT(b.m) && value == 0 ? NAN : value; /* m was not needed */
}

/* The ids of the assumptions a row breaks. */
static void print_broken(const struct mete_bound_setting *s, const char *quote, const char *between)
{
    char text[NOTE_SIZE];
    const char *id;
    bool broken;
    int printed = 0;
    for (int i = 0; mete_bound_note(s, i, &id, &broken, text, sizeof text); i++)
        if (broken)
            printf("%s%s%s%s", printed++ ? between : "", quote, id, quote);
}

static void print_csv(const struct bound_format *f, const struct bound_row *rows, int n)
{
    struct column columns[COLUMNS_MAX];
    int count = choose_columns(f, columns);
    for (int c = 0; c < count; c++)
        printf("%s,", columns[c].name);
    puts("vacuous,broken");
    for (const struct bound_row *row = rows; row < rows + n; row++) {
        for (int c = 0; c < count; c++) {
            double value = value_of(row, &columns[c]);
            if (!isnan(value))
                printf("%.17g", value);
            putchar(',');
        }
        printf("%s,", row->b.vacuous ? "yes" : "no");
        print_broken(&row->s, "", " ");
        putchar('\n');
    }
}

static void print_json_number(const char *name, double value)
{
    if (isfinite(value))
        printf("\"%s\": %.17g, ", name, value);
    else
        printf("\"%s\": null, ", name);
}

static void print_json(const struct bound_format *f, const struct bound_row *rows, int n)
{
    struct column columns[COLUMNS_MAX];
    int count = choose_columns(f, columns);
    bool empirical = n && rows[0].s.estimator == METE_ESTIMATOR_EMPIRICAL;
    printf("{\"method\": \"%s\", \"estimator\": \"%s\",\n \"rows\": [", f->method,
           empirical ? "empirical" : "held-out");
    for (int i = 0; i < n; i++) {
        fputs(i ? ",\n  {" : "\n  {", stdout);
        for (int c = 0; c < count; c++)
            print_json_number(columns[c].name, value_of(&rows[i], &columns[c]));
        printf("\"vacuous\": %s, \"broken\": [", rows[i].b.vacuous ? "true" : "false");
        print_broken(&rows[i].s, "\"", ", ");
        fputs("]}", stdout);
    }
    fputs("],\n \"notes\": [", stdout);
    char text[NOTE_SIZE];
    const char *id;
    bool broken;
    for (int i = 0; n && mete_bound_note(&rows[n - 1].s, i, &id, &broken, text, sizeof text); i++)
        printf("%s\n  {\"id\": \"%s\", \"broken\": %s, \"text\": \"%s\"}", i ? "," : "", id,
               broken ? "true" : "false", text);
    puts("]}");
}

static void print_setting(const struct bound_format *f, const struct bound_row *row)
{
    const struct mete_bound_setting *s = &row->s;
    bool empirical = s->estimator == METE_ESTIMATOR_EMPIRICAL;
    printf("%s minimises the %s estimator of the transfer risk; delta %g, M %g\n", f->method,
           empirical ? "empirical" : "held-out", s->delta, s->max_loss);
    const struct mete_sgm *loops[] = {&s->outer, &s->inner};
    for (int i = 0; i < (empirical ? 2 : 1); i++) {
        const struct mete_sgm *a = loops[i];
        double c = a->c == 0 ? a->lr * a->steps : a->c;
        printf("%s loop: ", i ? "inner" : "outer");
        if (isnan(a->beta))
            printf("L %g, gamma %g, c %g, T %g\n", a->lipschitz, a->smooth, c, a->steps);
        else
            printf("stability %g, as given\n", a->beta);
    }
    putchar('\n');
}

/* Says of the last row, which stands for all, which assumptions it meets. */
static void print_notes(const struct bound_row *row)
{
    char text[NOTE_SIZE], line[NOTE_SIZE + 64];
    const char *id;
    bool broken;
    int width = cli_width();
    putchar('\n');
    for (int i = 0; mete_bound_note(&row->s, i, &id, &broken, text, sizeof text); i++) {
        snprintf(line, sizeof line, "%s %s: %s", broken ? "broken assumption" : "note", id, text);
        cli_fill(stdout, line, 0, 2, width ? width : 10000);
    }
}

/* Leaves out the columns that no row has a number in; how many are left. */
static int drop_empty(struct column *columns, int count, const struct bound_row *rows, int n)
{
    int left = 0;
    for (int c = 0; c < count; c++) {
        bool some = false;
        for (int i = 0; i < n; i++)
            some = some || !isnan(value_of(&rows[i], &columns[c]));
        if (some)
            columns[left++] = columns[c];
    }
    return left;
}

/* At most 80 columns wide: as many digits as there is room for. */
static void print_table(const struct bound_format *f, const struct bound_row *rows, int n)
{
    struct column columns[COLUMNS_MAX];
    int count = drop_empty(columns, choose_columns(f, columns), rows, n), vacuous = 0;
    int width = count > 6 ? (TEXT_WIDTH - 2) / count : 12;
    print_setting(f, &rows[0]);
    for (int c = 0; c < count; c++)
        printf("%*s", width, columns[c].title);
    putchar('\n');
    for (const struct bound_row *row = rows; row < rows + n; row++) {
        for (int c = 0; c < count; c++) {
            double value = value_of(row, &columns[c]);
            if (isnan(value))
                printf("%*s", width, "-");
            else /* n and m in full */
                printf("%*.*g", width, floor(value) == value ? 12 : width - 6, value);
        }
        puts(row->b.vacuous ? " *" : "");
        vacuous += row->b.vacuous;
    }
    print_notes(&rows[n - 1]);
    if (vacuous)
        puts("* vacuous: above M, so any method on any data satisfies it");
}

void bound_print(const struct bound_format *f, const struct bound_row *rows, int n)
{
    if (f->kind == BOUND_JSON)
        print_json(f, rows, n);
    else if (f->kind == BOUND_CSV)
        print_csv(f, rows, n);
    else
        print_table(f, rows, n);
}
