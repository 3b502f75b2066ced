/* ranks_calls.c - what calls of a learner carry, put into messages and got out of them. */
#include "run/ranks_calls.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct task_share share_of(const struct ranks *team, int i, int tasks)
{
    int64_t n = ranks_count(team);
    return (struct task_share){(int)(tasks * (int64_t)i / n), (int)(tasks * (int64_t)(i + 1) / n)};
}

void put_settings(struct message *m, const struct settings *s)
{
    message_put_int(m, s->n);
    for (int i = 0; i < s->n; i++) {
        message_put_text(m, s->at[i].key);
        message_put_text(m, s->at[i].value);
        message_put_text(m, s->at[i].origin);
    }
}

void get_settings(struct message *m, struct settings *out)
{
    int64_t n = message_get_int(m);
    *out = (struct settings){0};
    for (int64_t i = 0; i < n && !m->short_; i++) {
        const char *key = message_get_text(m), *value = message_get_text(m);
        const char *origin = message_get_text(m);
        if (key && value)
            settings_put(out, key, value, origin ? origin : "");
    }
}

void put_items(struct message *m, const struct items *s)
{
    message_put_int(m, s->n);
    message_put_int(m, s->label != NULL);
    message_put(m, s->at, (size_t)s->n * sizeof *s->at);
    if (s->label)
        message_put(m, s->label, (size_t)s->n * sizeof *s->label);
}

void get_items(struct message *m, struct items *out)
{
    int64_t n = message_get_int(m);
    bool labels = message_get_int(m);
    *out = (struct items){0};
    if (n < 0 || (size_t)n > m->size / sizeof(int32_t)) {
        m->short_ = true;
        return;
    }
    int32_t *at = mem_array(2 * (size_t)n + 1, sizeof *at);
    message_get(m, at, (size_t)n * sizeof *at);
    if (labels)
        message_get(m, at + n, (size_t)n * sizeof *at);
    *out = (struct items){at, labels ? at + n : NULL, (int)n};
}

void items_free(struct items *s, int n)
{
    for (int i = 0; s && i < n; i++)
        free((void *)s[i].at);
    free(s);
}

void put_tasks(struct message *m, const struct labelled_task *tasks, int n)
{
    message_put_int(m, n);
    for (int i = 0; i < n; i++) {
        message_put_int(m, (int64_t)tasks[i].id);
        put_items(m, &tasks[i].support);
        put_items(m, &tasks[i].query);
    }
}

struct labelled_task *get_tasks(struct message *m, int *n)
{
    int64_t there = message_get_int(m);
    if (there < 0 || (size_t)there > m->size) {
        m->short_ = true;
        there = 0;
    }
    struct labelled_task *tasks = mem_array((size_t)there + 1, sizeof *tasks);
    for (int i = 0; i < there; i++) {
        tasks[i].id = (uint64_t)message_get_int(m);
        get_items(m, &tasks[i].support);
        get_items(m, &tasks[i].query);
    }
    *n = (int)there;
    return tasks;
}

void tasks_free(struct labelled_task *tasks, int n)
{
    for (int i = 0; i < n; i++) {
        free((void *)tasks[i].support.at);
        free((void *)tasks[i].query.at);
    }
    free(tasks);
}

void put_tensors(struct message *m, const struct tensors *t)
{
    message_put_int(m, t->n);
    for (int i = 0; i < t->n; i++) {
        const struct ndarray *a = &t->at[i].array;
        message_put_text(m, t->at[i].name);
        message_put_int(m, a->dtype);
        message_put_int(m, a->rank);
        message_put(m, a->shape, (size_t)a->rank * sizeof *a->shape);
        message_put_int(m, (int64_t)a->bytes);
        message_put(m, a->data, a->bytes);
    }
}

int get_tensors(struct message *m, struct tensors *out)
{
    int64_t n = message_get_int(m), shape[NDARRAY_RANK];
    *out = (struct tensors){0};
    for (int64_t i = 0; i < n && !m->short_; i++) {
        const char *name = message_get_text(m);
        enum dtype type = (enum dtype)message_get_int(m);
        int64_t rank = message_get_int(m);
        if (!name || rank < 0 || rank > NDARRAY_RANK)
            return fail(METE_EFORMAT, "a message of another rank holds no tensors");
        message_get(m, shape, (size_t)rank * sizeof *shape);
        size_t bytes = (size_t)message_get_int(m);
        const void *data = message_take(m, bytes);
        void *to = data ? tensors_add(out, name, type, (int)rank, shape) : NULL;
        if (!to || out->at[out->n - 1].array.bytes != bytes)
            return fail(METE_EFORMAT, "a message of another rank holds no tensors");
        memcpy(to, data, bytes);
    }
    return message_check(m);
}

/* ---- predictions ---- */

int wants_of(const struct predicted *p, int task)
{
    return (p->probs && p->probs[task] ? WANT_PROBS : 0) |
           (p->reps && p->reps[task] ? WANT_REPS : 0) |
           (p->entropy && p->entropy[task] ? WANT_ENTROPY : 0);
}

/* An array for each task that wants one; NULL where none does. */
static float **arrays_new(int n, const struct items *query, const uint8_t *wants, int which,
                          int width)
{
    float **at = mem_array((size_t)n + 1, sizeof *at);
    bool any = false;
    for (int t = 0; t < n; t++)
        if (wants[t] & which) {
            at[t] = mem_array((size_t)query[t].n * (size_t)width + 1, sizeof **at);
            any = true;
        }
    if (!any)
        free(at);
    return any ? at : NULL;
}

struct predicted predictions_new(const struct learner *l, int n, const struct items *query,
                                 const uint8_t *wants, bool clusters)
{
    return (struct predicted){
        .probs = arrays_new(n, query, wants, WANT_PROBS, l->is.ways),
        .reps = arrays_new(n, query, wants, WANT_REPS, l->is.features),
        .entropy = arrays_new(n, query, wants, WANT_ENTROPY, 1),
        .clusters = clusters,
    };
}

void predictions_free(struct predicted *p, int n)
{
    float *const *all[] = {p->probs, p->reps, p->entropy};
    for (int k = 0; k < 3; k++) {
        for (int t = 0; all[k] && t < n; t++)
            free(all[k][t]);
        free((void *)all[k]);
    }
    *p = (struct predicted){0};
}

/* ---- answers ---- */

int ranks_other_content(const char *name, const char *here, const char *there)
{
    return fail(METE_EDEVICE,
                "the dataset %s holds something else than on the first rank (%s, not %s); copy it "
                "anew",
                name, here, there);
}

int reply_send(struct ranks *team, int code, const struct message *more)
{
    struct verdict v = verdict_of(code);
    int err = ranks_send(team, 0, &v, sizeof v);
    return err || code ? err : ranks_send_message(team, 0, more);
}

int reply_receive(struct ranks *team, int from, struct message *m)
{
    struct verdict v;
    char name[160];
    int err = ranks_receive(team, from, &v, sizeof v);
    if (err)
        return err;
    if (v.code)
        return fail(v.code, "%s: %s", ranks_name(team, from, name), v.sentence);
    return ranks_receive_message(team, from, m, RANKS_ANSWER);
}
