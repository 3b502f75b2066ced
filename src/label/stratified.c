/* stratified.c - the same number of points of every class, drawn uniformly: the
 * oracle, which nobody has before the labels are bought.
 *
 * A class with fewer points than shots gives all it has, so that a user's support
 * may stay below ways x shots.
 */
#include "label/label_own.h"
#include "base/memory.h"

#include <stdlib.h>

static int choose(const void *state, const struct label_view *v, int want, struct rng *r,
                  int32_t *picks)
{
    (void)state;
    int32_t *left = mem_array((size_t)v->n, sizeof *left);
    int *have = mem_array((size_t)v->ways, sizeof *have);
    int n = label_available(v, left), picked = 0;
    for (int i = 0; i < v->n; i++)
        if (v->known[i] >= 0)
            have[v->known[i]]++;
    rng_shuffle(r, left, (uint32_t)n);
    for (int i = 0; i < n && picked < want; i++)
        if (have[v->oracle[left[i]]]++ < v->shots)
            picks[picked++] = left[i];
    free(have);
    free(left);
    return picked;
}

const struct label_ops label_stratified = {
    .name = "stratified",
    .summary = "the same number of every class, an oracle that sees the labels",
    .needs = LABEL_ORACLE,
    .choose = choose,
};
