/* mete_theory.h - the theory of meta-learning on a label budget: bounds, stability, drift.
 *
 * Beside mete.h, and by the same rules.
 */
#ifndef METE_THEORY_H
#define METE_THEORY_H

#include "mete.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the paper's bounds (docs/theory.md) ---- */

/* A stochastic gradient method: the outer loop over tasks, or the inner one over
 * the points of a task.  All numbers are doubles and none may be negative. */
struct mete_sgm {
    double lipschitz; /* L: the largest gradient norm */
    double smooth;    /* gamma: the largest curvature */
    double c;         /* step sizes are at most c/t; 0 with an lr: lr * steps */
    double steps;     /* T, a whole number */
    double lr;        /* a constant step size; 0: they fall as c/t, as the theory asks */
    double batch;     /* examples a step sees; the theory's method sees 1 */
    double beta;      /* its stability where that is known; NaN: by the lemma */
    bool adam;        /* it is Adam, which the theory does not cover */
};

enum mete_estimator { METE_ESTIMATOR_HELDOUT, METE_ESTIMATOR_EMPIRICAL };

struct mete_bound_setting {
    enum mete_estimator estimator; /* of the transfer risk, which the outer loop minimises */
    double n, m;      /* tasks, and points per task (0 where the bound does not use it); whole */
    double delta;     /* the bound holds with probability 1 - delta */
    double max_loss;  /* M: the loss lies in [0, M] */
    double loss_seen; /* the largest loss met in practice, refused above M; 0: unknown */
    bool rescale;     /* restate the lemma for a loss in [0, M] instead of [0, 1] */
    bool tight;       /* take the best gamma at or above the one given */
    struct mete_sgm outer, inner;
};

struct mete_bound {
    double n, m;
    double outer_c,
        outer_beta; /* the lemma's C' and beta' = C'/(n-1); C' is NaN for a given beta */
    double inner_c, inner_beta; /* C and beta = C/(m-1); NaN where the bound has no inner part */
    double outer, inner;        /* B' and B = 2 beta */
    double total;               /* transfer risk - meta-training objective <= total */
    bool vacuous;               /* total is above M */
};

struct mete_bound_setting mete_bound_defaults(void); /* every constant 1, delta 0.05 */
/* Which estimator a method minimises: "maml", "protonet", "reptile", "fedavg", … */
int mete_bound_method(const char *method, enum mete_estimator *out);
int mete_bound(const struct mete_bound_setting *s, struct mete_bound *out);
/* The n and m (at least s->m, or 2) with n * (m + per_task) <= budget and the least bound. */
int mete_bound_best(const struct mete_bound_setting *s, double budget, double per_task,
                    struct mete_bound *out);
/* Note number `i` on how the setting meets the theory's assumptions: false past
 * the last.  `id` is one word ("outer-range"), *broken says that the bound is not
 * proved for this setting. */
bool mete_bound_note(const struct mete_bound_setting *s, int i, const char **id, bool *broken,
                     char *text, size_t size);

/* ---- stability and smoothness, measured (docs/theory.md) ---- */

struct mete_study {    /* what a study measures; tasks come from the benchmark's training part */
    const char *bench; /* its budget says how many tasks, unless `tasks` does */
    const char *method, *net, *labels, *device; /* NULL: maml, conv4, random, cpu */
    const char *const *set;                     /* "key=value", NULL at the end; may be NULL */
    uint64_t seed;
    int threads;     /* 0: one per core */
    int tasks;       /* n; 0: as many as the budget pays for */
    int fresh;       /* tasks that training does not see, of the same distribution */
    int removals;    /* tasks, and points of a task, left out in turn */
    int probed;      /* tasks whose gradients and curvatures are measured */
    double max_loss; /* M: every loss that is compared is clipped to it */
    double delta;    /* of the bounds */
};
struct mete_study mete_study_defaults(void);

struct mete_measured {
    double largest;    /* the largest change met: a lower estimate of the uniform stability */
    double mean, half; /* over what was left out, and half its 95 % interval */
};

struct mete_stability {
    enum mete_estimator estimator;
    int n, m, outer_steps, inner_steps, removals, fresh;
    double max_loss, delta;
    struct mete_measured outer_beta; /* |R(A(D), S) - R(A(D without a task), S)| over fresh S */
    struct mete_measured inner_beta; /* |loss(A(S)) - loss(A(S without a point))| at fresh points */
    double exceeding; /* with 95 % confidence, at most this share of tasks moves R by more */
    double outer_l, outer_gamma, inner_l, inner_gamma; /* NaN where there is no such loop */
    struct mete_measured objective, risk; /* of A(D): what it minimised; on fresh tasks */
    double gap, gap_half;                 /* risk - objective, which the theory bounds */
    double gap_outer, gap_inner;          /* its part between tasks, and within a task */
    struct mete_bound by_beta;            /* Theorem 1 or 2 with the measured stability */
    struct mete_bound by_lemma;           /* Theorem 3 with the measured constants, c = lr T */
};
int mete_stability(const struct mete_study *o, struct mete_stability *out);

/* The bound's shape, a + b/sqrt(n) + c/m, by least squares over the runs of a study that
 * share data, a method and a strategy; b and c are NaN where the runs do not vary n or m. */
struct mete_shape {
    char dataset[96], method[32], labels[32];
    char measure[32]; /* "gap", "gap_inner", "outer_L", ... */
    int runs;
    double a, a_half, b, b_half, c, c_half; /* with half their 95 % intervals */
    double r2;
};
int mete_shape(const char *db, struct mete_shape **out, int *n); /* mete_free() *out */

/* Reptile's update u = theta(0) - theta(T) against the exact gradient G of its objective
 * (appendix A), for one inner step size and number of steps: means over o->probed tasks
 * and half their 95 % intervals. */
struct mete_drift {
    double lr;
    int steps, tasks;
    double cosine, cosine_half;       /* between u and G */
    double deviation, deviation_half; /* |u / (lr T) - G| / |G| */
    double raw;                       /* |u - G| / |G|: as the appendix writes it */
    double summed;                    /* |u / lr - G| / |G| */
    double bound;        /* the appendix's bound on that: (1 - lr lambda) max|g| (T - 1) / |G| */
    double left_printed; /* of u / lr - G after the appendix's (I - lr H)(g(0) + … + g(T-2)) */
    double left_second;  /* the same after g(0) + … + g(T-2) + lr (T + 1) H g(0) */
};
/* One row for each of the step sizes and numbers of steps, steps innermost, at initial
 * weights or, if `trained`, at those that Reptile learns.  NaN where the loop diverges. */
int mete_drift(const struct mete_study *o, bool trained, const double *lrs, int n_lrs,
               const int *steps, int n_steps, struct mete_drift *rows);

#ifdef __cplusplus
}
#endif
#endif
