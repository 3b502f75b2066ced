/* store_identity.h - which run a run is, in a given database.
 *
 * A database of before schema 4 holds runs that do not say what their files held.  The first
 * content of a dataset (split, price file) that is planned with is taken for theirs: `contents`
 * remembers it, and ids of runs with that content leave it out, as those of the older runs do.
 */
#ifndef STORE_STORE_IDENTITY_H
#define STORE_STORE_IDENTITY_H

#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
struct run_identity {
    char id[STORE_ID_SIZE], variant[STORE_ID_SIZE], control[STORE_ID_SIZE];
    char *dataset; /* with "#" and a word behind it, where the name has another content here */
};
/* Inside a write transaction. */
int identity_open(struct run_identity *out, struct store *s, const struct store_run *run);
void identity_release(struct run_identity *i);

/* The hash of a test's tasks with what those tasks are of. */
int identity_tasks(struct store *s, int64_t run, uint64_t *hash);

/* Runs of older files in the spelling of today; what that makes equal to another stays. */
int identity_respell(struct store *s);
#endif
#endif
