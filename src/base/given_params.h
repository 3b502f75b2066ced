/* given_params.h - settings of other people's plug-ins: their table (mete_learner.h) as one of
 * ours, and their values as they read them.
 */
#ifndef BASE_GIVEN_PARAMS_H
#define BASE_GIVEN_PARAMS_H

#include "base/param.h"
#include "mete_learner.h"

/* A table whose state begins with one pointer, for its owner; all text is copied.  `version`,
 * unless NULL, becomes a setting of that name.  METE_EINVAL for what no table can be. */
enum { GIVEN_STATE_MOST = 4096 }; /* bytes of a state: what mete_show has room for */
struct given_params {
    struct param *table;
    size_t state_size;
};
int given_params_open(struct given_params *out, const struct mete_param *params,
                      const char *version);
void given_params_close(struct given_params *p);

/* The values in a state, in the table's order; the last has no name.  One block: free() it. */
struct mete_value *given_values(const struct param *table, const void *state);

#endif
