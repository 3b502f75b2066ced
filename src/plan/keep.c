/* keep.c - a plan into the database: its words, and the points of its figures. */
#include "plan/answer.h"
#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

#ifdef METE_HAVE_SQLITE
struct kept {
    struct store_plan_point *at;
    int n;
};

static void add(struct kept *k, struct store_plan_point p)
{
    k->at = mem_grow(k->at, (size_t)k->n + 1, sizeof *k->at);
    k->at[k->n++] = p;
}

static void add_runs(struct kept *k, const struct race *r)
{
    for (int i = 0; i < r->made; i++) {
        const struct trial *t = &r->trial[i];
        if (t->done && t->level == 0 && t->tasks > 0)
            add(k, (struct store_plan_point){"run", plan_recipes[t->recipe].method, t->labels,
                                             (double)t->tasks, (double)t->labels / (double)t->tasks,
                                             t->accuracy, NAN, NAN, true});
    }
}

static void add_curve(struct kept *k, const struct answer *a)
{
    for (int b = 0; b < BUDGETS && !a->odd && !plan_recipes[a->best.recipe].fixed; b++) {
        const struct amount *x = &a->at[b];
        if (b == 0 || x->labels > a->at[b - 1].labels)
            add(k, (struct store_plan_point){"curve", plan_recipes[a->best.recipe].method,
                                             x->labels, (double)x->people, x->each, x->accuracy,
                                             x->lo, x->hi, x->trusted});
    }
}

/* People from two on, each time a half more, by labels each. */
static void add_map(struct kept *k, const struct answer *a)
{
    const struct situation *s = a->s;
    double most = fmin(s->people, 10.0 * (double)s->labels / s->each[0]);
    for (int e = 0; e < s->n_each && !a->odd && !plan_recipes[a->best.recipe].fixed; e++)
        for (double n = 2; n <= most; n *= 2) {
            double labels = n * s->each[e];
            add(k, (struct store_plan_point){"map", plan_recipes[a->best.recipe].method,
                                             (int64_t)labels, n, s->each[e],
                                             fmin(1, 1 - curve_at(&a->curve, n, s->each[e])), NAN,
                                             NAN, labels <= 4.0 * (double)s->within});
        }
}

int answer_keep(const struct answer *a, const struct race *r, const char *plan)
{
    struct kept k = {0};
    struct store *store = NULL;
    char *text = answer_text(a), *json = answer_json(a);
    add_runs(&k, r);
    add_curve(&k, a);
    add_map(&k, a);
    int err = store_open(&store, a->s->o->db, STORE_WRITE);
    if (!err)
        err = store_plan_keep(store, plan, text, json, k.at, k.n);
    store_close(store);
    free(text);
    free(json);
    free(k.at);
    return err;
}
#else
int answer_keep(const struct answer *a, const struct race *r, const char *plan)
{
    struct store *store = NULL;
    (void)r;
    (void)plan;
    return store_open(&store, a->s->o->db, STORE_WRITE); /* says what is missing */
}
#endif
