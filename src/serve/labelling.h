/* labelling.h - the page on which people label a dataset's items. */
#ifndef SERVE_LABELLING_H
#define SERVE_LABELLING_H

#include "data/places.h"
#include "serve/annotators.h"
#include "serve/http.h"

struct labelling {
    struct annotators *annotators;
    struct places places;
};
int labelling_open(struct labelling **out, const struct annotators_options *o);
void labelling_stop(struct labelling *l);  /* nobody waits any more; before the server closes */
void labelling_close(struct labelling *l); /* NULL is fine */
extern const struct http_route labelling_routes[];

/* studio.c: Label Studio asks for predictions, and tells of annotations.  app: a struct labelling.
 */
void studio_health(void *app, const struct request *q, struct response *r);
void studio_setup(void *app, const struct request *q, struct response *r);
void studio_predict(void *app, const struct request *q, struct response *r);
void studio_webhook(void *app, const struct request *q, struct response *r);
void studio_train(void *app, const struct request *q, struct response *r);

/* labelling_item.c: an item as the page shows it. */
void labelling_item(struct jsonw *w, const struct people *p, const struct places *places,
                    const struct question *q);
void labelling_picture(struct text *out, const struct dataset *d, int64_t item); /* BMP */
bool labelling_has_pictures(const struct dataset *d);

#endif
