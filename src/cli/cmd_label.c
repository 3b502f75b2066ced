/* cmd_label.c - mete label ...: what to ask people, what they answered, and what it cost. */
#include "commands.h"
#include "mete_personal.h"

#include <string.h>

/* ---- next ---- */

struct next_values {
    const char *user, *labels, *format, *out, *device;
    double left;
    int n, seed;
    struct text_list set;
};

static const struct option next_options[] = {
    OPTION_TEXT(struct next_values, user, "--user", "NAME",
                "whom to ask; all: everybody (data with users need it)"),
    OPTION_COUNT(struct next_values, n, "--n", "questions for each person, at most (default 5)"),
    OPTION_REAL(struct next_values, left, "--labels-left", "N",
                "questions for all together, shared out by what they are expected to bring "
                "(default: what the budget leaves)"),
    OPTION_TEXT(struct next_values, labels, "--labels", "STRATEGY",
                "who chooses: kmeans (default), kcenter, random; with a model also active, "
                "entropy, margin and badge"),
    OPTION_CHOICE(struct next_values, format, "--format", "csv|label-studio",
                  "of the file (default csv)"),
    OPTION_TEXT(struct next_values, out, "-o", "FILE", "where the questions go"),
    OPTION_COUNT(struct next_values, seed, "--seed", "random seed (default 0)"),
    OPTION_LIST(struct next_values, set, "--set", "KEY=VALUE", "a setting of the model"),
    OPTION_TEXT(struct next_values, device, "--device", "NAME", "of the model (default cpu)"),
    {0},
};

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_questions(const struct next_values *v, const struct mete_questions *q)
{
    if (q->questions == 0)
        printf("nothing is left to ask; %s has no questions\n", v->out);
    else
        printf("%lld question%s to %d %s, chosen by %s, in %s\n", (long long)q->questions,
               plural(q->questions), q->people, q->people == 1 ? "person" : "people", q->strategy,
               v->out);
}

static int run_next(const struct command *self, int argc, char **argv)
{
    enum { NOT_SAID = -1 };
    struct next_values v = {.left = NOT_SAID, .n = NOT_SAID};
    struct text_list words = {0};
    struct mete_questions result;
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (v.n == 0)
        return cli_usage("--n: expected 1 question or more, got 0");
    if (v.left != NOT_SAID && !(v.left >= 1))
        return cli_usage("--labels-left: expected a number of labels of 1 or more, got %g", v.left);
    bool model = words.n == 2;
    struct mete_questions_options o = {.size = sizeof o,
                                       .model = model ? words.at[0] : NULL,
                                       .data = words.at[model],
                                       .user = v.user,
                                       .labels = v.labels,
                                       .format = v.format,
                                       .out = v.out,
                                       .n = v.n == NOT_SAID ? 0 : v.n,
                                       .labels_left = v.left == NOT_SAID ? 0 : v.left,
                                       .seed = (uint64_t)v.seed,
                                       .device = v.device,
                                       .set = v.set.at};
    err = mete_questions(&o, &result);
    if (err)
        return cli_failed(err);
    print_questions(&v, &result);
    return EXIT_DONE;
}

const struct command command_label_next = {
    .name = "label next",
    .summary = "choose the items that people are asked to label next",
    .words = "[MODEL] DATA",
    .about = "Writes a file of questions, with an empty column for the answers.  MODEL is a file "
             "or a run's folder; it is adapted to what each person has answered already.  Without "
             "a model, items that are unlike each other are asked about.",
    .options = next_options,
    .examples = "mete label next data/activity --user all --n 6 -o ask.csv\n"
                "mete label next runs/activity data/activity --user p007 -o ask.csv\n"
                "mete label next best.safetensors data/photos --format label-studio -o ask.json\n",
    .run = run_next,
};

/* ---- import ---- */

struct import_values {
    const char *by;
    double cost;
    bool classes;
};

static const struct option import_options[] = {
    OPTION_TEXT(struct import_values, by, "--by", "NAME",
                "who answered, where the file does not say it (default $USER)"),
    OPTION_REAL(struct import_values, cost, "--cost", "LABELS", "what an answer costs (default 1)"),
    OPTION_FLAG(struct import_values, classes, "--new-classes",
                "add classes that the data do not have, instead of refusing them"),
    {0},
};

static void print_answers(const struct mete_answers *a)
{
    printf("%lld label%s added", (long long)a->labels, plural(a->labels));
    if (a->unknown)
        printf(", %lld not known", (long long)a->unknown);
    if (a->same)
        printf(", %lld known before", (long long)a->same);
    if (a->blank)
        printf(", %lld not answered", (long long)a->blank);
    printf("; charged %g, spent %g", a->charged, a->spent);
    if (a->budget > 0)
        printf(" of %g", a->budget);
    putchar('\n');
}

static int run_import(const struct command *self, int argc, char **argv)
{
    struct import_values v = {.cost = 1};
    struct text_list words = {0};
    struct mete_answers result;
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (!(v.cost >= 0))
        return cli_usage("--cost: expected a number of labels of 0 or more, got %g", v.cost);
    struct mete_answers_options o = {.size = sizeof o,
                                     .data = words.at[0],
                                     .path = words.at[1],
                                     .by = v.by,
                                     .cost = v.cost > 0 ? v.cost : -1,
                                     .new_classes = v.classes};
    err = mete_answers_import(&o, &result);
    if (err)
        return cli_failed(err);
    print_answers(&result);
    return EXIT_DONE;
}

const struct command command_label_import = {
    .name = "label import",
    .summary = "take answers from a file, and charge them",
    .words = "DATA FILE",
    .about = "FILE is the CSV that 'mete label next' wrote, with its column label filled in, or "
             "the JSON that Label Studio exports (a name that ends in .json).  A blank label is a "
             "question that waits for its answer; ? says that the person does not know.  A column "
             "who names the person of each row.\n"
             "All of the file is taken, or nothing: an unknown class, another answer than the one "
             "that stands, or an item of somebody else is refused with its line and column.  The "
             "same file again changes nothing and costs nothing.",
    .options = import_options,
    .examples = "mete label import data/activity ask.csv --by p007\n"
                "mete label import data/photos project-1.json --cost 0.5\n",
    .run = run_import,
};

/* ---- status ---- */

struct status_values {
    const char *budget, *by;
    bool json;
};

static const struct option status_options[] = {
    OPTION_TEXT(struct status_values, budget, "--budget", "LABELS",
                "first set the most that answers may cost in all; none: no limit"),
    OPTION_TEXT(struct status_values, by, "--by", "NAME", "who sets it (default $USER)"),
    OPTION_FLAG(struct status_values, json, "--json", "print it as one JSON object"),
    {0},
};

enum { NAME_COLUMN = 20 };

static void print_person(void *user, const struct mete_person *p)
{
    bool *any = user;
    if (!*any)
        printf("%-*s %9s %9s %9s %9s %9s\n", NAME_COLUMN, "person", "imported", "answered",
               "unknown", "open", "spent");
    *any = true;
    printf("%s%*s %9lld %9lld %9lld %9lld %9g\n", p->name,
           NAME_COLUMN > cli_columns(p->name) ? NAME_COLUMN - cli_columns(p->name) : 0, "",
           (long long)p->imported, (long long)p->answered, (long long)p->unknown,
           (long long)p->open, p->spent);
}

static void print_person_json(void *user, const struct mete_person *p)
{
    bool *any = user;
    printf("%s\n  {", *any ? "," : "\"each\": [");
    *any = true;
    cli_json_text("name", p->name);
    printf(
        ", \"items\": %lld, \"imported\": %lld, \"answered\": %lld, \"unknown\": %lld, \"open\": "
        "%lld, ",
        (long long)p->items, (long long)p->imported, (long long)p->answered, (long long)p->unknown,
        (long long)p->open);
    cli_json_real("spent", "%.10g", p->spent);
    printf("}");
}

static void print_status(const struct mete_answers_status *s)
{
    printf("items     %lld: %lld imported with a label, %lld answered, %lld not known, %lld open\n",
           (long long)s->items, (long long)s->imported, (long long)s->answered,
           (long long)s->unknown, (long long)s->open);
    if (s->people)
        printf("people    %d, of whom %d have answered\n", s->people, s->asked);
    if (s->second)
        printf("second    %lld answers to what had a label, of which %lld agree\n",
               (long long)s->second, (long long)s->agreed);
    if (s->undone)
        printf("undone    %lld answers\n", (long long)s->undone);
    printf("spent     %g", s->spent);
    if (s->budget > 0)
        printf(" of %g labels; %g left", s->budget,
               s->budget > s->spent ? s->budget - s->spent : 0);
    else
        printf(" label%s; no budget is set", s->spent == 1 ? "" : "s");
    putchar('\n');
}

static void print_status_json(const struct mete_answers_status *s)
{
    printf(
        "\"items\": %lld, \"imported\": %lld, \"answered\": %lld, \"unknown\": %lld, \"second\": "
        "%lld, \"agreed\": %lld, \"undone\": %lld, \"open\": %lld, \"people\": %d, \"asked\": "
        "%d, ",
        (long long)s->items, (long long)s->imported, (long long)s->answered, (long long)s->unknown,
        (long long)s->second, (long long)s->agreed, (long long)s->undone, (long long)s->open,
        s->people, s->asked);
    cli_json_real("spent", "%.10g", s->spent);
    printf(", ");
    cli_json_real("budget", "%.10g", s->budget);
}

/* "none" is 0; a number otherwise. */
static int read_budget(const char *text, double *out)
{
    char rest;
    *out = 0;
    if (strcmp(text, "none") == 0)
        return EXIT_DONE;
    if (sscanf(text, "%lf%c", out, &rest) == 1 && *out > 0)
        return EXIT_DONE;
    return cli_usage("--budget: expected a number of labels, or none, got '%s'", text);
}

static int run_status(const struct command *self, int argc, char **argv)
{
    struct status_values v = {0};
    struct text_list words = {0};
    struct mete_answers_status s;
    double budget = 0;
    bool any = false;
    int err = cli_options(self, argc, argv, &v, &words);
    if (!err && v.budget)
        err = read_budget(v.budget, &budget);
    if (err)
        return err;
    err = v.budget ? mete_answers_budget(words.at[0], budget, v.by) : 0;
    if (!err && (err = mete_answers_status(words.at[0], &s, NULL, NULL)) == 0) {
        if (v.json) {
            printf("{");
            print_status_json(&s);
            printf(", ");
        } else {
            print_status(&s);
        }
        if (v.json || s.people)
            err = mete_answers_status(words.at[0], NULL, v.json ? print_person_json : print_person,
                                      &any);
        if (v.json)
            printf("]}\n");
    }
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_label_status = {
    .name = "label status",
    .summary = "what was asked and answered, by whom, and what it cost",
    .words = "DATA",
    .about = "Counts the answers of people in a dataset, in all and for each person, and what is "
             "left of the budget.",
    .options = status_options,
    .examples = "mete label status data/activity\n"
                "mete label status data/activity --budget 200\n",
    .run = run_status,
};
