/* people.h - the people of a dataset, with what they have answered, and perhaps a model.
 *
 * A dataset without users is one person's.
 */
#ifndef PEOPLE_PEOPLE_H
#define PEOPLE_PEOPLE_H

#include "data/answers.h"
#include "people/questions.h"

struct people {
    struct answers *answers;
    const struct dataset *d; /* as imported */
    struct questions *questions;
    const char **classes; /* (n_classes) with those that people had added when it was opened */
    int n_classes;
    int n;               /* people */
    int64_t *first;      /* (n + 1) into item */
    int64_t *item;       /* (items) of each person, ascending */
    const uint8_t *busy; /* (items) not 0: not to be asked about now; or NULL; borrowed */
};

struct people_options {
    const char *data, *model, *strategy; /* as in struct questions_options */
    const char *const *set, *device;
    bool nobody_asked; /* generated data are fine, too */
};
int people_open(struct people *out, const struct people_options *o);
void people_close(struct people *p); /* zeroed is fine */

const char *people_name(const struct people *p, int person, char buffer[16]); /* "" without users */
/* The person of that name; METE_EINVAL names one that is near.  NULL: the one there is. */
int people_find(const struct people *p, const char *name, int *person);
int64_t people_items(const struct people *p, int person, const int64_t **item);

/* What may be asked of a person, and what is known: items that are busy, and those that somebody
 * said not to know, are left out.  Give back with pool_release. */
struct pool people_pool(const struct people *p, int person);
void pool_release(struct pool *pool);

/* Adapts the model to what is known of a person, perhaps nothing. */
int people_adapt(const struct people *p, int person);

/* Of everybody (n), free() it: 1, and 1 more for each batch of their answers. */
int *people_rounds(const struct people *p);

#endif
