/* serve.c - mete serve: what is asked for, and the time it is served. */
#include "base/error.h"

#if !defined METE_HAVE_MICROHTTPD
int mete_serve(const struct mete_serve_options *o)
{
    return fail(METE_EMISSING,
                "%s: the page in the browser needs libmicrohttpd (Debian: libmicrohttpd-dev)",
                o->what);
}
#elif !defined METE_HAVE_SQLITE
int mete_serve(const struct mete_serve_options *o)
{
    return fail(METE_EMISSING, "%s: results need SQLite (Debian: libsqlite3-dev)", o->what);
}
#else
#include "serve/live.h"

#include <time.h>

static void wait_for_stop(const struct mete_serve_options *o)
{
    static const struct timespec tenth = {.tv_nsec = 100000000};
    while (!o->stop(o->user))
        nanosleep(&tenth, NULL);
}

int mete_serve(const struct mete_serve_options *o)
{
    struct live *live = NULL;
    struct http *http = NULL;
    char address[256];
    int err = live_open(&live, o->what);
    if (err)
        return err;
    struct http_options options = {.bind = o->bind ? o->bind : "127.0.0.1",
                                   .port = o->port,
                                   .routes = live_routes,
                                   .app = live};
    err = http_open(&http, &options);
    if (!err) {
        http_address(http, address, sizeof address);
        o->ready(o->user, address);
        wait_for_stop(o);
    }
    live_stop(live);
    http_close(http);
    live_close(live);
    return err;
}
#endif
