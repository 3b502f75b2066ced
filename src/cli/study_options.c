/* study_options.c - the options that `mete stability` and `mete drift` share. */
#include "study_options.h"

struct study_values study_defaults(const struct mete_study *o)
{
    return (struct study_values){.net = o->net,
                                 .labels = o->labels,
                                 .device = o->device,
                                 .tasks = o->tasks,
                                 .probed = o->probed,
                                 .seed = 1,
                                 .threads = o->threads};
}

void study_take(struct mete_study *o, const struct study_values *v, const char *bench)
{
    o->bench = bench;
    o->net = v->net;
    o->labels = v->labels;
    o->device = v->device;
    o->tasks = v->tasks;
    o->probed = v->probed;
    o->seed = (uint64_t)v->seed;
    o->threads = v->threads;
    o->set = v->set.at;
}
