/* run_hash.c - what a run is called.
 *
 * The id hashes text, "key=value\n" for every key in order, so that any language
 * can compute it (docs/results.md).  FNV-1a, 64 bits: of a million runs two share
 * an id with a chance of 3e-8, and store_plan would notice.
 */
#include "store/run_hash.h"
#include "base/memory.h"
#include "config/config.h"
#include "data/content.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    const char *key, *value;
};

uint64_t run_hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

/* Settings that change nothing against the first runs are left out, so that those keep their ids.
 */
static bool as_before(const struct pair *p)
{
    if (strcmp(p->key, "data.content") == 0 &&
        strncmp(p->value, CONTENT_GENERATED, strlen(CONTENT_GENERATED)) == 0)
        return true; /* the benchmark's name says it all */
    const char *before = setting_before(p->key);
    return before && strcmp(p->value, before) == 0;
}

static bool left_out(const char *key, enum run_hash_kind kind)
{
    if (kind == RUN_HASH_VARIANT)
        return strcmp(key, "seed") == 0 || strcmp(key, "data.fold") == 0;
    return kind == RUN_HASH_CONTROL &&
           (strcmp(key, "labels") == 0 || strncmp(key, "labels.", 7) == 0);
}

void run_hash(const struct store_run *run, enum run_hash_kind kind, char id[STORE_ID_SIZE])
{
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, run->seed);
    const struct pair names[] = {{"bench", run->bench},
                                 {"method", run->method},
                                 {"labels", run->labels},
                                 {"net", run->net},
                                 {"seed", seed}};
    enum { NAMES = sizeof names / sizeof *names };
    struct pair *pairs = mem_array((size_t)run->n_settings + NAMES, sizeof *pairs);
    int n = NAMES;
    memcpy(pairs, names, sizeof names);
    for (int i = 0; i < run->n_settings; i++) {
        bool is_name = false;
        for (int j = 0; j < NAMES; j++)
            is_name |= strcmp(run->settings[i].key, names[j].key) == 0;
        if (!is_name)
            pairs[n++] = (struct pair){run->settings[i].key, run->settings[i].value};
    }
    qsort(pairs, (size_t)n, sizeof *pairs, by_key);
    uint64_t hash = UINT64_C(14695981039346656037);
    for (int i = 0; i < n; i++) {
        if (left_out(pairs[i].key, kind) || as_before(&pairs[i]))
            continue;
        hash = run_hash_text(run_hash_text(hash, pairs[i].key), "=");
        hash = run_hash_text(run_hash_text(hash, pairs[i].value), "\n");
    }
    free(pairs);
    snprintf(id, STORE_ID_SIZE, "%016" PRIx64, hash);
}

void store_run_id(const struct store_run *run, char id[STORE_ID_SIZE])
{
    run_hash(run, RUN_HASH_ID, id);
}
