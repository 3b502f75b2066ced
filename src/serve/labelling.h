/* labelling.h - the page on which people label a dataset's items. */
#ifndef SERVE_LABELLING_H
#define SERVE_LABELLING_H

#include "data/places.h"
#include "serve/annotators.h"
#include "serve/http.h"

struct labelling;
int labelling_open(struct labelling **out, const struct annotators_options *o);
void labelling_stop(struct labelling *l);  /* nobody waits any more; before the server closes */
void labelling_close(struct labelling *l); /* NULL is fine */
extern const struct http_route labelling_routes[];

/* labelling_item.c: an item as the page shows it. */
void labelling_item(struct jsonw *w, const struct people *p, const struct places *places,
                    const struct question *q);
void labelling_picture(struct text *out, const struct dataset *d, int64_t item); /* BMP */
bool labelling_has_pictures(const struct dataset *d);

#endif
