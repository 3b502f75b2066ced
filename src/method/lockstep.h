/* lockstep.h - engines of equal shape that take their steps together, in launches they share.
 *
 * Every run keeps its engine, its weights and its thread.  A step waits until all members of
 * the lockstep group have one to take; the last to come takes it for all of them: their tasks are
 * one shard, in which each task has the weights of its run.  Whatever else an engine does, it does
 * alone, on its own weights.
 *
 * A task's gradient does not depend on who else is there: work is cut as for a full lockstep group,
 * so that a run gives the same bytes whoever comes and goes (and other bytes, in the last digits,
 * than a run alone).  For sets that take tasks together (kernels.batched).
 */
#ifndef METHOD_LOCKSTEP_H
#define METHOD_LOCKSTEP_H

#include "method/method.h"

struct engine;
struct lockstep_set; /* of all shapes */
enum { LOCKSTEP_MAX = 64 };

int lockstep_set_open(struct lockstep_set **out, int members); /* the most in a lockstep group */
void lockstep_set_close(struct lockstep_set *all); /* NULL is fine; the engines are closed */

/* For the engine.  The first step joins a lockstep group; whatever reads or writes weights settles
 * first, which waits for the lockstep group's steps. */
int lockstep_step(struct lockstep_set *all, struct engine *e, const struct labelled_task *tasks);
int lockstep_settle(struct engine *e);
void lockstep_leave(struct engine *e);

#endif
