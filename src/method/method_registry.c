/* method_registry.c - the methods: adding one is one line. */
#include "method/baseline.h"
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
    return i >= 0 && i < METHODS ? methods[i] : NULL;
}

int method_find(const struct method_ops **out, const char *name)
{
    const char *names[METHODS];
    for (int i = 0; i < METHODS; i++) {
        names[i] = methods[i]->name;
        if (strcmp(names[i], name) == 0) {
            *out = methods[i];
            return 0;
        }
    }
    return fail_unknown("method", name, names, METHODS);
}

int method_open(struct method *m, const char *name)
{
    int err = method_find(&m->ops, name);
    if (err)
        return err;
    m->state = mem_alloc(m->ops->state_size);
    param_defaults(m->ops->params, m->state);
    return 0;
}

void method_close(struct method *m)
{
    free(m->state);
    *m = (struct method){0};
}
