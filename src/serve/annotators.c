/* annotators.c - items held by annotators, and the thread that chooses them. */
#include "serve/annotators.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/rng.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    SILENCE = 15 * 60, /* seconds after which somebody's items are asked of others */
    PATIENCE = 20,     /* seconds that a page waits for a choice */
    HOLDERS_MOST = 1000,
};

/* An annotator at one task: whose items, new ones or second answers. */
struct holder {
    char *who;
    int person; /* -1: everybody */
    bool second;
    struct question *held; /* (n) the first is at hand */
    int n;
    int64_t *skipped; /* (skips) */
    int skips;
    double heard;  /* when they were heard of last */
    double took;   /* seconds that their last choice took */
    bool hungry;   /* more are to be chosen */
    bool finished; /* there was nothing to choose */
    int err;       /* of the choice, with its sentence */
    char *why;
    int spoken_of; /* the person of the next two, or -1 */
    double sure, sure_before;
    struct holder *next;
};

struct annotators {
    struct annotators_options o;
    pthread_mutex_t lock;   /* of all but `people`, which `choosing` has */
    pthread_cond_t changed; /* what somebody holds, who is hungry, or `closing` */
    pthread_t chooser;
    bool closing;
    struct answers *answers;
    struct holder *holders;
    uint8_t *busy; /* (items) somebody holds it */
    pthread_mutex_t choosing;
    struct people people;
    uint8_t *avoid; /* (items) busy, or skipped by whom is chosen for */
};

/* ---- what somebody holds ---- */

static const struct dataset *data_of(const struct annotators *a)
{
    return a->people.d;
}

static void set_busy(struct annotators *a, const struct holder *h, int64_t item, bool busy)
{
    if (!h->second)
        a->busy[item] = busy;
}

static int place_held(const struct holder *h, int64_t item)
{
    for (int i = 0; i < h->n; i++)
        if (h->held[i].item == item)
            return i;
    return -1;
}

static void hold(struct annotators *a, struct holder *h, const struct question *q, bool first)
{
    h->held = mem_grow(h->held, (size_t)h->n + 1, sizeof *h->held);
    int at = first ? 0 : h->n;
    memmove(h->held + at + 1, h->held + at, (size_t)(h->n - at) * sizeof *h->held);
    h->held[at] = *q;
    h->n++;
    set_busy(a, h, q->item, true);
}

static void let_go(struct annotators *a, struct holder *h, int64_t item)
{
    int at = place_held(h, item);
    if (at < 0)
        return;
    set_busy(a, h, item, false);
    h->n--;
    memmove(h->held + at, h->held + at + 1, (size_t)(h->n - at) * sizeof *h->held);
}

static bool has_skipped(const struct holder *h, int64_t item)
{
    for (int i = 0; i < h->skips; i++)
        if (h->skipped[i] == item)
            return true;
    return false;
}

static void skip(struct holder *h, int64_t item)
{
    if (has_skipped(h, item))
        return;
    h->skipped = mem_grow(h->skipped, (size_t)h->skips + 1, sizeof *h->skipped);
    h->skipped[h->skips++] = item;
}

static void unskip(struct holder *h, int64_t item)
{
    int n = 0;
    for (int i = 0; i < h->skips; i++)
        if (h->skipped[i] != item)
            h->skipped[n++] = h->skipped[i];
    h->skips = n;
}

/* Whether an item is still to be asked about. */
static bool is_open(const struct annotators *a, const struct holder *h, int64_t item)
{
    int64_t row = answers_row_of(a->answers, item);
    if (!h->second)
        return answers_label(a->answers, item) == NO_LABEL && row < 0;
    return row >= 0 && answers_label(a->answers, item) != NO_LABEL &&
           answers_row_by(a->answers, item, h->who) < 0;
}

static void let_go_answered(struct annotators *a, struct holder *h)
{
    for (int i = h->n - 1; i >= 0; i--)
        if (!is_open(a, h, h->held[i].item))
            let_go(a, h, h->held[i].item);
}

static void let_go_of_the_silent(struct annotators *a)
{
    double now = seconds_now();
    for (struct holder *h = a->holders; h; h = h->next)
        while (now - h->heard > SILENCE && h->n > 0)
            let_go(a, h, h->held[h->n - 1].item);
}

/* Whoever had nothing left may have something now. */
static void look_again(struct annotators *a)
{
    for (struct holder *h = a->holders; h; h = h->next)
        h->finished = false;
}

static int add_holder(struct annotators *a, const struct annotator *w, int person,
                      struct holder **out)
{
    int n = 0;
    for (struct holder *h = a->holders; h; h = h->next)
        n++;
    if (n == HOLDERS_MOST)
        return fail(METE_EINVAL, "more than %d annotators; start the server anew", HOLDERS_MOST);
    struct holder *h = mem_alloc(sizeof *h);
    *h = (struct holder){.who = mem_string(w->who),
                         .person = person,
                         .second = w->second,
                         .spoken_of = -1,
                         .sure = NAN,
                         .sure_before = NAN,
                         .next = a->holders};
    a->holders = *out = h;
    return 0;
}

static int find_holder(struct annotators *a, const struct annotator *w, struct holder **out)
{
    int person = -1;
    if (!w->who || !*w->who)
        return fail(METE_EINVAL, "who: nobody says who answers");
    int err = !w->user && data_of(a)->users ? 0 : people_find(&a->people, w->user, &person);
    if (err)
        return err;
    struct holder *h = a->holders;
    while (h && (strcmp(h->who, w->who) != 0 || h->person != person || h->second != w->second))
        h = h->next;
    err = h ? 0 : add_holder(a, w, person, &h);
    if (err)
        return err;
    h->heard = seconds_now();
    *out = h;
    return 0;
}

/* ---- choosing ---- */

static int64_t items_of(const struct annotators *a, const struct holder *h, const int64_t **item)
{
    if (h->person >= 0)
        return people_items(&a->people, h->person, item);
    *item = NULL;
    return data_of(a)->items;
}

/* Items that others have labelled, in an order of each annotator's own. */
static void choose_seconds(struct annotators *a, struct holder *h)
{
    const int64_t *of;
    int64_t n = items_of(a, h, &of), found = 0;
    int64_t *open = mem_array((size_t)n + 1, sizeof *open);
    uint64_t seed = 0;
    for (const char *c = h->who; *c; c++)
        seed = seed * 31 + (unsigned char)*c;
    struct rng r = rng_make(seed, RNG_LABEL, (uint64_t)h->skips, (uint32_t)a->people.n);
    for (int64_t i = 0; i < n; i++) {
        int64_t item = of ? of[i] : i;
        if (is_open(a, h, item) && place_held(h, item) < 0 && !has_skipped(h, item))
            open[found++] = item;
    }
    h->finished = found == 0;
    for (int i = 0; i < a->o.round && found > 0; i++) {
        int64_t at = rng_below(&r, (uint32_t)(found < INT32_MAX ? found : INT32_MAX));
        const struct dataset *d = data_of(a);
        struct question q = {.item = open[at],
                             .person = d->user ? d->user[open[at]] : 0,
                             .cluster = -1,
                             .entropy = NAN,
                             .guess = -1,
                             .sure = NAN};
        hold(a, h, &q, false);
        open[at] = open[--found];
    }
    free(open);
}

/* The person with the fewest answers, of those with an open item; -1: there is nobody. */
static int next_person(const struct annotators *a)
{
    const struct people *p = &a->people;
    int best = -1;
    int64_t least = 0;
    for (int u = 0; u < p->n; u++) {
        const int64_t *item;
        int64_t n = people_items(p, u, &item), asked = 0, open = 0;
        for (int64_t i = 0; i < n; i++) {
            bool answered = answers_row_of(p->answers, item[i]) >= 0;
            asked += answered || a->avoid[item[i]];
            open +=
                answers_label(p->answers, item[i]) == NO_LABEL && !answered && !a->avoid[item[i]];
        }
        if (open > 0 && (best < 0 || asked < least)) {
            best = u;
            least = asked;
        }
    }
    return best;
}

/* How sure the model is of what it predicts of a person's open items. */
static int measure_sure(struct people *p, int person, double *out)
{
    struct pool pool = people_pool(p, person);
    int classes = p->n_classes, n = 0;
    int64_t *open = mem_array((size_t)pool.n + 1, sizeof *open);
    for (int i = 0; i < pool.n; i++)
        if (pool.known[i] < 0)
            open[n++] = pool.item[i];
    float *probs = mem_array((size_t)n + 1, ((size_t)classes + 1) * sizeof *probs);
    int err = questions_adapt(p->questions, &pool);
    if (!err)
        err = questions_predict(p->questions, open, n, probs);
    *out = n > 0 ? 0 : NAN;
    for (int i = 0; i < n && !err; i++) {
        float most = 0;
        for (int k = 0; k < classes; k++)
            most = fmaxf(most, probs[(size_t)i * (size_t)classes + (size_t)k]);
        *out += (double)most / n;
    }
    free(open);
    free(probs);
    pool_release(&pool);
    return err;
}

struct choice {
    int person; /* -1: nobody */
    struct ask ask;
    double sure;
};

/* Without the lock, but for `choosing`. */
static int choose_now(struct annotators *a, struct choice *c)
{
    struct people *p = &a->people;
    int err = answers_refresh(p->answers);
    if (err)
        return err;
    if (c->person < 0)
        c->person = next_person(a);
    if (c->person < 0)
        return 0;
    p->busy = a->avoid;
    err = ask_people(p, c->person, a->o.round, a->o.round, 0, &c->ask);
    if (!err && questions_model(p->questions))
        err = measure_sure(p, c->person, &c->sure);
    p->busy = NULL;
    return err;
}

static void take_choice(struct annotators *a, struct holder *h, const struct choice *c)
{
    for (int64_t i = 0; i < c->ask.n; i++) {
        const struct question *q = &c->ask.at[i];
        if (!a->busy[q->item] && !has_skipped(h, q->item) && is_open(a, h, q->item))
            hold(a, h, q, false);
    }
    h->finished = c->ask.n == 0;
    if (c->ask.n == 0 || isnan(c->sure))
        return;
    if (h->spoken_of != c->person)
        h->sure_before = c->sure;
    h->spoken_of = c->person;
    h->sure = c->sure;
}

/* Holds the lock, which it lets go meanwhile. */
static void choose_for(struct annotators *a, struct holder *h)
{
    struct choice c = {.person = h->person, .sure = NAN};
    let_go_of_the_silent(a);
    memcpy(a->avoid, a->busy, (size_t)data_of(a)->items);
    for (int i = 0; i < h->skips; i++)
        a->avoid[h->skipped[i]] = 1;
    pthread_mutex_unlock(&a->lock);
    pthread_mutex_lock(&a->choosing);
    double began = seconds_now();
    int err = choose_now(a, &c);
    double took = seconds_now() - began;
    pthread_mutex_unlock(&a->choosing);
    pthread_mutex_lock(&a->lock);
    h->hungry = false;
    h->took = took;
    if (err) {
        free(h->why);
        h->why = mem_string(mete_errmsg());
        h->err = err;
    } else {
        take_choice(a, h, &c);
    }
    ask_release(&c.ask);
    pthread_cond_broadcast(&a->changed);
}

static void *chooser(void *user)
{
    NUMBER_LOCALE;
    struct annotators *a = user;
    pthread_mutex_lock(&a->lock);
    while (!a->closing) {
        struct holder *h = a->holders;
        while (h && !h->hungry)
            h = h->next;
        if (h)
            choose_for(a, h);
        else
            pthread_cond_wait(&a->changed, &a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* Chooses more in time: whoever answers an item a second shall find the next chosen. */
static void feed(struct annotators *a, struct holder *h)
{
    int enough = AHEAD - 1 + (int)fmin(ceil(h->took), a->o.round);
    if (h->n > enough || h->finished)
        return;
    if (h->second) {
        choose_seconds(a, h);
        return;
    }
    h->hungry = true;
    pthread_cond_broadcast(&a->changed);
}

/* ---- what somebody sees ---- */

static void count_items(const struct annotators *a, const struct holder *h, struct view *v)
{
    const int64_t *of;
    int64_t n = items_of(a, h, &of);
    for (int64_t i = 0; i < n; i++) {
        int64_t item = of ? of[i] : i;
        v->open += is_open(a, h, item);
        v->answered += answers_row_of(a->answers, item) >= 0;
    }
}

static int64_t count_answers(const struct answers *a, const char *who)
{
    int64_t n, mine = 0;
    const struct answer *row = answers_rows(a, &n);
    for (int64_t i = 0; i < n; i++)
        mine += !row[i].undone && answer_has_item(&row[i]) && strcmp(row[i].who, who) == 0;
    return mine;
}

static enum nothing_left why_nothing(const struct holder *h, const struct view *v)
{
    if (v->n > 0 || !h->finished)
        return LEFT_SOME;
    return v->open == 0 ? LEFT_NONE : h->skips ? LEFT_SKIPPED : LEFT_TO_OTHERS;
}

static void show(const struct annotators *a, const struct holder *h, struct view *out)
{
    struct answers_totals t = answers_totals(a->answers);
    int64_t n, last = answers_last_by(a->answers, h->who);
    const struct answer *row = answers_rows(a->answers, &n);
    struct view v = {.n = h->n < AHEAD ? h->n : AHEAD,
                     .last = last >= 0 ? row[last].item : -1,
                     .mine = count_answers(a->answers, h->who),
                     .spent = money_labels(t.spent),
                     .budget = money_labels(t.budget),
                     .person = h->spoken_of,
                     .sure = h->sure,
                     .sure_before = h->sure_before};
    for (int i = 0; i < v.n; i++)
        v.next[i] = h->held[i];
    count_items(a, h, &v);
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
    int err = find_holder(a, who, &h);
    if (!err)
        err = answers_refresh(a->answers);
    if (!err) {
        if (again)
            h->skips = 0;
        h->finished = false;
        let_go_answered(a, h);
        feed(a, h);
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
    int64_t n = data_of(a)->items;
    return item >= 0 && item < n
               ? 0
               : fail(METE_EINVAL, "no item %" PRId64 ": %s has items 0 to %" PRId64, item,
                      data_of(a)->name, n - 1);
}

/* Begins what an annotator says of an item; the lock is held, also where it fails. */
static int begin(struct annotators *a, const struct annotator *who, int64_t item, struct holder **h)
{
    pthread_mutex_lock(&a->lock);
    int err = check_item(a, item);
    return err ? err : find_holder(a, who, h);
}

static int end(struct annotators *a, struct holder *h, int err, struct view *out)
{
    if (!err) {
        look_again(a);
        let_go_answered(a, h);
        feed(a, h);
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
        let_go(a, h, item);
    if (!err && h->second && !klass)
        skip(h, item); /* no row says it */
    return end(a, h, err, out);
}

int annotators_skip(struct annotators *a, const struct annotator *who, int64_t item,
                    struct view *out)
{
    struct holder *h = NULL;
    int err = begin(a, who, item, &h);
    if (!err) {
        let_go(a, h, item);
        skip(h, item);
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
        const struct dataset *d = data_of(a);
        unskip(h, item);
        if (is_open(a, h, item) && (h->second || !a->busy[item]))
            hold(a, h,
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
    a->busy = mem_array((size_t)data_of(a)->items + 1, 1);
    a->avoid = mem_array((size_t)data_of(a)->items + 1, 1);
    if (pthread_create(&a->chooser, NULL, chooser, a) == 0)
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
