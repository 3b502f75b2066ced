/* ranks_calls.h - the messages of a learner that many ranks share, for ranks_learner.c (the root)
 * and ranks_serve.c (the others).
 */
#ifndef RUN_RANKS_CALLS_H
#define RUN_RANKS_CALLS_H

#include "base/ranks.h"
#include "config/config.h"
#include "method/learner.h"

/* What a message asks for. */
enum ranks_call {
    CALL_END, /* leave the team, or the job */
    CALL_OPEN,
    CALL_STEP,
    CALL_ADAPT,
    CALL_PREDICT,
    CALL_CLUSTER,
    CALL_LOAD,
    CALL_CLOSE,
    CALL_TEAMS, /* work for a suite (sweep_ranks.c), until … */
    CALL_RUN,
    CALL_LEAVE, /* … this */
    CALL_STUDY, /* a share of mete_stability() */
    CALL_SPEED, /* steps to be timed (ranks_speed.c), until CALL_CLOSE */
};

/* What the root of a team says of its run. */
enum ranks_report {
    REPORT_METER,
    REPORT_PROGRESS, /* of a study */
    REPORT_LOG,
    REPORT_DONE,
};

/* Tasks from..to-1 of `tasks` are rank i's to adapt to and to predict. */
struct task_share {
    int from, to;
};
struct task_share share_of(const struct ranks *team, int i, int tasks);

void put_settings(struct message *m, const struct settings *s);
void get_settings(struct message *m, struct settings *out);
void put_items(struct message *m, const struct items *s);
void get_items(struct message *m, struct items *out); /* items_free */
void items_free(struct items *s, int n);
void put_tasks(struct message *m, const struct labelled_task *tasks, int n);
struct labelled_task *get_tasks(struct message *m, int *n); /* tasks_free */
void tasks_free(struct labelled_task *tasks, int n);
void put_tensors(struct message *m, const struct tensors *t);
int get_tensors(struct message *m, struct tensors *out);

/* What is wanted of a task's prediction: a bit of each array there is. */
enum { WANT_PROBS = 1, WANT_REPS = 2, WANT_ENTROPY = 4 };
int wants_of(const struct predicted *p, int task);
/* Room for the predictions of n tasks as they are wanted; free it with predictions_free. */
struct predicted predictions_new(const struct learner *l, int n, const struct items *query,
                                 const uint8_t *wants, bool clusters);
void predictions_free(struct predicted *p, int n);

/* Refuses a dataset that holds something else than rank 0's. */
int ranks_other_content(const char *name, const char *here, const char *there);

/* An answer of a rank to the root: a verdict, and what comes with it. */
int reply_send(struct ranks *team, int code, const struct message *more);
/* The failure has the rank's name; *m is what came with it. */
int reply_receive(struct ranks *team, int from, struct message *m);

#endif
