/* added.h - plug-ins that a program adds while it runs, beside those of a registry's table.
 *
 * A list of one kind of plug-in, by name.  What is in use is held, and cannot be removed.
 */
#ifndef BASE_ADDED_H
#define BASE_ADDED_H

#include <pthread.h>
#include <stdbool.h>

struct added_row {
    const char *name; /* borrowed from the plug-in */
    void *plugin;
    int held;
};
struct added {
    const char *kind; /* "method", for messages */
    pthread_mutex_t lock;
    struct added_row *at;
    int n;
};
#define ADDED(kind)                                                                                \
    {                                                                                              \
        kind, PTHREAD_MUTEX_INITIALIZER, NULL, 0                                                   \
    }

/* METE_EINVAL for a name that is taken. */
int added_put(struct added *a, const char *name, void *plugin);
/* *plugin is what was taken out; METE_EINVAL for a name that is not there or is held. */
int added_take(struct added *a, const char *name, void **plugin);
void *added_at(struct added *a, int i);                /* NULL past the last */
void *added_find(struct added *a, const char *name);   /* NULL: none */
void added_hold(struct added *a, const void *plugin);  /* one that is not of the list is fine */
void added_leave(struct added *a, const void *plugin); /* ends one hold */

#endif
