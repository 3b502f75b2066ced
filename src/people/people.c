/* people.c - items by person, and the pools of what is and is not known of them. */
#include "people/people.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int person_of(const struct people *p, int64_t item)
{
    return p->d->user ? p->d->user[item] : 0;
}

static void sort_items(struct people *p)
{
    const struct dataset *d = p->d;
    p->n = d->users ? d->users : 1;
    p->first = mem_array((size_t)p->n + 2, sizeof *p->first);
    p->item = mem_array((size_t)d->items, sizeof *p->item);
    for (int64_t i = 0; i < d->items; i++)
        p->first[person_of(p, i) + 2]++;
    for (int u = 1; u <= p->n; u++)
        p->first[u + 1] += p->first[u];
    for (int64_t i = 0; i < d->items; i++)
        p->item[p->first[person_of(p, i) + 1]++] = i;
}

int people_open(struct people *out, const struct people_options *o)
{
    struct people p = {0};
    int err = (o->nobody_asked ? answers_open_any : answers_open)(&p.answers, o->data);
    if (!err) {
        p.d = answers_dataset(p.answers);
        while (answers_class(p.answers, p.n_classes)) {
            p.classes = mem_grow((void *)p.classes, (size_t)p.n_classes + 1, sizeof *p.classes);
            p.classes[p.n_classes] = mem_string(answers_class(p.answers, p.n_classes));
            p.n_classes++;
        }
        sort_items(&p);
        err = questions_open(&p.questions, &(struct questions_options){.data = p.d,
                                                                       .classes = p.classes,
                                                                       .n_classes = p.n_classes,
                                                                       .model = o->model,
                                                                       .strategy = o->strategy,
                                                                       .set = o->set,
                                                                       .device = o->device});
    }
    if (err)
        people_close(&p);
    else
        *out = p;
    return err;
}

void people_close(struct people *p)
{
    questions_close(p->questions);
    answers_close(p->answers);
    for (int k = 0; k < p->n_classes; k++)
        free((void *)(uintptr_t)p->classes[k]);
    free((void *)p->classes);
    free(p->first);
    free(p->item);
    *p = (struct people){0};
}

const char *people_name(const struct people *p, int person, char buffer[16])
{
    if (p->d->user_names)
        return p->d->user_names[person];
    buffer[0] = '\0';
    if (p->d->users)
        snprintf(buffer, 16, "%d", person);
    return buffer;
}

static int not_found(const struct people *p, const char *name)
{
    const struct dataset *d = p->d;
    const char *near =
        d->user_names ? nearest_word(name, (const char *const *)d->user_names, d->users) : NULL;
    return near ? fail(METE_EINVAL, "%s has no user '%s'; did you mean '%s'?", d->name, name, near)
                : fail(METE_EINVAL, "%s has no user '%s' among %d", d->name, name, d->users);
}

int people_find(const struct people *p, const char *name, int *person)
{
    char buffer[16];
    if (!name && p->d->users)
        return fail(METE_EINVAL, "%s has %d users: say who, --user NAME", p->d->name, p->d->users);
    if (name && !p->d->users)
        return fail(METE_EINVAL, "%s has no users: leave --user out", p->d->name);
    for (int u = 0; u < p->n; u++)
        if (!name || strcmp(people_name(p, u, buffer), name) == 0) {
            *person = u;
            return 0;
        }
    return not_found(p, name);
}

int64_t people_items(const struct people *p, int person, const int64_t **item)
{
    *item = p->item + p->first[person];
    return p->first[person + 1] - p->first[person];
}

struct pool people_pool(const struct people *p, int person)
{
    const int64_t *item;
    int64_t n = people_items(p, person, &item);
    struct pool pool = {.item = mem_array((size_t)n + 1, sizeof *pool.item),
                        .known = mem_array((size_t)n + 1, sizeof *pool.known)};
    for (int64_t i = 0; i < n; i++) {
        int32_t label = answers_label(p->answers, item[i]);
        bool busy = p->busy && p->busy[item[i]];
        if (label == NO_LABEL && (busy || answers_row_of(p->answers, item[i]) >= 0))
            continue; /* somebody does not know */
        pool.item[pool.n] = item[i];
        pool.known[pool.n++] = label;
    }
    return pool;
}

void pool_release(struct pool *pool)
{
    free(pool->item);
    free(pool->known);
    *pool = (struct pool){0};
}

int people_adapt(const struct people *p, int person)
{
    struct pool pool = people_pool(p, person);
    int err = questions_adapt(p->questions, &pool);
    pool_release(&pool);
    return err;
}

int *people_rounds(const struct people *p)
{
    int64_t n, *last = mem_array((size_t)p->n, sizeof *last);
    const struct answer *row = answers_rows(p->answers, &n);
    int *round = mem_array((size_t)p->n, sizeof *round);
    for (int u = 0; u < p->n; u++)
        round[u] = 1;
    for (int64_t i = 0; i < n; i++)
        if ((row[i].kind == ANSWER_LABEL || row[i].kind == ANSWER_UNKNOWN) && !row[i].undone) {
            int u = person_of(p, row[i].item);
            round[u] += last[u] != row[i].batch;
            last[u] = row[i].batch;
        }
    free(last);
    return round;
}
