/* shelf.c - datasets by name, each opened once and shared. */
#include "run/experiment.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct shelf {
    pthread_mutex_t lock;
    struct {
        char *name;
        struct dataset *data;
    } * at;
    int n;
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
        dataset_close(s->at[i].data);
    }
    free(s->at);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static int open_new(struct shelf *s, const char *name, const struct dataset **out)
{
    struct dataset *d = NULL;
    int err = dataset_find(&d, name);
    if (err)
        return err;
    s->at = mem_grow(s->at, (size_t)s->n + 1, sizeof *s->at);
    s->at[s->n].name = mem_string(name);
    s->at[s->n++].data = d;
    *out = d;
    return 0;
}

int shelf_dataset(struct shelf *s, const char *name, const struct dataset **out)
{
    int err = 0, i = 0;
    pthread_mutex_lock(&s->lock);
    while (i < s->n && strcmp(s->at[i].name, name) != 0)
        i++;
    if (i < s->n)
        *out = s->at[i].data;
    else
        err = open_new(s, name, out);
    pthread_mutex_unlock(&s->lock);
    return err;
}
