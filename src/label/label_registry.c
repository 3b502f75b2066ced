/* label_registry.c - the strategies: one line each. */
#include "label/given_strategy.h"
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
    return i < 0 ? NULL : i < STRATEGIES ? strategies[i] : given_strategy_at(i - STRATEGIES);
}

const struct label_ops *label_find(const char *name)
{
    enum { ADDED_MOST = 64 }; /* of those added, that may be meant */
    const char *names[STRATEGIES + ADDED_MOST];
    const struct label_ops *each = given_strategy_find(name);
    int n = 0;
    if (each)
        return each;
    for (; n < STRATEGIES + ADDED_MOST && (each = label_at(n)); n++) {
        names[n] = each->name;
        if (strcmp(names[n], name) == 0)
            return each;
    }
    const char *near = nearest_word(name, names, n);
    if (near)
        fail(METE_EINVAL, "no label strategy named '%s'; did you mean '%s'?", name, near);
    else
        fail(METE_EINVAL, "no label strategy named '%s'; 'mete list labels' shows them", name);
    return NULL;
}
