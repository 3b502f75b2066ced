/* annotators.h - who is asked what: several annotators at once, each with a few items chosen ahead.
 *
 * A thread of its own chooses, by ask_people as `mete label next` does, so that nobody who answers
 * waits for a choice.  An item that one annotator holds is asked of nobody else, until they answer,
 * skip it, or are silent for long.  What is answered is on the disk when a call returns.
 *
 * Any thread may call any function.
 */
#ifndef SERVE_ANNOTATORS_H
#define SERVE_ANNOTATORS_H

#include "people/ask.h"

struct annotators;
struct annotators_options {
    const char *data, *model, *strategy; /* as in struct people_options */
    const char *const *set, *device;
    int round;       /* questions chosen at a time */
    millionths cost; /* of an answer */
};
int annotators_open(struct annotators **out, const struct annotators_options *o);
void annotators_stop(struct annotators *a);  /* nobody waits any more */
void annotators_close(struct annotators *a); /* NULL is fine */

struct annotator {
    const char *who;  /* never empty */
    const char *user; /* whose items; NULL: everybody's */
    bool second;      /* items that others have labelled, to see whether they agree */
    int64_t ahead;    /* items that are shown to them at once; 0: AHEAD */
};

enum nothing_left { LEFT_SOME, LEFT_NONE, LEFT_SKIPPED, LEFT_TO_OTHERS, LEFT_NO_BUDGET };
/* Items that a page is given: the one at hand, and the next; and the most of them. */
enum { AHEAD = 3, AHEAD_MOST = 20 };
struct view { /* what an annotator sees */
    struct question next[AHEAD_MOST];
    int n;
    enum nothing_left left;   /* why there is no item; LEFT_SOME: some are being chosen */
    int64_t last;             /* the item of their last answer, or -1 */
    int64_t mine;             /* answers of theirs that stand */
    int64_t open, answered;   /* of the items that they are asked about */
    double spent, budget;     /* labels; budget 0: none */
    int person;               /* the model speaks of, or -1 */
    double sure, sure_before; /* its mean probability of what it predicts of the open items, now and
                                 at first; NaN: nobody knows */
};

/* Waits a while where items are being chosen.  `again`: what was skipped, too. */
int annotators_look(struct annotators *a, const struct annotator *who, bool again,
                    struct view *out);
/* klass NULL: they do not know.  The same again changes nothing. */
int annotators_answer(struct annotators *a, const struct annotator *who, int64_t item,
                      const char *klass, struct view *out);
int annotators_skip(struct annotators *a, const struct annotator *who, int64_t item,
                    struct view *out);
/* Takes back what they said of an item last, which becomes the next. */
int annotators_undo(struct annotators *a, const struct annotator *who, int64_t item,
                    struct view *out);
/* A class that the data do not have. */
int annotators_add_class(struct annotators *a, const char *who, const char *klass);

/* With answers as they stand, which nobody changes meanwhile. */
typedef void answers_fn(void *user, const struct answers *a);
int annotators_read(struct annotators *a, answers_fn *fn, void *user);
/* With people and a model as they stand, which nobody else uses meanwhile. */
typedef int people_fn(void *user, struct people *p);
int annotators_with_people(struct annotators *a, people_fn *fn, void *user);
const struct people *annotators_people(const struct annotators *a); /* what never changes of it */
int annotators_round(const struct annotators *a);                   /* questions chosen at a time */

#endif
