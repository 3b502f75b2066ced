/* http.c - requests in, answers out, through libmicrohttpd. */
#include "serve/http.h"
#include "base/error.h"

#ifdef METE_HAVE_MICROHTTPD
#include "base/clock.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/number.h"
#include "serve/heads.h"
#include "serve/token.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct http {
    struct MHD_Daemon *daemon;
    struct http_options o;
    struct heads *heads; /* NULL: silent */
    char token[HTTP_TOKEN_SIZE], cookie[32], host[128];
    int port;
};

/* What is kept from the head of a request to its end. */
struct exchange {
    struct text body;
    double began;
    bool refused, too_long;
};

static const char *header(struct MHD_Connection *c, const char *name)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

const char *request_argument(const struct request *q, const char *name)
{
    return MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* ---- who is let in ---- */

/* The path after /t/TOKEN, where it begins with that. */
static const char *after_token(const struct http *h, const char *path)
{
    enum { BEFORE = 3, DIGITS = HTTP_TOKEN_SIZE - 1 };
    char given[HTTP_TOKEN_SIZE];
    if (strncmp(path, "/t/", BEFORE) != 0 || strlen(path) < BEFORE + DIGITS)
        return NULL;
    snprintf(given, sizeof given, "%s", path + BEFORE);
    const char *rest = path + BEFORE + DIGITS;
    return token_equal(given, h->token) && (!*rest || *rest == '/') ? *rest ? rest : "/" : NULL;
}

static bool has_token(const struct http *h, struct MHD_Connection *c)
{
    const char *argument = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token");
    const char *cookie = MHD_lookup_connection_value(c, MHD_COOKIE_KIND, h->cookie);
    const char *authorization = header(c, MHD_HTTP_HEADER_AUTHORIZATION);
    return (argument && token_equal(argument, h->token)) ||
           (cookie && token_equal(cookie, h->token)) ||
           (authorization && token_authorized(authorization, h->token));
}

/* Pages of other ports of this machine have our cookie sent along; the browser says whose a
 * request is: newer ones in Sec-Fetch-Site, which holds behind a proxy too, and all in Origin. */
static bool is_foreign(struct MHD_Connection *c, const char *method)
{
    const char *origin = header(c, MHD_HTTP_HEADER_ORIGIN), *host = header(c, MHD_HTTP_HEADER_HOST);
    const char *site = header(c, "Sec-Fetch-Site");
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return false;
    if (site)
        return strcmp(site, "same-origin") != 0;
    const char *at = origin ? strstr(origin, "://") : NULL;
    return origin && (!at || !host || strcmp(at + 3, host) != 0);
}

/* ---- answers ---- */

struct streaming {
    http_more_fn *more;
    void *user;
    uint64_t position;
    struct text text;
    size_t sent;
};

static ssize_t read_stream(void *user, uint64_t at, char *out, size_t room)
{
    struct streaming *s = user;
    (void)at;
    if (s->sent == s->text.size) {
        text_release(&s->text);
        s->sent = 0;
        if (!s->more(s->user, &s->position, &s->text))
            return MHD_CONTENT_READER_END_OF_STREAM;
    }
    size_t left = s->text.size - s->sent, n = left < room ? left : room;
    memcpy(out, s->text.at + s->sent, n);
    s->sent += n;
    return (ssize_t)n;
}

static void end_stream(void *user)
{
    struct streaming *s = user;
    text_release(&s->text);
    free(s);
}

static void add_headers(const struct http *h, struct MHD_Response *out, const struct response *r)
{
    static const char *const all[][2] = {
        {MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy",
         "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' "
         "data:; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"},
    };
    char cookie[128];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        MHD_add_response_header(out, all[i][0], all[i][1]);
    MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
    MHD_add_response_header(out, MHD_HTTP_HEADER_CACHE_CONTROL,
                            r->keep ? "private, max-age=3600" : "no-store");
    snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", h->cookie,
             h->token);
    MHD_add_response_header(out, MHD_HTTP_HEADER_SET_COOKIE, cookie);
    if (r->save_as) {
        char *value = mem_print("attachment; filename=\"%s\"", r->save_as);
        MHD_add_response_header(out, MHD_HTTP_HEADER_CONTENT_DISPOSITION, value);
        free(value);
    }
}

/* Sends `r`, which is used up. */
static enum MHD_Result send_response(const struct http *h, struct MHD_Connection *c,
                                     struct response *r)
{
    struct MHD_Response *out;
    if (r->more) {
        struct streaming *s = mem_alloc(sizeof *s);
        *s = (struct streaming){.more = r->more, .user = r->user};
        out = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1 << 14, read_stream, s,
                                                end_stream);
    } else {
        size_t size = r->body.size;
        out = MHD_create_response_from_buffer(size, text_take(&r->body), MHD_RESPMEM_MUST_FREE);
    }
    if (!out)
        return MHD_NO;
    add_headers(h, out, r);
    enum MHD_Result sent = MHD_queue_response(c, (unsigned)r->status, out);
    MHD_destroy_response(out);
    text_release(&r->body);
    free(r->save_as);
    return sent;
}

static enum MHD_Result send_status(struct MHD_Connection *c, unsigned status)
{
    struct MHD_Response *out = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    enum MHD_Result sent = MHD_queue_response(c, status, out);
    MHD_destroy_response(out);
    return sent;
}

void respond_error(struct response *r, int status, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *sentence = mem_vprint(fmt, args);
    va_end(args);
    struct jsonw w = {0};
    jsonw_object(&w, NULL);
    jsonw_string(&w, "error", sentence);
    jsonw_close(&w);
    respond_json(r, &w);
    r->status = status;
    free(sentence);
}

void respond_failed(struct response *r, int code)
{
    bool asked_wrongly = code == METE_EINVAL || code == METE_EFORMAT;
    respond_error(r, asked_wrongly ? 400 : code == METE_EBUDGET ? 409 : 500, "%s", mete_errmsg());
}

void respond_json(struct response *r, struct jsonw *w)
{
    text_release(&r->body);
    text_add_bytes(&r->body, w->text, w->size);
    jsonw_release(w);
    r->type = "application/json";
}

void respond_bytes(struct response *r, const char *type, const void *bytes, size_t size)
{
    text_release(&r->body);
    text_add_bytes(&r->body, bytes, size);
    r->type = type;
}

/* ---- routing ---- */

static bool is_path(const char *route, const char *path)
{
    size_t n = strlen(route);
    return n > 1 && route[n - 1] == '/' ? strncmp(path, route, n) == 0 : strcmp(path, route) == 0;
}

static void route(const struct http *h, const struct request *q, struct response *r)
{
    const char *method = strcmp(q->method, "HEAD") == 0 ? "GET" : q->method;
    bool path = false;
    for (const struct http_route *at = h->o.routes; at->path; at++) {
        if (!is_path(at->path, q->path))
            continue;
        path = true;
        if (strcmp(at->method, method) == 0) {
            at->answer(h->o.app, q, r);
            return;
        }
    }
    if (path)
        respond_error(r, 405, "%s does not take %s", q->path, q->method);
    else
        respond_error(r, 404, "there is no %s here", q->path);
}

static enum MHD_Result answer(const struct http *h, struct MHD_Connection *c, const char *url,
                              const char *method, const struct exchange *x)
{
    NUMBER_LOCALE;
    const char *short_path = after_token(h, url);
    struct request q = {.method = method,
                        .path = short_path ? short_path : url,
                        .body = x->body.at ? x->body.at : "",
                        .size = x->body.size,
                        .connection = c};
    struct response r = {.status = 200, .type = "text/plain; charset=utf-8"};
    if (x->too_long)
        respond_error(&r, 413, "a request has at most %d bytes", HTTP_BODY_MAX);
    else
        route(h, &q, &r);
    return send_response(h, c, &r);
}

/* Called when a connection is there, and before it is closed. */
static void on_connection(void *user, struct MHD_Connection *c, void **kept,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *h = user;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED)
        heads_remove(h->heads, *kept);
    else if (h->heads)
        *kept = heads_add(
            h->heads, MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
}

static void wait_for_head(const struct http *h, struct MHD_Connection *c, bool waits)
{
    heads_wait(h->heads,
               MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context,
               waits);
}

/* Called for the head of a request, for each piece of its body, and at its end. */
static enum MHD_Result on_request(void *user, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *piece,
                                  size_t *size, void **kept)
{
    struct http *h = user;
    struct exchange *x = *kept;
    (void)version;
    if (!x) {
        wait_for_head(h, c, false);
        *kept = x = mem_alloc(sizeof *x);
        x->began = seconds_now();
        x->refused = (!after_token(h, url) && !has_token(h, c)) || is_foreign(c, method);
        return x->refused ? send_status(c, MHD_HTTP_FORBIDDEN) : MHD_YES;
    }
    if (*size > 0) {
        if (seconds_now() - x->began > HTTP_BODY_SECONDS)
            return MHD_NO;
        x->too_long = x->too_long || x->body.size + *size > HTTP_BODY_MAX;
        if (!x->refused && !x->too_long)
            text_add_bytes(&x->body, piece, *size);
        *size = 0;
        return MHD_YES;
    }
    return x->refused ? MHD_YES : answer(h, c, url, method, x);
}

static void on_end(void *user, struct MHD_Connection *c, void **kept,
                   enum MHD_RequestTerminationCode why)
{
    struct exchange *x = *kept;
    (void)why;
    wait_for_head(user, c, true);
    if (x)
        text_release(&x->body);
    free(x);
    *kept = NULL;
}

/* ---- opening and closing ---- */

static void ignore(void *user, const char *fmt, va_list args)
{
    (void)user, (void)fmt, (void)args;
}

/* A socket that listens; its own, since a daemon does not say why it cannot have one. */
static int listen_at(const char *address, int port, int *fd)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *at = NULL;
    char service[16];
    int yes = 1;
    snprintf(service, sizeof service, "%d", port);
    if (getaddrinfo(address, service, &hints, &at) != 0)
        return fail(METE_EINVAL, "--bind %s: expected an address as 127.0.0.1, 0.0.0.0 or ::1",
                    address);
    *fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ready = *fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
                 bind(*fd, at->ai_addr, at->ai_addrlen) == 0 && listen(*fd, 128) == 0;
    int error = errno;
    freeaddrinfo(at);
    if (ready)
        return 0;
    if (*fd >= 0)
        close(*fd);
    if (error == EADDRINUSE)
        return fail(METE_EIO,
                    "port %d of %s is in use; --port 0 takes one that is free, --port N another",
                    port, address);
    return fail(METE_EIO, "cannot listen at port %d of %s: %s", port, address, strerror(error));
}

/* What an address begins with; all addresses of a machine go by its name. */
static void name_host(struct http *h)
{
    const char *bind = h->o.bind;
    char name[sizeof h->host] = "";
    bool all = strcmp(bind, "0.0.0.0") == 0 || strcmp(bind, "::") == 0;
    if (all && gethostname(name, sizeof name - 1) == 0 && *name)
        bind = name;
    snprintf(h->host, sizeof h->host, strchr(bind, ':') ? "[%s]" : "%s", bind);
}

static int port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    if (getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        return 0;
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

/* A 0 inside a path would cut it short. */
static size_t unescape(void *user, struct MHD_Connection *c, char *text)
{
    (void)user, (void)c;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

static struct MHD_Daemon *start(struct http *h, int fd)
{
    unsigned flags = h->o.silent ? MHD_USE_NO_LISTEN_SOCKET
                                 : MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                                       MHD_USE_POLL | MHD_USE_ITC;
    struct MHD_OptionItem listening[] = {{MHD_OPTION_LISTEN_SOCKET, fd, NULL},
                                         {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    return MHD_start_daemon(
        flags | MHD_USE_ERROR_LOG, 0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, ignore,
        NULL, MHD_OPTION_NOTIFY_COMPLETED, on_end, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        h, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_HEAD_MAX, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_SECONDS,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
        MHD_OPTION_ARRAY, h->o.silent ? none : listening, MHD_OPTION_END);
}

int http_open(struct http **out, const struct http_options *o)
{
    struct http *h = mem_alloc(sizeof *h);
    int fd = -1, err = token_make(h->token);
    h->o = *o;
    if (!err && !o->silent)
        err = listen_at(o->bind, o->port, &fd);
    if (!err && !o->silent)
        err = heads_open(&h->heads, HTTP_CONNECTIONS_MAX, HTTP_IDLE_SECONDS);
    if (!err) {
        h->port = fd >= 0 ? port_of(fd) : 0;
        snprintf(h->cookie, sizeof h->cookie, "mete-%d", h->port);
        name_host(h);
        h->daemon = start(h, fd);
        if (!h->daemon)
            err = fail(METE_EIO, "the web server cannot be started");
    }
    if (!err) {
        *out = h;
        return 0;
    }
    if (fd >= 0)
        close(fd);
    heads_close(h->heads);
    free(h);
    return err;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    MHD_stop_daemon(h->daemon);
    heads_close(h->heads);
    free(h);
}

void http_address(const struct http *h, char *out, size_t size)
{
    snprintf(out, size, "http://%s:%d/?token=%s", h->host, h->port, h->token);
}

const char *http_token(const struct http *h)
{
    return h->token;
}

void http_feed(struct http *h, int fd)
{
    static const struct sockaddr_in nobody = {.sin_family = AF_INET};
    if (MHD_add_connection(h->daemon, fd, (const struct sockaddr *)&nobody, sizeof nobody) !=
        MHD_YES)
        return;
    while (MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections) {
        MHD_run(h->daemon);
    }
}
#endif
