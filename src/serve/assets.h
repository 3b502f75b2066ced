/* assets.h - what pages are made of, embedded by the build. */
#ifndef SERVE_ASSETS_H
#define SERVE_ASSETS_H

#include "serve/http.h"

extern const unsigned char serve_live_html[], serve_live_js[];
extern const size_t serve_live_html_size, serve_live_js_size;
extern const unsigned char serve_label_html[], serve_label_js[];
extern const size_t serve_label_html_size, serve_label_js_size;

/* Of both pages: the report's style and scripts, and our own. */
void asset_css(void *app, const struct request *q, struct response *r);
void asset_figures(void *app, const struct request *q, struct response *r);

#endif
