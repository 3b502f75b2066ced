/* curvature.h - the Lipschitz and smoothness constants of the two loops, as met.
 *
 * Inner: the loss of one labelled point of a task (the lemma's example), along the
 * inner loop.  Outer: the objective of one training task as a function of the
 * meta-learned weights, with its exact gradient (second order, through the inner
 * loop).  The largest values met are lower estimates of the constants.
 */
#ifndef THEORY_CURVATURE_H
#define THEORY_CURVATURE_H

#include "theory/field.h"

struct curvature {
    double outer_l, outer_gamma;
    double inner_l, inner_gamma; /* 0: no inner gradient steps */
};

struct curvature_meter;

/* Keeps `f`.  `probed` training tasks are looked at each time. */
int curvature_open(struct curvature_meter **out, const struct field *f, int probed);
void curvature_close(struct curvature_meter *m); /* NULL is fine */
/* Looks at the engine's weights and takes the larger values into *c. */
int curvature_look(struct curvature_meter *m, struct engine *e, struct curvature *c);

#endif
