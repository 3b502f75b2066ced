/* threads.h - a small threads of threads that share out numbered pieces of work.
 *
 * Which thread does which piece is not fixed, so results must not depend
 * on it: a piece writes only to its own place, and `worker` (0..threads-1) only
 * names the scratch memory to use.
 */
#ifndef BASE_THREADS_H
#define BASE_THREADS_H

struct threads;

int threads_open(struct threads **out, int threads); /* 0: one per core */
void threads_close(struct threads *p);               /* NULL is fine */
int threads_count(const struct threads *p);

/* Calls work(user, piece, worker) for piece 0..pieces-1 and waits.  The caller is
 * worker 0.  The first failure (by piece number) is returned with its sentence. */
typedef int threads_fn(void *user, int piece, int worker);
int threads_run(struct threads *p, int pieces, threads_fn *work, void *user);

#endif
