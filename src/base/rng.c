/* rng.c - Philox4x32-10 and the draws made from it. */
#include "base/rng.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Constants of Salmon et al. 2011, table 2. */
#define MUL0  0xD2511F53u
#define MUL1  0xCD9E8D57u
#define WEYL0 0x9E3779B9u
#define WEYL1 0xBB67AE85u

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)MUL0 * c0, p1 = (uint64_t)MUL1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += WEYL0;
        k1 += WEYL1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The key is (seed, purpose), mixed by one Philox call so that neighbouring
 * seeds share nothing; the counter holds a, b and the position. */
struct rng rng_make(uint64_t seed, enum rng_purpose purpose, uint64_t a, uint32_t b)
{
    uint32_t mixed[4];
    const uint32_t from[4] = {(uint32_t)seed, (uint32_t)(seed >> 32), (uint32_t)purpose, b};
    philox4x32(from, (const uint32_t[2]){MUL0, MUL1}, mixed);
    return (struct rng){
        .key = {mixed[0], mixed[1]},
        .counter = {0, mixed[2], (uint32_t)a, (uint32_t)(a >> 32)},
    };
}

uint32_t rng_u32(struct rng *r)
{
    if (r->left == 0) {
        philox4x32(r->counter, r->key, r->out);
        r->counter[0]++;
        r->left = 4;
    }
    return r->out[4 - r->left--];
}

/* Lemire 2019: multiply and reject the few values that would be unfair. */
uint32_t rng_below(struct rng *r, uint32_t n)
{
    assert(n > 0);
    uint64_t m = (uint64_t)rng_u32(r) * n;
    if ((uint32_t)m < n)
        for (uint32_t floor = -n % n; (uint32_t)m < floor;)
            m = (uint64_t)rng_u32(r) * n;
    return (uint32_t)(m >> 32);
}

double rng_uniform(struct rng *r)
{
    uint64_t high = rng_u32(r) >> 5, low = rng_u32(r) >> 6;
    return (double)(high << 26 | low) * 0x1p-53;
}

double rng_normal(struct rng *r)
{
    double radius = sqrt(-2 * log(1 - rng_uniform(r)));
    return radius * cos(6.283185307179586 * rng_uniform(r));
}

double rng_gumbel(struct rng *r)
{
    return -log(-log(rng_uniform(r) + 0x1p-54));
}

void rng_shuffle(struct rng *r, int32_t *items, uint32_t n)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = rng_below(r, i);
        int32_t t = items[i - 1];
        items[i - 1] = items[j];
        items[j] = t;
    }
}

/* Floyd's method when k is small beside n: k draws, no table of n numbers. */
static void choose_few(struct rng *r, uint32_t n, uint32_t k, int32_t *out)
{
    uint32_t filled = 0;
    for (uint32_t top = n - k; top < n; top++) {
        int32_t pick = (int32_t)rng_below(r, top + 1);
        for (uint32_t i = 0; i < filled; i++)
            if (out[i] == pick) {
                pick = (int32_t)top;
                break;
            }
        out[filled++] = pick;
    }
    rng_shuffle(r, out, k);
}

void rng_choose(struct rng *r, uint32_t n, uint32_t k, int32_t *out)
{
    assert(k <= n);
    if (k <= 64) {
        choose_few(r, n, k, out);
        return;
    }
    int32_t *all = mem_array(n, sizeof *all);
    for (uint32_t i = 0; i < n; i++)
        all[i] = (int32_t)i;
    for (uint32_t i = 0; i < k; i++) {
        uint32_t j = i + rng_below(r, n - i);
        out[i] = all[j];
        all[j] = all[i];
    }
    free(all);
}
