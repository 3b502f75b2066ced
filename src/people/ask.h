/* ask.h - questions for one person, or for everybody within what labels are left. */
#ifndef PEOPLE_ASK_H
#define PEOPLE_ASK_H

#include "people/people.h"

struct question {
    int64_t item;
    int person, round, cluster; /* cluster -1: none */
    float entropy;              /* NaN: nobody knows */
    int guess;                  /* the model's class, or -1 */
    float sure;                 /* the probability of that, or NaN */
};
struct ask { /* zeroed is empty */
    struct question *at;
    int64_t n;
    int people, done; /* who are asked; who have nothing left to be asked about */
};
void ask_release(struct ask *a);

/* At most `most` questions for each of the people, and `all` together, shared out by what they are
 * expected to bring.  person -1: everybody. */
int ask_people(const struct people *p, int person, int most, int64_t all, uint64_t seed,
               struct ask *out);

#endif
