/* run_hash.h - the three hashes of a run (runs.id, .variant and .control). */
#ifndef STORE_RUN_HASH_H
#define STORE_RUN_HASH_H

#include "store/store.h"

enum run_hash_kind {
    RUN_HASH_ID,      /* everything */
    RUN_HASH_VARIANT, /* without the seed */
    RUN_HASH_CONTROL, /* without labels and labels.* */
};
uint64_t run_hash_text(uint64_t hash, const char *text); /* FNV-1a, going on from `hash` */
void run_hash(const struct store_run *run, enum run_hash_kind kind, char id[STORE_ID_SIZE]);

#endif
