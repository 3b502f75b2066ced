/* label.h - strategies: which points of a pool are labelled.
 *
 * To add a strategy: write src/label/NAME.c ending in a `const struct label_ops`,
 * and add it to the table in label_registry.c.  docs/adding-a-strategy.md walks
 * through one.
 *
 * A strategy sees a pool only through struct label_view: positions, the current
 * learner's predictions, and the labels bought so far.  It sees no item
 * numbers and no labels that were not bought, so it cannot cheat by accident.
 */
#ifndef LABEL_LABEL_H
#define LABEL_LABEL_H

#include "base/param.h"
#include "base/threads.h"
#include "base/rng.h"
#include "method/learner.h"
#include "task/ledger.h"
#include "task/task.h"

enum label_needs {
    LABEL_PROBS = 1,     /* the learner's predictions */
    LABEL_REPS = 2,      /* its representations */
    LABEL_ORACLE = 4,    /* the true labels: for upper bounds only */
    LABEL_ENTROPY = 8,   /* of the predictions alone */
    LABEL_CLUSTERS = 16, /* of the representations alone */
    LABEL_LEARNER = LABEL_PROBS | LABEL_REPS | LABEL_ENTROPY | LABEL_CLUSTERS,
};

/* All that a strategy sees of one task. */
struct label_view {
    int n, ways, features;
    int shots;                /* labels for each class; 0: any number, the whole is given */
    int round;                /* 0, 1, … */
    const uint8_t *available; /* (n) 1: not bought yet */
    const int32_t *known;     /* (n) the label bought, or -1 */
    const float *probs;       /* (n, ways), with LABEL_PROBS */
    const float *reps;        /* (n, features), with LABEL_REPS */
    const float *entropy;     /* (n) in nats, with LABEL_ENTROPY */
    const int32_t *oracle;    /* (n), with LABEL_ORACLE */
    int clusters;             /* found this round, with LABEL_CLUSTERS */
    const int32_t *cluster;   /* (n) 0..clusters-1, of available points */
    const int32_t *central;   /* (clusters) the point nearest to a centre; -1: an empty cluster */
    int32_t *memo;            /* (n) the strategy's own, kept between rounds; -1 at first */
};

struct label_ops {
    const char *name;           /* "active": its name in settings and results */
    const char *summary;        /* one line, for `mete list labels` */
    size_t state_size;          /* bytes of settings, filled from params */
    const struct param *params; /* keys labels.NAME; may be NULL */
    const void *self;           /* a pointer that the state begins with; NULL: it does not */
    unsigned needs;             /* enum label_needs; 0: needs no learner, one round */

    /* With LABEL_CLUSTERS: how many clusters of the available points to look for; 0: none, in
     * this round. */
    int (*clusters)(const void *state, const struct label_view *v, int want);
    /* Writes at most `want` distinct available positions to picks (want) and
     * returns how many, or a negative METE_E*.  Called from any thread. */
    int (*choose)(const void *state, const struct label_view *v, int want, struct rng *r,
                  int32_t *picks);
};

const struct label_ops *label_at(int i);              /* NULL past the last */
const struct label_ops *label_find(const char *name); /* NULL, with a sentence, for no strategy */

struct label_settings {
    int round; /* labels per round; 0: ways */
};
extern const struct param label_params[]; /* for a section named "labels" */

/* A strategy with its settings, ready to buy. */
struct labeller {
    const struct label_ops *ops;
    void *state; /* ops->state_size bytes; the section "labels" of ops->params */
    struct label_settings settings;
    struct task *slot; /* private: tasks being bought */
    int slots;
};
int labeller_open(struct labeller *out, const char *name); /* with default settings */
void labeller_close(struct labeller *l);                   /* a zeroed one is fine */
/* Adds both tables to `set` under "labels". */
void labeller_params(struct labeller *l, struct param_set *set);

struct label_request {
    const struct tasks *tasks;
    int part;
    int64_t first; /* number of the first task */
    int n;
    struct ledger *ledger;
    struct learner *learner; /* NULL where the strategy needs none */
    struct threads *threads; /* NULL: this thread alone */
};

/* Draws tasks first..first+n-1 and buys each one's support and query.  *bought is
 * how many there was money for; episodes[0..*bought) are filled, to be given back
 * with episode_release.  Running out of budget is not a failure: *bought < n says so.
 * The purchases are the same for any number of threads. */
int labeller_buy(struct labeller *l, const struct label_request *q, struct episode *episodes,
                 int *bought);

#endif
