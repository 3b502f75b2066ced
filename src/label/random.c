/* random.c - points drawn uniformly: the baseline. */
#include "label/label_own.h"
#include "base/memory.h"

#include <stdlib.h>

static int choose(const void *state, const struct label_view *v, int want, struct rng *r,
                  int32_t *picks)
{
    (void)state;
    int32_t *left = mem_array((size_t)v->n, sizeof *left);
    int n = label_available(v, left);
    want = want < n ? want : n;
    rng_choose(r, (uint32_t)n, (uint32_t)want, picks);
    for (int i = 0; i < want; i++)
        picks[i] = left[picks[i]];
    free(left);
    return want;
}

const struct label_ops label_random = {
    .name = "random",
    .summary = "uniformly at random",
    .choose = choose,
};
