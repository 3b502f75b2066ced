/* store_missing.c - the answers of a build without SQLite. */
#include "store/store.h"

#ifndef METE_HAVE_SQLITE
#include "base/error.h"

static int missing(void)
{
    return fail(METE_EMISSING, "results need SQLite: install libsqlite3-dev and build again");
}

int store_open(struct store **out, const char *path, enum store_mode mode)
{
    (void)out, (void)path, (void)mode;
    return missing();
}

int store_plan(struct store *s, const struct store_suite *suite, char (*ids)[STORE_ID_SIZE])
{
    (void)s, (void)suite, (void)ids;
    return missing();
}

int store_claim(struct store *s, char (*ids)[STORE_ID_SIZE], int n, double lease, int *which)
{
    (void)s, (void)ids, (void)n, (void)lease, (void)which;
    return missing();
}

int store_heartbeat(struct store *s)
{
    (void)s;
    return missing();
}

int store_release(struct store *s, const char *id)
{
    (void)s, (void)id;
    return missing();
}

int store_retry_failed(struct store *s, char (*ids)[STORE_ID_SIZE], int n)
{
    (void)s, (void)ids, (void)n;
    return missing();
}

int store_states(struct store *s, char (*ids)[STORE_ID_SIZE], int n, enum store_state *out)
{
    (void)s, (void)ids, (void)n, (void)out;
    return missing();
}

int store_count(struct store *s, char (*ids)[STORE_ID_SIZE], int n, struct store_counts *out)
{
    (void)s, (void)ids, (void)n, (void)out;
    return missing();
}

int store_finish(struct store *s, const char *id, const struct store_results *r)
{
    (void)s, (void)id, (void)r;
    return missing();
}

int store_fail(struct store *s, const char *id, const char *sentence)
{
    (void)s, (void)id, (void)sentence;
    return missing();
}

int store_add_test(struct store *s, const char *id, const struct store_test *test)
{
    (void)s, (void)id, (void)test;
    return missing();
}

void store_close(struct store *s)
{
    (void)s;
}

const char *store_path(const struct store *s)
{
    (void)s;
    return "";
}

int store_measures(struct store *s, const char *suite, store_measure_fn *fn, void *user)
{
    (void)s, (void)suite, (void)fn, (void)user;
    return missing();
}

int store_plan_begin(struct store *s, const char *plan, double *rate)
{
    (void)s, (void)plan, (void)rate;
    return missing();
}
#endif
