/* label_import.c - answers from a file into a dataset's ledger, all or none; and what is there. */
#include "mete_personal.h"
#include "people/ask_file.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void given_release(struct given_list *g)
{
    for (int i = 0; i < g->n; i++) {
        free(g->at[i].klass);
        free(g->at[i].who);
    }
    free(g->at);
    *g = (struct given_list){0};
}

void given_add(struct given_list *g, const struct given *one)
{
    if ((g->n & (g->n - 1)) == 0)
        g->at = mem_grow(g->at, g->n ? 2 * (size_t)g->n : 1, sizeof *g->at);
    g->at[g->n++] = *one;
}

/* Who answers, where nobody says it. */
static const char *default_name(const char *by)
{
    const char *user = getenv("USER");
    return by && *by ? by : user && *user ? user : "anonymous";
}

static int read_labels(const char *option, double labels, millionths *out)
{
    char text[NUMBER_TEXT];
    const char *end;
    number_print(labels, text);
    return money_read(text, &end, out) && !*end
               ? 0
               : fail(METE_EINVAL,
                      "%s: expected a number of labels with at most six decimals, got %s", option,
                      text);
}

/* ---- importing ---- */

struct append {
    struct answer *rows;
    int n, classes; /* the first `classes` of them are of new ones */
};

static bool is_known(const struct answers *a, const struct append *b, const char *klass)
{
    const char *name;
    for (int k = 0; (name = answers_class(a, k)); k++)
        if (strcmp(name, klass) == 0)
            return true;
    for (int i = 0; i < b->n; i++)
        if (strcmp(b->rows[i].klass, klass) == 0)
            return true;
    return false;
}

static struct append append_of(const struct answers *a, const struct given_list *g,
                               const struct mete_answers_options *o, millionths cost)
{
    struct append b = {.rows = mem_array(2 * (size_t)g->n + 1, sizeof *b.rows)};
    for (int i = 0; i < g->n && o->new_classes; i++)
        if (g->at[i].klass && !is_known(a, &b, g->at[i].klass))
            b.rows[b.n++] = (struct answer){
                .kind = ANSWER_CLASS, .who = default_name(o->by), .klass = g->at[i].klass};
    b.classes = b.n;
    for (int i = 0; i < g->n; i++)
        b.rows[b.n++] = (struct answer){.kind = g->at[i].klass ? ANSWER_LABEL : ANSWER_UNKNOWN,
                                        .who = g->at[i].who ? g->at[i].who : default_name(o->by),
                                        .item = g->at[i].item,
                                        .klass = g->at[i].klass,
                                        .cost = cost};
    return b;
}

/* Where in the file the row stands that was refused. */
static int refused(const char *path, const struct given_list *g, const struct append *b, int failed,
                   int err)
{
    if (failed < 0)
        return fail_within(err, "%s", path);
    int at = failed < b->classes ? 0 : failed - b->classes;
    return fail_within(err, "%s:%" PRId64 ":%" PRId64, path, g->at[at].line, g->at[at].column);
}

static void describe(const struct answers *a, const struct answers_added *added,
                     const struct answers_totals *before, const struct given_list *g,
                     struct mete_answers *out)
{
    struct answers_totals now = answers_totals(a);
    *out = (struct mete_answers){.labels = now.labels - before->labels,
                                 .unknown = now.unknown - before->unknown,
                                 .same = added->same,
                                 .blank = g->blank,
                                 .charged = money_labels(added->charged),
                                 .spent = money_labels(now.spent),
                                 .budget = money_labels(now.budget)};
}

static int add_all(struct people *p, const struct mete_answers_options *o,
                   const struct given_list *g, struct mete_answers *out)
{
    millionths cost;
    struct answers_added added;
    int err = read_labels("--cost", o->cost < 0 ? 0 : o->cost == 0 ? 1 : o->cost, &cost);
    if (!err)
        err = answers_refresh(p->answers);
    if (err)
        return err;
    struct answers_totals before = answers_totals(p->answers);
    struct append b = append_of(p->answers, g, o, cost);
    err = answers_append(p->answers, b.rows, b.n, &added);
    if (err)
        err = refused(o->path, g, &b, added.failed, err);
    else if (out)
        describe(p->answers, &added, &before, g, out);
    free(b.rows);
    return err;
}

static bool is_json(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".json") == 0;
}

int mete_answers_import(const struct mete_answers_options *options, struct mete_answers *out)
{
    NUMBER_LOCALE;
    struct mete_answers_options o;
    struct people p = {0};
    struct given_list g = {0};
    int err = options_take(&o, sizeof o, options, "mete_answers_options");
    if (!err && (!o.data || !o.path))
        err = fail(METE_EINVAL, "answers: there is no %s", o.data ? "file" : "data");
    if (!err)
        err = people_open(&p, &(struct people_options){.data = o.data});
    if (!err)
        err = (is_json(o.path) ? answers_read_studio : answers_read_csv)(&g, &p, o.path);
    if (!err)
        err = add_all(&p, &o, &g, out);
    given_release(&g);
    people_close(&p);
    return err;
}

/* ---- what is there ---- */

static struct mete_person *count_people(const struct people *p)
{
    int64_t n;
    const struct answer *row = answers_rows(p->answers, &n);
    struct mete_person *each = mem_array((size_t)p->n, sizeof *each);
    for (int64_t i = 0; i < p->d->items; i++) {
        struct mete_person *one = &each[p->d->user ? p->d->user[i] : 0];
        bool open = answers_label(p->answers, i) == NO_LABEL;
        one->items++;
        one->imported += p->d->y[i] != NO_LABEL;
        one->answered += !open && p->d->y[i] == NO_LABEL;
        bool unknown = open && answers_row_of(p->answers, i) >= 0;
        one->unknown += unknown;
        one->open += open && !unknown;
    }
    for (int64_t i = 0; i < n; i++)
        if (answer_has_item(&row[i]) && !row[i].undone)
            each[p->d->user ? p->d->user[row[i].item] : 0].spent += money_labels(row[i].cost);
    return each;
}

static void add_up(const struct people *p, const struct mete_person *each,
                   struct mete_answers_status *out)
{
    struct answers_totals t = answers_totals(p->answers);
    *out = (struct mete_answers_status){.items = p->d->items,
                                        .second = t.seconds,
                                        .agreed = t.agreed,
                                        .undone = t.undone,
                                        .spent = money_labels(t.spent),
                                        .budget = money_labels(t.budget),
                                        .people = p->d->users};
    for (int u = 0; u < p->n; u++) {
        out->imported += each[u].imported;
        out->answered += each[u].answered;
        out->unknown += each[u].unknown;
        out->open += each[u].open;
        out->asked += each[u].answered + each[u].unknown > 0;
    }
}

int mete_answers_status(const char *data, struct mete_answers_status *out, mete_person_fn *fn,
                        void *user)
{
    NUMBER_LOCALE;
    struct people p = {0};
    char name[16];
    int err = data ? people_open(&p, &(struct people_options){.data = data})
                   : fail(METE_EINVAL, "status: no data");
    if (err)
        return err;
    struct mete_person *each = count_people(&p);
    if (out)
        add_up(&p, each, out);
    for (int u = 0; u < p.n && fn; u++) {
        each[u].name = people_name(&p, u, name);
        fn(user, &each[u]);
    }
    free(each);
    people_close(&p);
    return 0;
}

int mete_answers_budget(const char *data, double labels, const char *by)
{
    NUMBER_LOCALE;
    struct answers *a = NULL;
    millionths most = 0;
    int err = data ? 0 : fail(METE_EINVAL, "budget: no data");
    if (!err && !(labels >= 0))
        err = fail(METE_EINVAL, "--budget: expected a number of labels, or 0 for no limit");
    if (!err && labels > 0)
        err = read_labels("--budget", labels, &most);
    if (!err)
        err = answers_open(&a, data);
    if (!err)
        err = answers_append(
            a, &(struct answer){.kind = ANSWER_BUDGET, .who = default_name(by), .cost = most}, 1,
            NULL);
    answers_close(a);
    return err;
}
