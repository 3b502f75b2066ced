/* added.c - plug-ins that a program adds while it runs. */
#include "base/added.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static struct added_row *named(struct added *a, const char *name)
{
    for (int i = 0; i < a->n; i++)
        if (strcmp(a->at[i].name, name) == 0)
            return &a->at[i];
    return NULL;
}

int added_put(struct added *a, const char *name, void *plugin)
{
    int err = 0;
    pthread_mutex_lock(&a->lock);
    if (named(a, name)) {
        err = fail(METE_EINVAL, "a %s named '%s' was added before; remove it first", a->kind, name);
    } else {
        a->at = mem_grow(a->at, (size_t)a->n + 1, sizeof *a->at);
        a->at[a->n++] = (struct added_row){name, plugin, 0};
    }
    pthread_mutex_unlock(&a->lock);
    return err;
}

int added_take(struct added *a, const char *name, void **plugin)
{
    int err = 0;
    pthread_mutex_lock(&a->lock);
    struct added_row *row = named(a, name);
    if (!row) {
        err = fail(METE_EINVAL, "no %s named '%s' was added", a->kind, name);
    } else if (row->held) {
        err = fail(METE_EINVAL, "the %s '%s' is in use", a->kind, name);
    } else {
        *plugin = row->plugin;
        int after = a->n - 1 - (int)(row - a->at);
        memmove(row, row + 1, (size_t)after * sizeof *row);
        if (--a->n == 0) {
            free(a->at);
            a->at = NULL;
        }
    }
    pthread_mutex_unlock(&a->lock);
    return err;
}

void *added_at(struct added *a, int i)
{
    pthread_mutex_lock(&a->lock);
    void *plugin = i >= 0 && i < a->n ? a->at[i].plugin : NULL;
    pthread_mutex_unlock(&a->lock);
    return plugin;
}

void *added_find(struct added *a, const char *name)
{
    pthread_mutex_lock(&a->lock);
    struct added_row *row = named(a, name);
    void *plugin = row ? row->plugin : NULL;
    pthread_mutex_unlock(&a->lock);
    return plugin;
}

static void count(struct added *a, const void *plugin, int more)
{
    pthread_mutex_lock(&a->lock);
    for (int i = 0; i < a->n; i++)
        if (a->at[i].plugin == plugin)
            a->at[i].held += more;
    pthread_mutex_unlock(&a->lock);
}

void added_hold(struct added *a, const void *plugin)
{
    count(a, plugin, 1);
}

void added_leave(struct added *a, const void *plugin)
{
    count(a, plugin, -1);
}
