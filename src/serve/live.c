/* live.c - watching a database, and the routes of its page. */
#include "serve/live.h"
#include "base/error.h"

#if defined METE_HAVE_SQLITE && defined METE_HAVE_MICROHTTPD
#include "base/clock.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/number.h"
#include "report/page.h"
#include "serve/assets.h"
#include "store/store_sql.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LOOK_MS = 1000, STILL_SECONDS = 10 };

struct live {
    char *db;
    pthread_t watcher;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* the state, or `closing` */
    bool closing;
    char *state; /* JSON */
    uint64_t version;
    /* the charts of one version; drawn under a lock of their own */
    pthread_mutex_t drawing;
    char *charts;
    uint64_t charts_version;
};

/* ---- watching ---- */

static char *error_json(void)
{
    struct jsonw w = {0};
    jsonw_object(&w, NULL);
    jsonw_string(&w, "error", mete_errmsg());
    jsonw_close(&w);
    return w.text;
}

static void add_stat(uint64_t *sum, const char *path)
{
    struct stat at = {0};
    uint64_t values[5] = {0};
    if (stat(path, &at) == 0) {
        values[0] = (uint64_t)at.st_ino;
        values[1] = (uint64_t)at.st_size;
        values[2] = (uint64_t)at.st_mtim.tv_sec;
        values[3] = (uint64_t)at.st_mtim.tv_nsec;
        values[4] = 1;
    }
    for (int i = 0; i < 5; i++)
        *sum = (*sum ^ values[i]) * UINT64_C(0x100000001b3);
}

/* Another number where the database or a checkpoint of a run under way is another. */
static uint64_t signature(const char *db)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    char *log = mem_print("%s-wal", db), *runs = mem_print("%s.runs", db);
    add_stat(&sum, db);
    add_stat(&sum, log);
    DIR *folder = opendir(runs);
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (*e->d_name != '.') {
            char *path = mem_print("%s/%s/checkpoint.safetensors", runs, e->d_name);
            add_stat(&sum, path);
            free(path);
        }
    if (folder)
        closedir(folder);
    free(log);
    free(runs);
    return sum;
}

/* Opened anew for each look: the file may have been replaced. */
static char *look(const char *db)
{
    struct store *s = NULL;
    struct text out = {0};
    int err = store_open(&s, db, STORE_READ);
    if (!err)
        err = live_state(s, &out);
    store_close(s);
    if (!err)
        return text_take(&out);
    text_release(&out);
    return error_json();
}

/* Takes over `state`. */
static void show(struct live *l, char *state)
{
    if (l->state && strcmp(l->state, state) == 0) {
        free(state);
        return;
    }
    free(l->state);
    l->state = state;
    l->version++;
    pthread_cond_broadcast(&l->changed);
}

static struct timespec in_ms(int ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ms % 1000 * 1000000L;
    t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000L;
    t.tv_nsec %= 1000000000L;
    return t;
}

/* Where nothing was written it looks now and then all the same: a holder may have fallen silent. */
static void *watch(void *user)
{
    struct live *l = user;
    uint64_t seen = 0;
    double looked = 0;
    number_enter();
    pthread_mutex_lock(&l->lock);
    while (!l->closing) {
        pthread_mutex_unlock(&l->lock);
        double began = seconds_now();
        uint64_t now = signature(l->db);
        bool due = now != seen || began - looked > STILL_SECONDS;
        char *state = due ? look(l->db) : NULL;
        int took = (int)(1000 * (seconds_now() - began));
        if (due)
            looked = began, seen = now;
        pthread_mutex_lock(&l->lock);
        if (due)
            show(l, state);
        struct timespec until = in_ms(LOOK_MS + 4 * took); /* a fifth of a core at most */
        while (!l->closing && pthread_cond_timedwait(&l->changed, &l->lock, &until) == 0)
            ;
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

int live_open(struct live **out, const char *db)
{
    struct store *s = NULL;
    int err = store_open(&s, db, STORE_READ); /* says at once what is wrong with it */
    store_close(s);
    if (err)
        return err;
    struct live *l = mem_alloc(sizeof *l);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    l->db = mem_string(db);
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->drawing, NULL);
    pthread_cond_init(&l->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    l->state = look(db);
    l->version = 1;
    if (pthread_create(&l->watcher, NULL, watch, l) != 0) {
        free(l->state);
        free(l->db);
        free(l);
        return fail(METE_ENOMEM, "no thread can be had to watch %s", db);
    }
    *out = l;
    return 0;
}

void live_stop(struct live *l)
{
    pthread_mutex_lock(&l->lock);
    bool first = !l->closing;
    l->closing = true;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
    if (first)
        pthread_join(l->watcher, NULL);
}

void live_close(struct live *l)
{
    if (!l)
        return;
    live_stop(l);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    pthread_mutex_destroy(&l->drawing);
    free(l->state);
    free(l->charts);
    free(l->db);
    free(l);
}

/* ---- routes ---- */

static void get_page(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_bytes(r, "text/html; charset=utf-8", serve_live_html, serve_live_html_size);
}

static void get_script(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_bytes(r, "text/javascript; charset=utf-8", serve_live_js, serve_live_js_size);
}

static void get_state(void *app, const struct request *q, struct response *r)
{
    struct live *l = app;
    (void)q;
    pthread_mutex_lock(&l->lock);
    respond_bytes(r, "application/json", l->state, strlen(l->state));
    pthread_mutex_unlock(&l->lock);
}

/* The state each time it is another one; a comment now and then keeps the connection. */
static bool next_event(void *user, uint64_t *seen, struct text *out)
{
    struct live *l = user;
    struct timespec until = in_ms(STILL_SECONDS * 1000);
    pthread_mutex_lock(&l->lock);
    while (!l->closing && l->version == *seen &&
           pthread_cond_timedwait(&l->changed, &l->lock, &until) == 0)
        ;
    bool open = !l->closing;
    if (l->version != *seen)
        text_print(out, "id: %llu\ndata: %s\n\n", (unsigned long long)l->version, l->state);
    else
        text_add(out, ": still here\n\n");
    *seen = l->version;
    pthread_mutex_unlock(&l->lock);
    return open;
}

static void get_events(void *app, const struct request *q, struct response *r)
{
    (void)q;
    r->type = "text/event-stream";
    r->more = next_event;
    r->user = app;
}

static void get_charts(void *app, const struct request *q, struct response *r)
{
    struct live *l = app;
    struct text out = {0};
    (void)q;
    pthread_mutex_lock(&l->lock);
    uint64_t version = l->version;
    pthread_mutex_unlock(&l->lock);
    pthread_mutex_lock(&l->drawing);
    if (!l->charts || l->charts_version != version) {
        int err = live_charts(l->db, &out);
        if (err)
            respond_failed(r, err);
        free(l->charts);
        l->charts = err ? NULL : text_take(&out);
        l->charts_version = version;
        text_release(&out);
    }
    if (l->charts)
        respond_bytes(r, "text/html; charset=utf-8", l->charts, strlen(l->charts));
    pthread_mutex_unlock(&l->drawing);
}

static void get_report(void *app, const struct request *q, struct response *r)
{
    struct live *l = app;
    struct mete_report_options o = {.db = l->db};
    (void)q;
    int err = report_text(&r->body, &o);
    if (err) {
        respond_failed(r, err);
        return;
    }
    r->type = "text/html; charset=utf-8";
    r->save_as = mem_string("report.html");
}

const struct http_route live_routes[] = {
    {"GET", "/", get_page},
    {"GET", "/live.js", get_script},
    {"GET", "/state", get_state},
    {"GET", "/events", get_events},
    {"GET", "/charts", get_charts},
    {"GET", "/report.html", get_report},
    {"GET", "/serve.css", asset_css},
    {"GET", "/figures.js", asset_figures},
    {0},
};
#endif
