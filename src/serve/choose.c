/* choose.c - the thread that chooses what annotators are asked next. */
#include "serve/annotators_own.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Items that others have labelled, in an order of each annotator's own. */
static void choose_seconds(struct annotators *a, struct holder *h)
{
    const int64_t *of;
    int64_t n = holder_items(a, h, &of), found = 0;
    int64_t *open = mem_array((size_t)n + 1, sizeof *open);
    uint64_t seed = 0;
    for (const char *c = h->who; *c; c++)
        seed = seed * 31 + (unsigned char)*c;
    struct rng r = rng_make(seed, RNG_LABEL, (uint64_t)h->skips, (uint32_t)a->people.n);
    for (int64_t i = 0; i < n; i++) {
        int64_t item = of ? of[i] : i;
        if (holder_may_be_asked(a, h, item) && holder_place(h, item) < 0 &&
            !holder_has_skipped(h, item))
            open[found++] = item;
    }
    h->finished = found == 0;
    for (int i = 0; i < a->o.round && found > 0; i++) {
        int64_t at = rng_below(&r, (uint32_t)(found < INT32_MAX ? found : INT32_MAX));
        const struct dataset *d = annotators_data(a);
        struct question q = {.item = open[at],
                             .person = d->user ? d->user[open[at]] : 0,
                             .cluster = -1,
                             .entropy = NAN,
                             .guess = -1,
                             .sure = NAN};
        holder_hold(a, h, &q, false);
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
        if (!a->busy[q->item] && !holder_has_skipped(h, q->item) &&
            holder_may_be_asked(a, h, q->item))
            holder_hold(a, h, q, false);
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
    holders_let_go_silent(a);
    memcpy(a->avoid, a->busy, (size_t)annotators_data(a)->items);
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

void *annotators_chooser(void *user)
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

void holder_feed(struct annotators *a, struct holder *h)
{
    int enough = h->ahead - 1 + (int)fmin(ceil(h->took), a->o.round);
    if (h->n > enough || h->finished)
        return;
    if (h->second) {
        choose_seconds(a, h);
        return;
    }
    h->hungry = true;
    pthread_cond_broadcast(&a->changed);
}
