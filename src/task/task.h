/* task.h - small classification problems drawn from a dataset.
 *
 * Few-shot tasks: `ways` classes drawn at random, `task.query` items of each as
 * the query set, the whole rest of those classes as the unlabelled pool.  User
 * tasks: one user each, all classes; the pool is the user's training part, the
 * query the user's whole test part or some of it, and shots are a cap per class.
 *
 * A task is a function of (seed, part, number): any one can be drawn without the
 * ones before it, by any thread.
 *
 * A task holds no labels.  They are revealed by ledger.h, which charges first.
 * The pool is in random order, so that a position in it says nothing of a class.
 */
#ifndef TASK_TASK_H
#define TASK_TASK_H

#include "base/param.h"
#include "data/dataset.h"
#include "task/bench.h"
#include "task/split.h"

enum task_kind { TASK_AUTO, TASK_CLASSES, TASK_USERS };
enum task_cap { CAP_POOL, CAP_PRESENT };

struct task_settings {
    char split[PARAM_TEXT_SIZE];
    int split_seed;
    int folds, fold; /* folds 0: none; fold: 1..folds, 0 is the first */
    int shots;       /* 0: those of the benchmark's name */
    int query;       /* items per class; 0: 1 for a few-shot task, all there are of a user */
    int query_is;    /* 0 drawn for each task, 1 of each class the same in all training tasks */
    int pool;        /* unlabelled items per class; 0: the whole rest */
    int kind;        /* enum task_kind */
    int cap;         /* enum task_cap */
    double holdout;  /* of a user's items where the dataset has no parts */
    int train_ways;  /* of a few-shot training task; 0: those of the benchmark's name */
    int labels;      /* that a user gives in all, support and query; 0: shots and query say it */
};
extern const struct param task_params[]; /* for a section named "" */

struct tasks; /* a distribution over tasks */

/* Keeps `d`, which must outlive it.  Refuses what no part has tasks for. */
int tasks_open(struct tasks **out, const struct dataset *d, const struct bench *b,
               const struct task_settings *s, uint64_t seed);
void tasks_close(struct tasks *t); /* NULL is fine */
/* METE_EINVAL, with why, for a part that has no tasks: more ways than classes, more
 * shots and query than items, no classes at all.  (The 16 validation classes of
 * mini-ImageNet make no 20-way task, and its training classes do.) */
int tasks_check(const struct tasks *t, int part);

const struct dataset *tasks_dataset(const struct tasks *t);
const struct split *tasks_split(const struct tasks *t);
uint64_t tasks_seed(const struct tasks *t);
bool tasks_are_users(const struct tasks *t);
int tasks_ways(const struct tasks *t);
int tasks_shots(const struct tasks *t); /* 0: a support is so many labels in all */
/* How many different tasks a part has: its users, or INT64_MAX.  Larger numbers
 * are fine and begin again with the first user. */
int64_t tasks_count(const struct tasks *t, int part);
/* Supports of `labels` labels in all (of a user at most as many as the pool has), not of so many
 * for each class. */
int tasks_ask(struct tasks *t, int labels);
/* Leaves a part the first n users of its order. */
void tasks_limit(struct tasks *t, int part, int n);
/* All items of a class, whether bought or not. */
const int32_t *tasks_class_items(const struct tasks *t, int klass, int *n);
/* The most a task of any part can hold, for planning memory. */
int tasks_max_pool(const struct tasks *t);
int tasks_max_query(const struct tasks *t);
int tasks_max_labels(const struct tasks *t);

/* One task.  Zeroed, then filled by task_draw as often as wanted; task_release
 * gives its memory back. */
struct task {
    const struct tasks *from;
    int part; /* enum dataset_split */
    int64_t number;
    int user;   /* -1: none */
    int ways;   /* labels are 0..ways-1 */
    int labels; /* how many to buy for the support */
    int n_pool, n_query;
    int32_t *classes; /* (ways) the dataset's class for each label */
    int32_t *pool;    /* (n_pool) items, in random order */
    int32_t *query;   /* (n_query) items */
    int room;         /* private: of pool and query */
};
int task_draw(const struct tasks *t, int part, int64_t number, struct task *out);
void task_release(struct task *task);

/* What a learner gets to see of a task: items and the labels paid for. */
struct episode {
    int64_t task;
    int user, ways, n_support, n_query;
    int32_t *support, *support_label; /* (n_support) items, labels 0..ways-1 */
    int32_t *query, *query_label;     /* (n_query) */
};
/* Room for one; the four arrays are one block, given back by episode_release. */
void episode_init(struct episode *e, const struct task *task, int n_support);
void episode_release(struct episode *e);

/* What episode_check works in; zeroed, then given back by episode_scratch_release. */
struct episode_scratch {
    struct task task;
    uint8_t *where; /* (items) in the pool, in the query, or in neither */
};
void episode_scratch_release(struct episode_scratch *s);
/* Whether an episode read from a file is a task of this part as it is bought: its number's user,
 * ways and query, different points of its pool, and the labels all these have. */
int episode_check(const struct tasks *t, int part, const struct episode *e,
                  struct episode_scratch *s);

#endif
