/* dry_run.c - what a suite would do: which runs are done, and what the others cost. */
#include "run/dry_run.h"
#include "base/error.h"
#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const state_names[] = {"planned", "planned", "running", "done", "failed"};

static bool is_content(const char *key)
{
    size_t n = strlen(key);
    return n > 8 && strcmp(key + n - 8, ".content") == 0;
}

/* The run's id, and the one that it has in a database older than the content of datasets. */
static int ids_of(const struct settings *s, char id[STORE_ID_SIZE], char older[STORE_ID_SIZE])
{
    struct planned p;
    int n = 0, err = planned_open(&p, s);
    if (err)
        return err;
    store_run_id(&p.run, id);
    for (int i = 0; i < p.run.n_settings; i++)
        if (!is_content(p.settings[i].key))
            p.settings[n++] = p.settings[i];
    p.run.n_settings = n;
    store_run_id(&p.run, older);
    planned_release(&p);
    return 0;
}

/* The state of each chosen run; all are planned where there is no database. */
static int read_states(const struct dry_run *d, enum store_state *state)
{
    struct store *store = NULL;
    int n = d->n_chosen;
    enum store_state *older = mem_array((size_t)n, sizeof *older);
    char(*ids)[STORE_ID_SIZE] = mem_array(2 * (size_t)n, sizeof *ids);
    int err = 0;
    for (int i = 0; i < n; i++)
        state[i] = STORE_UNKNOWN;
    if (!d->o->db || access(d->o->db, F_OK) != 0)
        goto out;
    err = store_open(&store, d->o->db, STORE_READ);
    for (int i = 0; i < n && !err; i++)
        err = ids_of(&d->suite->runs[d->chosen[i]], ids[i], ids[n + i]);
    if (!err)
        err = store_states(store, ids, n, state);
    if (!err)
        err = store_states(store, ids + n, n, older);
    for (int i = 0; i < n && !err; i++)
        if (state[i] == STORE_UNKNOWN)
            state[i] = older[i];
    store_close(store);
out:
    free(older);
    free(ids);
    return err;
}

/* ---- the settings that tell runs apart ---- */

static const char *const columns[] = {"bench", "method", "labels", "shots"};
enum { COLUMNS = sizeof columns / sizeof *columns, COMPARED_MAX = 2000, SETTINGS_SIZE = 256 };

static bool is_column(const char *key)
{
    for (int i = 0; i < COLUMNS; i++)
        if (strcmp(key, columns[i]) == 0)
            return true;
    return strcmp(key, "seed") == 0;
}

static bool same_value(const struct settings *a, const struct settings *b, const char *key)
{
    const char *x = settings_get(a, key), *y = settings_get(b, key);
    return strcmp(x ? x : "", y ? y : "") == 0;
}

static bool same_columns(const struct settings *a, const struct settings *b)
{
    for (int i = 0; i < COLUMNS; i++)
        if (!same_value(a, b, columns[i]))
            return false;
    return true;
}

/* "inner.lr=0.1 train.relabel=yes": where a run differs from another of equal columns. */
static void differing_settings(const struct dry_run *d, const struct settings *s, char *out)
{
    *out = '\0';
    for (int k = 0; k < s->n && d->n_chosen <= COMPARED_MAX; k++) {
        const struct setting *one = &s->at[k];
        bool differs = false;
        for (int i = 0; i < d->n_chosen && !differs && !is_column(one->key); i++) {
            const struct settings *other = &d->suite->runs[d->chosen[i]];
            differs = !same_value(s, other, one->key) && same_columns(s, other);
        }
        size_t used = strlen(out);
        if (differs)
            snprintf(out + used, SETTINGS_SIZE - used, "%s%s=%s", used ? " " : "", one->key,
                     one->value);
    }
}

/* ---- the runs ---- */

static bool same_but_seed(const struct settings *a, const struct settings *b)
{
    bool same = a && a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = strcmp(a->at[i].key, b->at[i].key) == 0 &&
               (strcmp(a->at[i].key, "seed") == 0 || strcmp(a->at[i].value, b->at[i].value) == 0);
    return same;
}

static void tell(const struct dry_run *d, const struct settings *s, const struct estimate *e,
                 enum store_state state, const char *settings)
{
    struct bench bench;
    const char *shots = settings_get(s, "shots");
    struct mete_planned_run run = {.bench = settings_get(s, "bench"),
                                   .method = settings_get(s, "method"),
                                   .labels = settings_get(s, "labels"),
                                   .seed = strtoull(settings_get(s, "seed"), NULL, 10),
                                   .shots = shots ? atoi(shots) : 0,
                                   .tasks = e->tasks,
                                   .n_labels = e->labels,
                                   .gflop = e->flops / 1e9,
                                   .seconds = e->seconds,
                                   .state = state_names[state],
                                   .settings = settings};
    if (run.shots == 0 && bench_parse(&bench, run.bench) == 0)
        run.shots = bench.shots;
    if (d->o->planned)
        d->o->planned(d->o->user, &run);
}

int dry_run(const struct dry_run *d)
{
    const struct settings *measured = NULL;
    struct estimate e = {0};
    struct rate_memo memo = {0};
    char differing[SETTINGS_SIZE] = "";
    enum store_state *state = mem_array((size_t)d->n_chosen, sizeof *state);
    int err = read_states(d, state);
    for (int i = 0; i < d->n_chosen && !err; i++) {
        const struct settings *s = &d->suite->runs[d->chosen[i]];
        if (!same_but_seed(measured, s)) { /* seeds follow each other and cost the same */
            err = progress_to(d->o->progress, d->o->user,
                              &(struct mete_progress){d->suite->name, i, d->n_chosen, 0, NAN,
                                                      "measuring how long runs take"});
            if (!err)
                err = d->kind->estimate(s, d->shelf, d->o->device, &memo, &e);
            differing_settings(d, s, differing);
        }
        measured = s;
        if (!err)
            tell(d, s, &e, state[i], differing);
    }
    rate_memo_release(&memo);
    free(state);
    return err;
}
