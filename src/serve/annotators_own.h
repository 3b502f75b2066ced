/* annotators_own.h - what the files that ask annotators share: who holds what. */
#ifndef SERVE_ANNOTATORS_OWN_H
#define SERVE_ANNOTATORS_OWN_H

#include "serve/annotators.h"

#include <pthread.h>

/* An annotator at one task: whose items, new ones or second answers. */
struct holder {
    char *who;
    int person; /* -1: everybody */
    bool second;
    int ahead;
    struct question *held; /* (n) the first is at hand */
    int n;
    int64_t *skipped; /* (skips) */
    int skips;
    double heard;  /* when they were heard of last */
    double took;   /* seconds that their last choice took */
    bool hungry;   /* more are to be chosen */
    bool finished; /* there was nothing to choose */
    int err;       /* of the choice, with its sentence */
    char *why;
    int spoken_of; /* the person of the next two, or -1 */
    double sure, sure_before;
    int64_t counted; /* rows of the ledger when `open`, `answered` and `mine` were counted, or -1 */
    int64_t open, answered, mine;
    struct holder *next;
};

struct annotators {
    struct annotators_options o;
    pthread_mutex_t lock;   /* of all but `people`, which `choosing` has */
    pthread_cond_t changed; /* what somebody holds, who is hungry, or `closing` */
    pthread_t chooser;
    bool closing;
    struct answers *answers;
    struct holder *holders;
    uint8_t *busy; /* (items) somebody holds it */
    pthread_mutex_t choosing;
    struct people people;
    uint8_t *avoid; /* (items) busy, or skipped by whom is chosen for */
};

/* All of these with the lock held. */

/* ---- holders.c: what somebody holds ---- */

const struct dataset *annotators_data(const struct annotators *a);
/* The annotator at that task; METE_EINVAL says what is wrong with it. */
int holder_find(struct annotators *a, const struct annotator *w, struct holder **out);
void holder_hold(struct annotators *a, struct holder *h, const struct question *q, bool first);
void holder_let_go(struct annotators *a, struct holder *h, int64_t item);
void holder_let_go_answered(struct annotators *a, struct holder *h);
int holder_place(const struct holder *h, int64_t item); /* among those held, or -1 */
void holder_skip(struct holder *h, int64_t item);
void holder_unskip(struct holder *h, int64_t item);
bool holder_has_skipped(const struct holder *h, int64_t item);
/* Whether an item is still to be asked about. */
bool holder_may_be_asked(const struct annotators *a, const struct holder *h, int64_t item);
/* How many items the task is about; which, or NULL: all of the dataset. */
int64_t holder_items(const struct annotators *a, const struct holder *h, const int64_t **item);
void holders_let_go_silent(struct annotators *a);
void holders_look_again(struct annotators *a); /* whoever had nothing left may have something now */

/* ---- choose.c ---- */

/* Chooses more in time: whoever answers an item a second shall find the next chosen. */
void holder_feed(struct annotators *a, struct holder *h);
void *annotators_chooser(void *annotators); /* the thread */

#endif
