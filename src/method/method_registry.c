/* method_registry.c - the methods: adding one is one line. */
#include "method/baseline.h"
#include "method/given_learner.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

extern const struct method_ops method_maml, method_reptile, method_protonet, method_fedavg;

static const struct method_ops *const methods[] = {
    &method_maml,     &method_reptile, &method_protonet, &method_fedavg,
    &method_majority, /* baselines */
    &method_nearest,  &method_local,   &method_pooled,   &method_tuned,
};
enum { METHODS = sizeof methods / sizeof *methods };

const struct method_ops *method_at(int i)
{
    return i < 0 ? NULL : i < METHODS ? methods[i] : given_learner_at(i - METHODS);
}

int method_find(const struct method_ops **out, const char *name)
{
    enum { ADDED_MOST = 64 }; /* of those added, that a sentence names */
    const char *names[METHODS + ADDED_MOST];
    const struct method_ops *found = given_learner_find(name), *each;
    int n = 0;
    for (; !found && n < METHODS + ADDED_MOST && (each = method_at(n)); n++) {
        names[n] = each->name;
        if (strcmp(names[n], name) == 0)
            found = each;
    }
    if (!found)
        return fail_unknown("method", name, names, n);
    *out = found;
    return 0;
}

int method_open(struct method *m, const char *name)
{
    int err = method_find(&m->ops, name);
    if (err)
        return err;
    m->state = mem_alloc(m->ops->state_size);
    param_defaults(m->ops->params, m->state);
    if (m->ops->self)
        memcpy(m->state, &m->ops->self, sizeof m->ops->self);
    given_learner_hold(m->ops);
    return 0;
}

int method_check(const struct method *m)
{
    const char *why = m->ops->unfit ? m->ops->unfit(m) : NULL;
    return why ? fail(METE_EINVAL, "%s", why) : 0;
}

int method_uses(const struct method_ops *ops, const char *key)
{
    if (ops->open || ops->adapt || strcmp(key, "test.steps") != 0)
        return 0;
    return fail(METE_EINVAL,
                "test.steps: method %s does not adapt at test time, so it would change nothing; "
                "reptile trains in the same way and adapts",
                ops->name);
}

void method_close(struct method *m)
{
    if (m->ops)
        given_learner_leave(m->ops);
    free(m->state);
    *m = (struct method){0};
}
