/* model.h - a meta-learned model as people use it: loaded without the dataset it was trained on,
 * adapted to one task at a time, asked, saved.
 *
 * It is a learner (method/learner.h) whose dataset is whatever array is at hand: `shown` is pointed
 * at the caller's items for the time of a call.  Two kinds of task follow from the method:
 *   - adapted weights, which the learner keeps (methods with a head, baselines);
 *   - prototypes, the mean representation of each class, kept here (methods that compare
 *     representations), so that a prediction embeds nothing but what is asked about.
 * Where predictions need the support itself (net.bn=support, method.joint) it is kept, and put in
 * front of what is asked about.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "config/config.h"
#include "run/card.h"
#include "run/setup.h"
#include "net/net.h"

struct mete_model {
    char *name; /* of its file, for messages */
    struct settings settings;
    struct safetensors_pair *says; /* all the file said; ours */
    int n_says;
    struct setup setup;
    struct learner *learner;
    struct dataset takes;   /* shape, scale and classes of what it takes; without items */
    struct dataset shown;   /* the items at hand, as its learner sees them */
    struct columns columns; /* of the table it was trained on, or empty */
    bool frozen;            /* batch norm by frozen statistics */
    bool has_frozen;        /* the file has some */
    char *frozen_of;        /* what they are of */
    /* the task */
    bool adapted;
    int labelled;
    struct words classes; /* names, or none */
    float *prototypes;    /* (ways, features), where the method compares */
    float *count;         /* (ways) how many items each is the mean of */
    /* the support, where predictions need it: its items, then room for what is asked about */
    char *kept;
    struct mete_array kept_as; /* shape and scale of those */
    int n_kept;
};

/* Its net, as its settings build it, in the layout of `k`: for what needs layers and tensors by
 * name.  METE_EINVAL for a baseline, which has none. */
int model_net(const struct mete_model *m, const struct kernels *k, struct net *out);
/* Tensors by PyTorch's names: the weights as learned, with the statistics; or those adapted to the
 * task.  Give back with tensors_release. */
int model_weights(struct mete_model *m, bool adapted, struct tensors *out);
/* Whether it predicts by prototypes, and needs no support to do so. */
bool model_compares(const struct mete_model *m);
bool model_needs_support(const struct mete_model *m);
/* METE_EINVAL where what it says of an item depends on the others that are asked about with it, or,
 * unless `support` is at hand, on that. */
int model_check_alone(const struct mete_model *m, bool support);
/* METE_EINVAL where it can tell no classes apart before it is adapted. */
int model_check_classes(const struct mete_model *m);
/* The prototypes (ways, features) that the task's items are compared with: with a prior they are
 * drawn to it, and are it where there is no task.  odds (ways) is what the logit of each class has
 * besides: its log odds, 0 without a prior, -infinity for a class that is left out. */
int model_prototypes(struct mete_model *m, float *out, float *odds);

/* Its arithmetic (graph.h), for other programs: METE_EINVAL where a prediction needs more than one
 * input, or there are no classes yet. */
struct graph;
int model_graph(struct mete_model *m, struct graph *out);

int model_check(const struct mete_model *m); /* METE_EINVAL for NULL */
/* Shape, type and values; `what` begins the sentence. */
int model_check_items(const struct mete_model *m, const struct mete_array *x, const char *what);

/* ---- model_task.c ---- */

/* As it was learned; also what must be called before anything is asked. */
int model_forget_task(struct mete_model *m);
/* What it says of items: any of the arrays, or NULL; `clusters`: learner_cluster will follow. */
struct model_view {
    float *probs, *reps, *entropy;
    bool clusters;
};
int model_look(struct mete_model *m, const struct mete_array *x, const struct model_view *out);
int model_task_write(struct mete_model *m, struct tensors *out); /* tensors "task.…" */
int model_task_read(struct mete_model *m, const struct safetensors *f);

/* ---- model_suggest.c ---- */

/* mete_suggest, which also says which cluster each item of the pool is in: cluster (items), -1
 * where it is in none; or NULL. */
int model_suggest(struct mete_model *m, const char *strategy, const struct mete_array *pool,
                  const int32_t *known, int want, uint64_t seed, int32_t *picks, int32_t *n,
                  int32_t *cluster);

#endif
