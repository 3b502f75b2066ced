/* pool.h - a small pool of threads that share out numbered pieces of work.
 *
 * Which thread does which piece is left to chance, so results must not depend
 * on it: a piece writes only to its own place, and `lane` (0..threads-1) only
 * names the scratch memory to use.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

struct pool;

int pool_open(struct pool **out, int threads); /* 0: one per core */
void pool_close(struct pool *p);               /* NULL is fine */
int pool_threads(const struct pool *p);

/* Calls work(user, piece, lane) for piece 0..pieces-1 and waits.  The caller is
 * lane 0.  The first failure (by piece number) is returned with its sentence. */
typedef int pool_fn(void *user, int piece, int lane);
int pool_run(struct pool *p, int pieces, pool_fn *work, void *user);

#endif
