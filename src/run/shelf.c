/* shelf.c - datasets by name, each opened once and shared. */
#include "run/experiment.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shelf {
    pthread_mutex_t lock;
    struct {
        char *name;
        struct dataset *data;
        char content[CONTENT_SIZE]; /* "": not asked for yet */
    } * at;
    int n;
    bool lent; /* at[0] is somebody else's, and what every name means */
};

int shelf_open(struct shelf **out)
{
    struct shelf *s = mem_alloc(sizeof *s);
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return 0;
}

void shelf_close(struct shelf *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++) {
        free(s->at[i].name);
        if (!s->lent)
            dataset_close(s->at[i].data);
    }
    free(s->at);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static void put(struct shelf *s, const char *name, struct dataset *d)
{
    s->at = mem_grow(s->at, (size_t)s->n + 1, sizeof *s->at);
    s->at[s->n].name = mem_string(name);
    s->at[s->n].content[0] = '\0';
    s->at[s->n++].data = d;
}

static int find(struct shelf *s, const char *name, int *at)
{
    struct dataset *d = NULL;
    if (s->lent)
        return *at = 0;
    for (*at = 0; *at < s->n; ++*at)
        if (strcmp(s->at[*at].name, name) == 0)
            return 0;
    int err = dataset_find(&d, name);
    if (err)
        return err;
    dataset_tell_unlabelled(d);
    put(s, name, d);
    return 0;
}

void shelf_lend(struct shelf *s, const struct dataset *data)
{
    put(s, data->name, (struct dataset *)data);
    s->lent = true;
}

int shelf_dataset(struct shelf *s, const char *name, const struct dataset **out)
{
    int at = 0;
    pthread_mutex_lock(&s->lock);
    int err = find(s, name, &at);
    if (!err)
        *out = s->at[at].data;
    pthread_mutex_unlock(&s->lock);
    return err;
}

int shelf_content(struct shelf *s, const char *name, char out[CONTENT_SIZE])
{
    int at = 0;
    pthread_mutex_lock(&s->lock);
    int err = find(s, name, &at);
    if (!err && !*s->at[at].content)
        err = dataset_content(s->at[at].data, s->at[at].content);
    if (!err)
        snprintf(out, CONTENT_SIZE, "%s", s->at[at].content);
    pthread_mutex_unlock(&s->lock);
    return err;
}
