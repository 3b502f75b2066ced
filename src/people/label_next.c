/* label_next.c - mete_questions: what to ask next, into a file. */
#include "mete_personal.h"
#include "people/ask_file.h"
#include "base/error.h"
#include "base/number.h"
#include "base/options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { EACH = 5 };

static int check(const struct mete_questions_options *o)
{
    if (!o->data)
        return fail(METE_EINVAL, "questions: no data");
    if (!o->out)
        return fail(METE_EINVAL, "questions: say where they go: -o FILE");
    if (o->n < 0)
        return fail(METE_EINVAL, "--n: %d questions, expected 1 or more", o->n);
    if (!(o->labels_left >= 0) || o->labels_left > 1e12)
        return fail(METE_EINVAL, "--labels-left: expected a number of labels, got %g",
                    o->labels_left);
    if (o->format && strcmp(o->format, "csv") != 0 && strcmp(o->format, "label-studio") != 0)
        return fail(METE_EINVAL, "--format: expected csv or label-studio, got '%s'", o->format);
    return 0;
}

/* What --labels-left says, and what the budget of the data leaves. */
static int64_t labels_left(const struct mete_questions_options *o, const struct answers *a)
{
    struct answers_totals t = answers_totals(a);
    double left = o->labels_left > 0 ? floor(o->labels_left) : 1e12;
    if (t.budget > 0)
        left = fmin(left, floor(money_labels(t.budget > t.spent ? t.budget - t.spent : 0)));
    return (int64_t)left;
}

static bool is_taken(const struct answers *a, const struct given *g)
{
    int32_t label = answers_label(a, g->item);
    if (!g->klass)
        return label != NO_LABEL || answers_row_of(a, g->item) >= 0;
    return label != NO_LABEL && strcmp(answers_class(a, label), g->klass) == 0;
}

/* People's work is not to be lost: a file with answers that nobody has imported stays. */
static int check_old(const char *path, const struct people *p)
{
    struct given_list g = {0};
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    int err = answers_read_csv(&g, p, path);
    if (err != METE_EIO && err != METE_ENOMEM)
        err = 0; /* some other file has none, or those up to what is wrong in it */
    for (int i = 0; i < g.n && !err; i++)
        if (!is_taken(p->answers, &g.at[i]))
            err = fail(METE_EINVAL,
                       "%s:%" PRId64 ": an answer that was not imported; 'mete label import' "
                       "takes it, or give the questions another name",
                       path, g.at[i].line);
    given_release(&g);
    return err;
}

static int write_all(const struct mete_questions_options *o, const struct people *p,
                     struct mete_questions *out)
{
    int person = -1;
    struct ask a = {0};
    struct places places = {0};
    bool all = o->user && strcmp(o->user, "all") == 0 && p->d->users;
    int64_t left = labels_left(o, p->answers);
    int err = all || (!o->user && p->d->users) ? 0 : people_find(p, o->user, &person);
    if (!err && !o->user && p->d->users)
        err = fail(METE_EINVAL, "%s has %d users: say whom to ask, --user NAME or --user all",
                   p->d->name, p->d->users);
    if (!err && left < 1)
        err = fail(METE_EBUDGET,
                   "%s: the budget is spent; raise it with 'mete label status --budget'", o->data);
    if (!err)
        err = check_old(o->out, p);
    if (!err)
        err = places_open(&places, p->d);
    if (!err)
        err = ask_people(p, person, o->n ? o->n : EACH, left, o->seed, &a);
    if (!err)
        err = (o->format && strcmp(o->format, "csv") != 0 ? ask_write_studio
                                                          : ask_write_csv)(o->out, p, &places, &a);
    if (!err && out)
        *out = (struct mete_questions){.questions = a.n,
                                       .people = a.people,
                                       .done = a.done,
                                       .strategy = questions_strategy(p->questions)};
    ask_release(&a);
    places_close(&places);
    return err;
}

int mete_questions(const struct mete_questions_options *options, struct mete_questions *out)
{
    NUMBER_LOCALE;
    struct mete_questions_options o;
    struct people p = {0};
    int err = options_take(&o, sizeof o, options, "mete_questions_options");
    if (!err)
        err = check(&o);
    if (!err)
        err = people_open(&p, &(struct people_options){.data = o.data,
                                                       .model = o.model,
                                                       .strategy = o.labels,
                                                       .set = o.set,
                                                       .device = o.device});
    if (!err)
        err = write_all(&o, &p, out);
    people_close(&p);
    return err;
}
