/* annotators.c - what annotators see and say. */
#include "serve/annotators_own.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE = 20 }; /* seconds that a page waits for a choice */

/* ---- what somebody sees ---- */

/* Counts what changes with the ledger alone. */
static void count_items(const struct annotators *a, struct holder *h)
{
    const int64_t *of;
    int64_t n = holder_items(a, h, &of), rows;
    const struct answer *row = answers_rows(a->answers, &rows);
    if (h->counted == rows)
        return;
    h->open = h->answered = h->mine = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t item = of ? of[i] : i;
        h->open += holder_may_be_asked(a, h, item);
        h->answered += answers_row_of(a->answers, item) >= 0;
    }
    for (int64_t i = 0; i < rows; i++)
        h->mine += !row[i].undone && answer_has_item(&row[i]) && strcmp(row[i].who, h->who) == 0;
    h->counted = rows;
}

static enum nothing_left why_nothing(const struct holder *h, const struct view *v)
{
    if (v->n > 0 || !h->finished)
        return LEFT_SOME;
    return v->open == 0 ? LEFT_NONE : h->skips ? LEFT_SKIPPED : LEFT_TO_OTHERS;
}

static void show(const struct annotators *a, struct holder *h, struct view *out)
{
    count_items(a, h);
    struct answers_totals t = answers_totals(a->answers);
    int64_t n, last = answers_last_by(a->answers, h->who);
    const struct answer *row = answers_rows(a->answers, &n);
    struct view v = {.n = h->n < h->ahead ? h->n : h->ahead,
                     .last = last >= 0 ? row[last].item : -1,
                     .mine = h->mine,
                     .open = h->open,
                     .answered = h->answered,
                     .spent = money_labels(t.spent),
                     .budget = money_labels(t.budget),
                     .person = h->spoken_of,
                     .sure = h->sure,
                     .sure_before = h->sure_before};
    for (int i = 0; i < v.n; i++)
        v.next[i] = h->held[i];
    v.left = why_nothing(h, &v);
    if (t.budget > 0 && t.budget - t.spent < a->o.cost) {
        v.left = LEFT_NO_BUDGET;
        v.n = 0;
    }
    *out = v;
}

static void wait_for_choice(struct annotators *a, struct holder *h)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE;
    while (h->n == 0 && h->hungry && !h->err && !a->closing &&
           pthread_cond_timedwait(&a->changed, &a->lock, &until) == 0)
        ;
}

int annotators_look(struct annotators *a, const struct annotator *who, bool again, struct view *out)
{
    struct holder *h = NULL;
    pthread_mutex_lock(&a->lock);
    int err = holder_find(a, who, &h);
    if (!err)
        err = answers_refresh(a->answers);
    if (!err) {
        if (again)
            h->skips = 0;
        h->finished = false;
        holder_let_go_answered(a, h);
        holder_feed(a, h);
        wait_for_choice(a, h);
        if (h->err)
            err = fail(h->err, "%s", h->why);
        h->err = 0;
        show(a, h, out);
    }
    pthread_mutex_unlock(&a->lock);
    return err;
}

/* ---- what somebody says ---- */

static int check_item(const struct annotators *a, int64_t item)
{
    int64_t n = annotators_data(a)->items;
    return item >= 0 && item < n
               ? 0
               : fail(METE_EINVAL, "no item %" PRId64 ": %s has items 0 to %" PRId64, item,
                      annotators_data(a)->name, n - 1);
}

/* Begins what an annotator says of an item; the lock is held, also where it fails. */
static int begin(struct annotators *a, const struct annotator *who, int64_t item, struct holder **h)
{
    pthread_mutex_lock(&a->lock);
    int err = check_item(a, item);
    return err ? err : holder_find(a, who, h);
}

static int end(struct annotators *a, struct holder *h, int err, struct view *out)
{
    if (!err) {
        holders_look_again(a);
        holder_let_go_answered(a, h);
        holder_feed(a, h);
        show(a, h, out);
    }
    pthread_mutex_unlock(&a->lock);
    return err;
}

int annotators_answer(struct annotators *a, const struct annotator *who, int64_t item,
                      const char *klass, struct view *out)
{
    struct holder *h = NULL;
    int err = begin(a, who, item, &h);
    if (err)
        return end(a, h, err, out);
    struct answer row = {.kind = !klass      ? ANSWER_UNKNOWN
                                 : h->second ? ANSWER_SECOND
                                             : ANSWER_LABEL,
                         .who = h->who,
                         .item = item,
                         .klass = klass,
                         .cost = a->o.cost};
    err = answers_append(a->answers, &row, 1, NULL);
    if (!err)
        holder_let_go(a, h, item);
    if (!err && h->second && !klass)
        holder_skip(h, item); /* no row says it */
    return end(a, h, err, out);
}

int annotators_skip(struct annotators *a, const struct annotator *who, int64_t item,
                    struct view *out)
{
    struct holder *h = NULL;
    int err = begin(a, who, item, &h);
    if (!err) {
        holder_let_go(a, h, item);
        holder_skip(h, item);
    }
    return end(a, h, err, out);
}

static int undo_row(struct annotators *a, const struct holder *h, int64_t item)
{
    int err = answers_refresh(a->answers);
    int64_t row = err ? -1 : answers_row_by(a->answers, item, h->who);
    if (row < 0)
        return err;
    return answers_append(
        a->answers, &(struct answer){.kind = ANSWER_UNDO, .who = h->who, .undoes = row}, 1, NULL);
}

int annotators_undo(struct annotators *a, const struct annotator *who, int64_t item,
                    struct view *out)
{
    struct holder *h = NULL;
    int err = begin(a, who, item, &h);
    if (!err)
        err = undo_row(a, h, item);
    if (!err) {
        const struct dataset *d = annotators_data(a);
        holder_unskip(h, item);
        if (holder_may_be_asked(a, h, item) && (h->second || !a->busy[item]))
            holder_hold(a, h,
                        &(struct question){.item = item,
                                           .person = d->user ? d->user[item] : 0,
                                           .cluster = -1,
                                           .entropy = NAN,
                                           .guess = -1,
                                           .sure = NAN},
                        true);
    }
    return end(a, h, err, out);
}

int annotators_add_class(struct annotators *a, const char *who, const char *klass)
{
    pthread_mutex_lock(&a->lock);
    int err = answers_append(
        a->answers, &(struct answer){.kind = ANSWER_CLASS, .who = who, .klass = klass}, 1, NULL);
    pthread_mutex_unlock(&a->lock);
    return err;
}

/* ---- reading ---- */

int annotators_read(struct annotators *a, answers_fn *fn, void *user)
{
    pthread_mutex_lock(&a->lock);
    int err = answers_refresh(a->answers);
    if (!err)
        fn(user, a->answers);
    pthread_mutex_unlock(&a->lock);
    return err;
}

int annotators_with_people(struct annotators *a, people_fn *fn, void *user)
{
    pthread_mutex_lock(&a->choosing);
    int err = answers_refresh(a->people.answers);
    if (!err)
        err = fn(user, &a->people);
    pthread_mutex_unlock(&a->choosing);
    return err;
}

const struct people *annotators_people(const struct annotators *a)
{
    return &a->people;
}

int annotators_round(const struct annotators *a)
{
    return a->o.round;
}

/* ---- opening and closing ---- */

static int start(struct annotators *a)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&a->lock, NULL);
    pthread_mutex_init(&a->choosing, NULL);
    pthread_cond_init(&a->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    a->busy = mem_array((size_t)annotators_data(a)->items + 1, 1);
    a->avoid = mem_array((size_t)annotators_data(a)->items + 1, 1);
    if (pthread_create(&a->chooser, NULL, annotators_chooser, a) == 0)
        return 0;
    a->closing = true; /* there is nobody to join */
    return fail(METE_ENOMEM, "no thread can be had to choose items");
}

static void release(struct annotators *a)
{
    answers_close(a->answers);
    people_close(&a->people);
    free(a);
}

int annotators_open(struct annotators **out, const struct annotators_options *o)
{
    struct annotators *a = mem_alloc(sizeof *a);
    a->o = *o;
    int err = people_open(&a->people, &(struct people_options){.data = o->data,
                                                               .model = o->model,
                                                               .strategy = o->strategy,
                                                               .set = o->set,
                                                               .device = o->device});
    if (!err)
        err = answers_open(&a->answers, o->data);
    if (err) {
        release(a);
        return err;
    }
    err = start(a);
    if (err)
        annotators_close(a);
    else
        *out = a;
    return err;
}

void annotators_stop(struct annotators *a)
{
    pthread_mutex_lock(&a->lock);
    bool first = !a->closing;
    a->closing = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->lock);
    if (first)
        pthread_join(a->chooser, NULL);
}

void annotators_close(struct annotators *a)
{
    if (!a)
        return;
    annotators_stop(a);
    while (a->holders) {
        struct holder *h = a->holders;
        a->holders = h->next;
        free(h->who);
        free(h->held);
        free(h->skipped);
        free(h->why);
        free(h);
    }
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->lock);
    pthread_mutex_destroy(&a->choosing);
    free(a->busy);
    free(a->avoid);
    release(a);
}
