/* assets.c - style and scripts that both pages share. */
#include "serve/assets.h"

#ifdef METE_HAVE_MICROHTTPD
extern const unsigned char report_css[], report_script[], serve_css[];
extern const size_t report_css_size, report_script_size, serve_css_size;

void asset_css(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_bytes(r, "text/css; charset=utf-8", report_css, report_css_size);
    text_add_bytes(&r->body, serve_css, serve_css_size);
}

void asset_figures(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_bytes(r, "text/javascript; charset=utf-8", report_script, report_script_size);
}
#endif
