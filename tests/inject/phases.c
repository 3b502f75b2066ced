/* phases.c - the phases of a run.  The linker's --wrap puts these functions before the library's
 * own (cmake/tests.cmake lists them). */
#include "faults.h"

#include "label/label.h"
#include "method/learner.h"
#include "run/evaluate.h"
#include "run/model.h"
#include "store/store.h"

#include <stdatomic.h>

#define WRAP(type, name, list)                                                                     \
    type __real_##name list;                                                                       \
    type __wrap_##name list;                                                                       \
    type __wrap_##name list

static atomic_bool trained; /* a run's last models are written: what is scored now are tests */

WRAP(int, labeller_buy,
     (struct labeller * s, const struct label_request *q, struct episode *episodes, int *got))
{
    fault_phase("buying");
    return __real_labeller_buy(s, q, episodes, got);
}

WRAP(int, learner_step, (struct learner * l, const struct labelled_task *tasks, int n))
{
    trained = false;
    fault_phase("step");
    return __real_learner_step(l, tasks, n);
}

WRAP(int, evaluate, (struct learner * l, const struct evaluation *what, struct score *out))
{
    fault_phase(trained ? "test" : "validation");
    return __real_evaluate(l, what, out);
}

WRAP(int, model_write,
     (const char *path, const struct tensors *model, const struct safetensors_pair *meta,
      int pairs))
{
    trained = true;
    return __real_model_write(path, model, meta, pairs);
}

WRAP(int, store_finish, (struct store * s, const char *id, const struct store_results *r))
{
    fault_phase("store");
    return __real_store_finish(s, id, r);
}

WRAP(int, mete_report, (const struct mete_report_options *o))
{
    fault_phase("report");
    return __real_mete_report(o);
}
