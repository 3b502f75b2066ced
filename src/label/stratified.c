/* stratified.c - the same number of points of every class, drawn uniformly: the
 * oracle, which nobody has before the labels are bought.
 *
 * A class with fewer points than shots gives all it has, so that a user's support
 * may stay below ways x shots.  Where a number of labels in all is asked for, classes
 * get one after another until it is reached.
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
    /* Where only the whole is given, a round for each class after another. */
    int rounds = v->shots ? 1 : want;
    for (int round = 1; round <= rounds && picked < want; round++) {
        int most = v->shots ? v->shots : round;
        for (int i = 0; i < n && picked < want; i++) {
            if (left[i] < 0 || have[v->oracle[left[i]]] >= most)
                continue;
            have[v->oracle[left[i]]]++;
            picks[picked++] = left[i];
            left[i] = -1;
        }
    }
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
