/* live.h - the runs of a results database as they go, read and never written.
 *
 * A thread looks at the database and at the checkpoints of running runs once a second.  What it
 * sees is one JSON text with a number; streams send it whenever it changes, whole, so that a page
 * that lost its connection misses nothing.
 */
#ifndef SERVE_LIVE_H
#define SERVE_LIVE_H

#include "serve/http.h"

struct live;
int live_open(struct live **out, const char *db);
void live_stop(struct live *l);  /* ends its streams; before the server closes */
void live_close(struct live *l); /* NULL is fine */
extern const struct http_route live_routes[];

/* live_state.c: everything the page shows of the runs, as JSON. */
struct store;
int live_state(struct store *s, struct text *out);

/* live_charts.c: the report's first screen, validation curves, labels; as HTML. */
int live_charts(const char *db, struct text *out);

#endif
