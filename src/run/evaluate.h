/* evaluate.h - how good a learner is on tasks it was not trained on. */
#ifndef RUN_EVALUATE_H
#define RUN_EVALUATE_H

#include "label/label.h"
#include "run/meter.h"
#include "store/store.h"

struct evaluation {
    const struct tasks *tasks; /* with the shots of the supports */
    int part;
    int n;                       /* tasks 0..n-1 of the part */
    struct labeller *support;    /* who chooses the supports */
    const struct episode *given; /* (n) NULL, or tasks to score instead of those */
    bool before;                 /* also without adaptation */
    bool keep;                   /* only those adapt who are served better by it (predict.h) */
    struct meter *meter;         /* told after some tasks each; NULL: nobody is told */
    struct ledger *ledger;       /* that records the labels; NULL: nobody does */
};

struct score {
    struct store_task *rows; /* (n) */
    int n;
    struct store_bin bins[STORE_BINS];
    uint64_t tasks_hash;         /* of the tasks: supports, queries and labels */
    double accuracy, half, loss; /* means over tasks, and the 95 % half width */
};

/* METE_EDIVERGE where predictions are not numbers.  Fills `out`, which is given back with
 * score_release. */
int evaluate(struct learner *l, const struct evaluation *what, struct score *out);
void score_release(struct score *s);

#endif
