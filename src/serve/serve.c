/* serve.c - mete serve: what is asked for, and the time it is served. */
#include "base/error.h"
#include "base/options.h"

#if !defined METE_HAVE_MICROHTTPD
int mete_serve(const struct mete_serve_options *options)
{
    struct mete_serve_options o;
    int err = options_take(&o, sizeof o, options, "mete_serve_options");
    return err ? err
               : fail(METE_EMISSING,
                      "%s: the page in the browser needs libmicrohttpd (Debian: libmicrohttpd-dev)",
                      o.what ? o.what : "serve");
}
#else
#include "base/number.h"
#include "serve/labelling.h"
#include "serve/live.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { ROUND = 5 };

/* A page: what is to be opened before it is served, and closed after. */
struct site {
    const struct http_route *routes;
    struct live *live;
    struct labelling *labelling;
};

/* A file is a database; a folder or a name that is no file's, a dataset. */
static bool is_database(const char *what)
{
    struct stat st;
    size_t n = strlen(what);
    if (stat(what, &st) == 0)
        return !S_ISDIR(st.st_mode);
    return n > 3 && strcmp(what + n - 3, ".db") == 0;
}

static int open_live(struct site *s, const struct mete_serve_options *o)
{
    if (o->model || o->labels || o->round)
        return fail(METE_EINVAL, "%s: --model, --labels and --n are for labelling a dataset",
                    o->what);
#ifdef METE_HAVE_SQLITE
    s->routes = live_routes;
    return live_open(&s->live, o->what);
#else
    return fail(METE_EMISSING, "%s: results need SQLite (Debian: libsqlite3-dev)", o->what);
#endif
}

static int open_labelling(struct site *s, const struct mete_serve_options *o)
{
    s->routes = labelling_routes;
    return labelling_open(&s->labelling,
                          &(struct annotators_options){.data = o->what,
                                                       .model = o->model,
                                                       .strategy = o->labels,
                                                       .round = o->round > 0 ? o->round : ROUND,
                                                       .cost = (millionths)MILLIONTHS});
}

static void stop(struct site *s)
{
    if (s->labelling)
        labelling_stop(s->labelling);
#ifdef METE_HAVE_SQLITE
    if (s->live)
        live_stop(s->live);
#endif
}

static void close_site(struct site *s)
{
    labelling_close(s->labelling);
#ifdef METE_HAVE_SQLITE
    live_close(s->live);
#endif
}

static void wait_for_stop(const struct mete_serve_options *o)
{
    static const struct timespec tenth = {.tv_nsec = 100000000};
    while (!o->stop(o->user))
        nanosleep(&tenth, NULL);
}

int mete_serve(const struct mete_serve_options *options)
{
    NUMBER_LOCALE;
    struct mete_serve_options o;
    struct site site = {0};
    struct http *http = NULL;
    char address[256];
    int err = options_take(&o, sizeof o, options, "mete_serve_options");
    if (err)
        return err;
    if (!o.what)
        return fail(METE_EINVAL, "serve: say what, a results database or a dataset");
    err = is_database(o.what) ? open_live(&site, &o) : open_labelling(&site, &o);
    if (err)
        return err;
    err = http_open(&http, &(struct http_options){.bind = o.bind ? o.bind : "127.0.0.1",
                                                  .port = o.port,
                                                  .routes = site.routes,
                                                  .app = site.live ? (void *)site.live
                                                                   : (void *)site.labelling});
    if (!err) {
        http_address(http, address, sizeof address);
        o.ready(o.user, address);
        wait_for_stop(&o);
    }
    stop(&site);
    http_close(http);
    close_site(&site);
    return err;
}
#endif
