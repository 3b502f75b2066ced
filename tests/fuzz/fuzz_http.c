/* fuzz_http.c - any bytes to the labelling server, "@@" in them being its token.  Who does not have
 * the token gets an empty 403, or what any malformed request gets, and changes nothing; no answer
 * holds what files of the dataset's folder do; what is charged adds up; nothing fails inside. */
#include "fuzz_import.h"
#include "mete_personal.h"
#include "data/answers.h"
#include "serve/labelling.h"

#ifndef METE_HAVE_MICROHTTPD
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}
#else
#include "base/text.h"

#include <pthread.h>
#include <sys/socket.h>

enum { ITEMS = 6 };
/* What two files hold; each byte is turned, so that the fuzzer does not learn it from here and have
 * it said back to it in an error. */
enum { TURN = 0x15 };
static const char secret_turned[] = "{zwzql8xtl8gptq8a}|f";

static struct labelling *labelling;
static struct http *http;

static bool holds_secret(const struct text *t)
{
    enum { N = sizeof secret_turned - 1 };
    for (size_t i = 0; i + N <= t->size; i++) {
        int same = 0;
        for (int k = 0; k < N; k++)
            same += (t->at[i + (size_t)k] ^ TURN) == secret_turned[k];
        if (same == N)
            return true;
    }
    return false;
}

static void make_data(void)
{
    static uint8_t x[ITEMS * 4];
    static int32_t y[ITEMS] = {0, 1, NO_LABEL, NO_LABEL, NO_LABEL, NO_LABEL};
    static int32_t user[ITEMS] = {0, 1, 0, 0, 1, 1};
    static char *classes[] = {"walk", "run"}, *users[] = {"ann", "bob"};
    static char name[] = "fuzz";
    struct dataset d = {.name = name,
                        .path = name,
                        .items = ITEMS,
                        .classes = 2,
                        .users = 2,
                        .h = 2,
                        .w = 2,
                        .c = 1,
                        .scale = 1,
                        .x = x,
                        .y = y,
                        .user = user,
                        .class_names = classes,
                        .user_names = users};
    HOLDS(dataset_write(fuzz_path("data"), &d, false) == 0);
    uint8_t secret[sizeof secret_turned - 1];
    for (size_t i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)(secret_turned[i] ^ TURN);
    fuzz_write("data/secret.txt", secret, sizeof secret);
    fuzz_write("secret.txt", secret, sizeof secret);
}

static void open_server(void)
{
    make_data();
    struct annotators_options o = {
        .data = fuzz_path("data"), .round = 2, .cost = (millionths)MILLIONTHS};
    HOLDS(labelling_open(&labelling, &o) == 0);
    struct http_options options = {
        .bind = "127.0.0.1", .routes = labelling_routes, .app = labelling, .silent = true};
    HOLDS(http_open(&http, &options) == 0);
}

static void close_server(void)
{
    labelling_stop(labelling);
    http_close(http);
    labelling_close(labelling);
}

struct drain { /* reads what comes back, so that the server never waits */
    int fd;
    struct text text;
};

static void *drain(void *user)
{
    struct drain *d = user;
    char piece[4096];
    for (ssize_t n; (n = recv(d->fd, piece, sizeof piece, 0)) > 0;)
        text_add_bytes(&d->text, piece, (size_t)n);
    return NULL;
}

/* The input with the token in it. */
static struct text request_of(const uint8_t *data, size_t size)
{
    struct text out = {0};
    for (size_t i = 0; i < size; i++)
        if (i + 1 < size && data[i] == '@' && data[i + 1] == '@') {
            text_add(&out, http_token(http));
            i++;
        } else {
            text_add_bytes(&out, data + i, 1);
        }
    return out;
}

static struct text ask(const struct text *request)
{
    int pair[2];
    struct drain d = {0};
    pthread_t thread;
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    if (request->size)
        HOLDS(send(pair[1], request->at, request->size, 0) == (ssize_t)request->size);
    shutdown(pair[1], SHUT_WR);
    d.fd = pair[1];
    HOLDS(pthread_create(&thread, NULL, drain, &d) == 0);
    http_feed(http, pair[0]);
    pthread_join(thread, NULL);
    close(pair[1]);
    return d.text;
}

static bool holds_text(const struct text *t, const char *what)
{
    return t->size > 0 && memmem(t->at, t->size, what, strlen(what));
}

/* What a stranger is told: a status of theirs, and nothing of ours. */
static void check_stranger(const struct text *got)
{
    static const char *const ours[] = {"{\"", "<!doctype", "Set-Cookie", "import {", "HTTP/1.1 2"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        HOLDS(!holds_text(got, ours[i]));
    HOLDS(!answers_exist(fuzz_path("data")));
}

static void check_sums(void)
{
    struct mete_answers_status s;
    HOLDS(mete_answers_status(fuzz_path("data"), &s, NULL, NULL) == 0);
    HOLDS(s.items == ITEMS && s.imported + s.answered + s.unknown + s.open == ITEMS);
    HOLDS(s.spent >= (double)(s.answered + s.unknown + s.second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!http) {
        open_server();
        atexit(close_server);
    }
    struct text request = request_of(data, size);
    struct text got = ask(&request);
    if (!holds_text(&request, http_token(http)))
        check_stranger(&got);
    HOLDS(holds_secret(&request) || !holds_secret(&got));
    HOLDS(!holds_text(&got, "HTTP/1.1 500"));
    if (answers_exist(fuzz_path("data")))
        check_sums();
    unlink(fuzz_path("data/answers.log"));
    text_release(&request);
    text_release(&got);
    return 0;
}
#endif
