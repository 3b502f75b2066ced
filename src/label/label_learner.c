/* label_learner.c - a method's learner as the strategies' driver sees it. */
#include "label/label.h"

static int adapt(void *user, int tasks, const struct items *support)
{
    return learner_adapt(user, tasks, support);
}

static int predict(void *user, int tasks, const struct items *query, const struct predicted *out)
{
    return learner_predict(user, tasks, query, out);
}

static int cluster(void *user, int tasks, struct clustering *c)
{
    return learner_cluster(user, tasks, c);
}

struct label_model label_model_of(struct learner *l)
{
    return (struct label_model){l, learner_features(l), adapt, predict, cluster};
}
