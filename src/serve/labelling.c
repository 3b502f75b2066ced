/* labelling.c - the routes of the page on which people label items. */
#include "serve/labelling.h"
#include "base/error.h"

#ifdef METE_HAVE_MICROHTTPD
#include "base/json.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "people/ask_file.h"
#include "serve/assets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 3 }; /* of each class */

/* ---- what is asked for ---- */

struct said { /* zeroed is nothing; in a body, or after the '?' of an address */
    char *who, *user, *label;
    int64_t item, ahead;
    bool second, again, unknown;
};

static void said_release(struct said *s)
{
    free(s->who);
    free(s->user);
    free(s->label);
}

/* A string that says something, or null; *null, unless NULL: which. */
static int take_text(struct json *j, char **out, bool *null)
{
    enum json_token token;
    char key[16];
    snprintf(key, sizeof key, "%s", j->text);
    int err = json_next(j, &token);
    if (!err && token != JSON_STRING && token != JSON_NULL)
        err = json_fail(j, "%s: expected a string, or null", key);
    if (err)
        return err;
    free(*out);
    *out = token == JSON_STRING && *j->text ? mem_string(j->text) : NULL;
    if (null)
        *null = token == JSON_NULL;
    return 0;
}

static int take_member(struct json *j, struct said *s)
{
    if (strcmp(j->text, "who") == 0)
        return take_text(j, &s->who, NULL);
    if (strcmp(j->text, "user") == 0)
        return take_text(j, &s->user, NULL);
    if (strcmp(j->text, "label") == 0)
        return take_text(j, &s->label, &s->unknown); /* null: they do not know */
    if (strcmp(j->text, "item") == 0)
        return json_get_int(j, 0, INT64_MAX, &s->item);
    if (strcmp(j->text, "ahead") == 0)
        return json_get_int(j, 0, AHEAD_MOST, &s->ahead);
    if (strcmp(j->text, "second") == 0)
        return json_get_bool(j, &s->second);
    return json_skip(j);
}

/* {"who": "ann", "user": "p007", "item": 12, …} */
static int read_body(const struct request *q, struct said *s)
{
    struct json j;
    bool more = false;
    *s = (struct said){.item = -1};
    json_open_memory(&j, "request", q->body, q->size);
    int err = json_enter(&j, JSON_OBJECT);
    while (!err && !(err = json_more(&j, &more)) && more)
        err = take_member(&j, s);
    if (!err)
        err = json_finish(&j);
    json_close(&j);
    return err;
}

static char *argument(const struct request *q, const char *name)
{
    const char *value = request_argument(q, name);
    return value && *value ? mem_string(value) : NULL;
}

static struct said read_arguments(const struct request *q)
{
    const char *ahead = request_argument(q, "ahead");
    return (struct said){.who = argument(q, "who"),
                         .user = argument(q, "user"),
                         .ahead = ahead ? strtol(ahead, NULL, 10) : 0,
                         .second = request_argument(q, "second"),
                         .again = request_argument(q, "again")};
}

static struct annotator annotator_of(const struct said *s)
{
    return (struct annotator){
        .who = s->who, .user = s->user, .second = s->second, .ahead = s->ahead};
}

/* ---- what is answered ---- */

static void add_model(const struct labelling *l, struct jsonw *w, const struct view *v)
{
    char name[16];
    if (v->person < 0)
        return;
    jsonw_object(w, "model");
    jsonw_string(w, "user", people_name(annotators_people(l->annotators), v->person, name));
    jsonw_real(w, "sure", v->sure);
    jsonw_real(w, "before", v->sure_before);
    jsonw_close(w);
}

static void respond_view(const struct labelling *l, struct response *r, const struct view *v)
{
    static const char *const left[] = {[LEFT_SOME] = "some",
                                       [LEFT_NONE] = "none",
                                       [LEFT_SKIPPED] = "skipped",
                                       [LEFT_TO_OTHERS] = "others",
                                       [LEFT_NO_BUDGET] = "budget"};
    struct jsonw w = {0};
    jsonw_object(&w, NULL);
    jsonw_array(&w, "items");
    for (int i = 0; i < v->n; i++)
        labelling_item(&w, annotators_people(l->annotators), &l->places, &v->next[i]);
    jsonw_close(&w);
    jsonw_string(&w, "left", left[v->left]);
    v->last >= 0 ? jsonw_int(&w, "last", v->last) : jsonw_null(&w, "last");
    jsonw_int(&w, "mine", v->mine);
    jsonw_int(&w, "open", v->open);
    jsonw_int(&w, "answered", v->answered);
    jsonw_real(&w, "spent", v->spent);
    jsonw_real(&w, "budget", v->budget);
    add_model(l, &w, v);
    jsonw_close(&w);
    respond_json(r, &w);
}

static void get_next(void *app, const struct request *q, struct response *r)
{
    struct labelling *l = app;
    struct said s = read_arguments(q);
    struct annotator who = annotator_of(&s);
    struct view v;
    int err = annotators_look(l->annotators, &who, s.again, &v);
    err ? respond_failed(r, err) : respond_view(l, r, &v);
    said_release(&s);
}

/* What the routes below share: a body that names an annotator and an item. */
typedef int say_fn(struct annotators *a, const struct annotator *who, const struct said *s,
                   struct view *out);

static void say(const struct labelling *l, const struct request *q, struct response *r, say_fn *fn)
{
    struct said s;
    struct view v;
    int err = read_body(q, &s);
    struct annotator who = annotator_of(&s);
    if (!err)
        err = fn(l->annotators, &who, &s, &v);
    err ? respond_failed(r, err) : respond_view(l, r, &v);
    said_release(&s);
}

static int say_answer(struct annotators *a, const struct annotator *who, const struct said *s,
                      struct view *out)
{
    if (!s->label && !s->unknown)
        return fail(METE_EINVAL, "label: expected a class, or null for not sure");
    return annotators_answer(a, who, s->item, s->label, out);
}

static int say_skip(struct annotators *a, const struct annotator *who, const struct said *s,
                    struct view *out)
{
    return annotators_skip(a, who, s->item, out);
}

static int say_undo(struct annotators *a, const struct annotator *who, const struct said *s,
                    struct view *out)
{
    return annotators_undo(a, who, s->item, out);
}

static void post_answer(void *app, const struct request *q, struct response *r)
{
    say(app, q, r, say_answer);
}

static void post_skip(void *app, const struct request *q, struct response *r)
{
    say(app, q, r, say_skip);
}

static void post_undo(void *app, const struct request *q, struct response *r)
{
    say(app, q, r, say_undo);
}

/* ---- the data ---- */

static void get_about(void *app, const struct request *q, struct response *r)
{
    const struct labelling *l = app;
    const struct people *p = annotators_people(l->annotators);
    char name[16];
    struct jsonw w = {0};
    (void)q;
    jsonw_object(&w, NULL);
    jsonw_string(&w, "name", p->d->name);
    jsonw_int(&w, "items", p->d->items);
    jsonw_bool(&w, "pictures", labelling_has_pictures(p->d));
    jsonw_int(&w, "height", p->d->h);
    jsonw_int(&w, "width", p->d->w);
    jsonw_int(&w, "round", annotators_round(l->annotators));
    jsonw_string(&w, "strategy", questions_strategy(p->questions));
    jsonw_bool(&w, "model", questions_model(p->questions));
    jsonw_array(&w, "users");
    for (int u = 0; u < p->d->users; u++)
        jsonw_string(&w, NULL, people_name(p, u, name));
    jsonw_close(&w);
    jsonw_close(&w);
    respond_json(r, &w);
}

/* Every class, with a few items of it, those that people answered first. */
static void add_classes(void *user, const struct answers *a)
{
    struct jsonw *w = user;
    const struct dataset *d = answers_dataset(a);
    int n = 0;
    while (answers_class(a, n))
        n++;
    int64_t(*example)[EXAMPLES] = mem_array((size_t)n + 1, sizeof *example);
    int *found = mem_array((size_t)n + 1, sizeof *found);
    for (int imported = 0; imported < 2; imported++)
        for (int64_t i = 0; i < d->items; i++) {
            int32_t k = answers_label(a, i);
            if (k != NO_LABEL && (d->y[i] != NO_LABEL) == imported && found[k] < EXAMPLES)
                example[k][found[k]++] = i;
        }
    for (int k = 0; k < n; k++) {
        jsonw_object(w, NULL);
        jsonw_string(w, "name", answers_class(a, k));
        jsonw_array(w, "examples");
        for (int i = 0; i < found[k]; i++)
            jsonw_int(w, NULL, example[k][i]);
        jsonw_close(w);
        jsonw_close(w);
    }
    free(example);
    free(found);
}

static void respond_classes(const struct labelling *l, struct response *r)
{
    struct jsonw w = {0};
    jsonw_object(&w, NULL);
    jsonw_array(&w, "classes");
    int err = annotators_read(l->annotators, add_classes, &w);
    jsonw_close(&w);
    jsonw_close(&w);
    if (!err) {
        respond_json(r, &w);
        return;
    }
    jsonw_release(&w);
    respond_failed(r, err);
}

static void get_classes(void *app, const struct request *q, struct response *r)
{
    (void)q;
    respond_classes(app, r);
}

static void post_class(void *app, const struct request *q, struct response *r)
{
    struct labelling *l = app;
    struct said s;
    int err = read_body(q, &s);
    if (!err)
        err = annotators_add_class(l->annotators, s.who, s.label);
    err ? respond_failed(r, err) : respond_classes(l, r);
    said_release(&s);
}

/* /item/12.bmp */
static void get_item(void *app, const struct request *q, struct response *r)
{
    const struct labelling *l = app;
    const struct dataset *d = annotators_people(l->annotators)->d;
    const char *number = q->path + strlen("/item/");
    char *end;
    long long item = *number >= '0' && *number <= '9' ? strtoll(number, &end, 10) : -1;
    if (item < 0 || item >= d->items || strcmp(end, ".bmp") != 0 || !labelling_has_pictures(d)) {
        respond_error(r, 404, "there is no %s here", q->path);
        return;
    }
    labelling_picture(&r->body, d, item);
    r->type = "image/bmp";
    r->keep = true;
}

struct sheet {
    const struct labelling *l;
    struct text text;
};

/* As `mete label import` takes it. */
static void add_answers(void *user, const struct answers *a)
{
    struct sheet *s = user;
    const struct people *p = annotators_people(s->l->annotators);
    const struct places *places = &s->l->places;
    char place[PLACE_SIZE], name[16];
    int64_t n;
    const struct answer *row = answers_rows(a, &n);
    text_print(&s->text, "item%s%s%s,label,who,when\n", places->word ? "," : "",
               places->word ? places->word : "", p->d->users ? ",user" : "");
    for (int64_t i = 0; i < n; i++) {
        if (row[i].undone || !answer_has_item(&row[i]) || row[i].kind == ANSWER_SECOND)
            continue;
        text_print(&s->text, "%" PRId64, row[i].item);
        const char *field[] = {places->word ? places_of(places, row[i].item, place) : NULL,
                               p->d->users ? people_name(p, p->d->user[row[i].item], name) : NULL,
                               row[i].klass ? row[i].klass : ANSWER_DO_NOT_KNOW, row[i].who,
                               row[i].when};
        for (size_t k = 0; k < sizeof field / sizeof *field; k++)
            if (field[k]) {
                text_add(&s->text, ",");
                text_csv(&s->text, field[k]);
            }
        text_add(&s->text, "\n");
    }
}

static void get_answers(void *app, const struct request *q, struct response *r)
{
    struct sheet s = {.l = app};
    (void)q;
    int err = annotators_read(s.l->annotators, add_answers, &s);
    if (err) {
        text_release(&s.text);
        respond_failed(r, err);
        return;
    }
    r->body = s.text;
    r->type = "text/csv; charset=utf-8";
    r->save_as = mem_string("answers.csv");
}

/* ---- the page ---- */

static void get_page(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_bytes(r, "text/html; charset=utf-8", serve_label_html, serve_label_html_size);
}

static void get_script(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_bytes(r, "text/javascript; charset=utf-8", serve_label_js, serve_label_js_size);
}

const struct http_route labelling_routes[] = {
    {"GET", "/", get_page},
    {"GET", "/label.js", get_script},
    {"GET", "/serve.css", asset_css},
    {"GET", "/about", get_about},
    {"GET", "/classes", get_classes},
    {"POST", "/class", post_class},
    {"GET", "/next", get_next},
    {"POST", "/answer", post_answer},
    {"POST", "/skip", post_skip},
    {"POST", "/undo", post_undo},
    {"GET", "/item/", get_item},
    {"GET", "/answers.csv", get_answers},
    {"GET", "/health", studio_health},
    {"POST", "/setup", studio_setup},
    {"POST", "/predict", studio_predict},
    {"POST", "/webhook", studio_webhook},
    {"POST", "/train", studio_train},
    {0},
};

/* ---- opening and closing ---- */

int labelling_open(struct labelling **out, const struct annotators_options *o)
{
    struct labelling *l = mem_alloc(sizeof *l);
    int err = annotators_open(&l->annotators, o);
    if (!err)
        err = places_open(&l->places, annotators_people(l->annotators)->d);
    if (err)
        labelling_close(l);
    else
        *out = l;
    return err;
}

void labelling_stop(struct labelling *l)
{
    annotators_stop(l->annotators);
}

void labelling_close(struct labelling *l)
{
    if (!l)
        return;
    annotators_close(l->annotators);
    places_close(&l->places);
    free(l);
}
#endif
