/* crew.h - engines of equal shape that take their steps together, in launches they share.
 *
 * Every run keeps its engine, its weights and its thread.  A step waits until all members of
 * the crew have one to take; the last to come takes it for all of them: their tasks are one
 * shard, in which each task has the weights of its run.  Whatever else an engine does, it does
 * alone, on its own weights.
 *
 * A task's gradient does not depend on who else is there: work is cut as for a full crew, so
 * that a run gives the same bytes whoever comes and goes (and other bytes, in the last digits,
 * than a run alone).  For sets that take tasks together (kernels.whole_shard).
 */
#ifndef METHOD_CREW_H
#define METHOD_CREW_H

#include "method/method.h"

struct engine;
struct crews; /* of all shapes */
enum { CREW_MAX = 64 };

int crews_open(struct crews **out, int members); /* at most so many in a crew */
void crews_close(struct crews *all);             /* NULL is fine; the engines are closed */

/* For the engine.  The first step joins a crew; whatever reads or writes weights settles
 * first, which waits for the crew's steps. */
int crew_step(struct crews *all, struct engine *e, const struct lesson *tasks);
int crew_settle(struct engine *e);
void crew_leave(struct engine *e);

#endif
