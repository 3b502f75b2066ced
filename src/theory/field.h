/* field.h - the tasks that an experiment is about, and models trained on them.
 *
 * Training tasks are numbers 0..n-1 of the benchmark's training part, fresh tasks
 * the next ones: the same distribution, as the theory has it, so that a gap between
 * the two is not one between training and test classes.
 *
 * A method that minimises the empirical estimator (Reptile, FedAvg) learns from a
 * task's support alone here, so that m is its size and the query is fresh data.
 */
#ifndef THEORY_FIELD_H
#define THEORY_FIELD_H

#include "mete_theory.h"
#include "method/engine.h"
#include "run/setup.h"

struct field {
    struct setup setup;
    struct bench bench;
    struct dataset *dataset;
    struct tasks *tasks;
    struct engine_spec spec; /* of every engine */
    enum mete_estimator estimator;
    struct episode *train, *fresh;
    int n, n_fresh;
    int inner_steps; /* 0: no inner gradient steps */
    double inner_lr;
    bool inner_sum; /* the inner loss is a sum, not a mean */
    double max_loss;
};

/* Opens plug-ins and data and buys the tasks.  A strategy that asks a learner gets
 * one trained on tasks labelled at random. */
int field_open(struct field *f, const struct mete_study *o);
void field_close(struct field *f); /* a zeroed one is fine */

struct labelled_task field_labelled_task(const struct field *f, const struct episode *e);

/* Called after `step` updates: 0 (before the first), …, train.steps. */
typedef int field_fn(void *user, struct engine *e, int step);

/* Trains on all tasks but `without` (-1: on all): the same initial weights, and the
 * same tasks in every step; a step goes on without the task that is left out.
 * watch may be NULL.  engine_close() the engine. */
int field_train(const struct field *f, int without, field_fn *watch, void *user,
                struct engine **out);

/* The mean loss, clipped, of each task after adapting to its support: on its query,
 * or on that support. */
enum field_part { FIELD_QUERY, FIELD_SUPPORT };
int field_risks(const struct field *f, struct engine *e, const struct episode *tasks, int n,
                enum field_part part, double *risk);
/* The part whose risk the method's objective is made of. */
enum field_part field_objective(const struct field *f);

/* For up to FIELD_TASKS tasks side by side: the clipped loss at each of `points` after
 * adapting to `support`. */
enum { FIELD_TASKS = 32 };
int field_losses(const struct field *f, struct engine *e, const struct items *support,
                 const struct items *points, int tasks, double *const *loss);

#endif
