/* http.h - the web server behind `mete serve`: libmicrohttpd, a token, and limits.
 *
 * Whoever has the token is let in; anybody else gets 403 and nothing more, whatever they ask
 * for.  The token comes in the address (?token=, or /t/TOKEN/ before the path, for programs that
 * can only be given an address), in a cookie that the first answer sets, or in the header
 * Authorization (Bearer TOKEN, Token TOKEN, or Basic with it as the password).  No file of the disk
 * is ever named by a path: paths are those of a table of routes.
 *
 * Each connection has a thread, so that an answer may take its time.
 */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "base/text.h"
#include "mete.h"

enum {
    HTTP_BODY_MAX = 4 << 20,    /* bytes of a request's body */
    HTTP_HEAD_MAX = 64 << 10,   /* of its head, with what is sent back */
    HTTP_CONNECTIONS_MAX = 128, /* at once */
    HTTP_IDLE_SECONDS = 60,     /* of silence, or for a head, after which a connection is closed */
    HTTP_BODY_SECONDS = 30,     /* that a body may take to arrive */
    HTTP_TOKEN_SIZE = 33,       /* 128 random bits in hexadecimal */
};

struct request {
    const char *method, *path; /* "GET", "/runs"; decoded */
    const char *body;          /* a 0 follows */
    size_t size;
    void *connection; /* private */
};
/* ?name=value, decoded; NULL: there is none. */
const char *request_argument(const struct request *q, const char *name);

/* A stream: gives the next piece, and waits for it at most some seconds (then "", and is asked
 * again); false ends it. */
typedef bool http_more_fn(void *user, uint64_t *position, struct text *out);

struct response {
    int status;       /* 200 */
    const char *type; /* "application/json" */
    struct text body; /* taken over */
    char *save_as;    /* the name of a download, or NULL; taken over */
    bool keep;        /* the browser may keep it: it never changes */
    http_more_fn *more;
    void *user; /* of `more` */
};

/* Answers a request that came with the token; r is {200, "text/plain", ...}. */
struct http_route {
    const char *method, *path; /* a path that ends with '/' takes what begins with it */
    void (*answer)(void *app, const struct request *q, struct response *r);
};

struct http_options {
    const char *bind;                /* an address of this machine */
    int port;                        /* 0: any that is free */
    const struct http_route *routes; /* ends with {0} */
    void *app;
    bool silent; /* does not listen: connections are given to http_feed */
};
struct http;

int http_open(struct http **out, const struct http_options *o);
void http_close(struct http *h); /* waits for answers under way; NULL is fine */
/* "http://127.0.0.1:8642/?token=..." */
void http_address(const struct http *h, char *out, size_t size);
const char *http_token(const struct http *h);
/* Of one that is silent: reads requests from the connected socket `fd`, answers them, closes it. */
void http_feed(struct http *h, int fd);

/* Short answers. */
void respond_error(struct response *r, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));         /* {"error": "..."} */
void respond_failed(struct response *r, int code); /* the library's sentence, by its code */
/* {"NAME": ...}: takes over what `w` holds. */
struct jsonw;
void respond_json(struct response *r, struct jsonw *w);
void respond_bytes(struct response *r, const char *type, const void *bytes, size_t size);

#endif
