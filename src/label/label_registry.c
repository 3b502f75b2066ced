/* label_registry.c - the strategies: one line each. */
#include "label/label_own.h"
#include "base/error.h"

#include <string.h>

static const struct label_ops *const strategies[] = {
    &label_random,     /* random.c */
    &label_stratified, /* stratified.c */
    &label_active,     /* active.c */
    &label_entropy,    /* uncertain.c */
    &label_margin,     /* uncertain.c */
    &label_kmeans,     /* diverse.c */
    &label_kcenter,    /* diverse.c */
    &label_badge,      /* badge.c */
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies };

const struct label_ops *label_at(int i)
{
    return i >= 0 && i < STRATEGIES ? strategies[i] : NULL;
}

const struct label_ops *label_find(const char *name)
{
    const char *names[STRATEGIES];
    for (int i = 0; i < STRATEGIES; i++) {
        names[i] = strategies[i]->name;
        if (strcmp(names[i], name) == 0)
            return strategies[i];
    }
    const char *near = nearest_word(name, names, STRATEGIES);
    if (near)
        fail(METE_EINVAL, "no label strategy named '%s'; did you mean '%s'?", name, near);
    else
        fail(METE_EINVAL, "no label strategy named '%s'; 'mete list labels' shows them", name);
    return NULL;
}
