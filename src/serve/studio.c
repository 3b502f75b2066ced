/* studio.c - what a machine learning backend of Label Studio answers.
 *
 * Its tasks are those that `mete label next --format label-studio` writes: {"data": {"item": 12,
 * …}}.  The model is adapted to what a task's person has answered whenever it predicts, so there
 * is nothing to train.
 */
#include "serve/labelling.h"
#include "base/error.h"

#ifdef METE_HAVE_MICROHTTPD
#include "base/json.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "people/ask_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 80 };

/* ---- what is asked for ---- */

struct wanted {
    int64_t *item;
    int n;
    char from[NAME], to[NAME]; /* names of the control and the object in its configuration */
};

/* The value of an attribute of a tag, which ends at `end`. */
static void read_attribute(const char *tag, const char *end, const char *name, char out[NAME])
{
    size_t n = strlen(name);
    for (const char *c = tag; c + n + 2 < end; c++) {
        if (strchr(" \t\r\n", c[0]) == NULL || strncmp(c + 1, name, n) != 0 || c[1 + n] != '=')
            continue;
        const char *value = c + n + 3, quote = c[n + 2];
        const char *close = quote == '"' || quote == '\'' ? strchr(value, quote) : NULL;
        if (close && close < end && close - value < NAME) {
            memcpy(out, value, (size_t)(close - value));
            out[close - value] = '\0';
        }
        return;
    }
}

/* <Choices name="choice" toName="image"> */
static void read_configuration(const char *xml, struct wanted *w)
{
    const char *tag = strstr(xml, "<Choices"), *end = tag ? strchr(tag, '>') : NULL;
    if (!end)
        return;
    read_attribute(tag, end, "name", w->from);
    read_attribute(tag, end, "toName", w->to);
}

static int read_data(struct json *j, const struct dataset *d, int64_t *item)
{
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = strcmp(j->text, "item") == 0 ? json_get_int(j, 0, d->items - 1, item) : json_skip(j);
    return err;
}

static int read_task(struct json *j, const struct dataset *d, struct wanted *w)
{
    int64_t item = -1;
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = strcmp(j->text, "data") == 0 ? read_data(j, d, &item) : json_skip(j);
    if (!err && item < 0)
        err = json_fail(j, "a task without an item; was it made by 'mete label next'?");
    if (err)
        return err;
    if ((w->n & (w->n - 1)) == 0)
        w->item = mem_grow(w->item, w->n ? 2 * (size_t)w->n : 1, sizeof *w->item);
    w->item[w->n++] = item;
    return 0;
}

static int read_tasks(struct json *j, const struct dataset *d, struct wanted *w)
{
    bool more = false;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more)
        err = read_task(j, d, w);
    return err;
}

static int read_wanted(const struct request *q, const struct dataset *d, struct wanted *w)
{
    struct json j;
    bool more = false;
    json_open_memory(&j, "request", q->body, q->size);
    int err = json_enter(&j, JSON_OBJECT);
    while (!err && !(err = json_more(&j, &more)) && more) {
        if (strcmp(j.text, "tasks") == 0) {
            err = read_tasks(&j, d, w);
        } else if (strcmp(j.text, "label_config") == 0) {
            err = json_get_string(&j);
            if (!err)
                read_configuration(j.text, w);
        } else {
            err = json_skip(&j);
        }
    }
    if (!err)
        err = json_finish(&j);
    json_close(&j);
    return err;
}

/* ---- predictions ---- */

struct predicting {
    const struct wanted *wanted;
    struct jsonw w;
};

static void add_prediction(struct predicting *s, const struct people *p, const float *probs)
{
    int best = 0;
    for (int k = 1; k < p->n_classes; k++)
        best = probs[k] > probs[best] ? k : best;
    struct jsonw *w = &s->w;
    jsonw_object(w, NULL);
    jsonw_array(w, "result");
    jsonw_object(w, NULL);
    jsonw_string(w, "from_name", s->wanted->from);
    jsonw_string(w, "to_name", s->wanted->to);
    jsonw_string(w, "type", "choices");
    jsonw_object(w, "value");
    jsonw_array(w, "choices");
    jsonw_string(w, NULL, p->classes[best]);
    jsonw_close(w);
    jsonw_close(w);
    jsonw_close(w);
    jsonw_close(w);
    jsonw_float(w, "score", probs[best]);
    jsonw_close(w);
}

/* Nobody has a model: a task without a prediction. */
static void add_nothing(struct jsonw *w)
{
    jsonw_object(w, NULL);
    jsonw_array(w, "result");
    jsonw_close(w);
    jsonw_real(w, "score", 0);
    jsonw_close(w);
}

static int predict_all(void *user, struct people *p)
{
    struct predicting *s = user;
    float *probs = mem_array((size_t)p->n_classes + 1, sizeof *probs);
    int err = 0, adapted_to = -1;
    for (int i = 0; i < s->wanted->n && !err; i++) {
        int64_t item = s->wanted->item[i];
        int person = p->d->user ? p->d->user[item] : 0;
        if (!questions_model(p->questions)) {
            add_nothing(&s->w);
            continue;
        }
        if (person != adapted_to) {
            struct pool pool = people_pool(p, person);
            err = questions_adapt(p->questions, &pool);
            pool_release(&pool);
            adapted_to = person;
        }
        if (!err)
            err = questions_predict(p->questions, &item, 1, probs);
        if (!err)
            add_prediction(s, p, probs);
    }
    free(probs);
    return err;
}

static void add_version(const struct labelling *l, struct jsonw *w)
{
    const struct people *p = annotators_people(l->annotators);
    char *version = mem_print("mete %s, %s", mete_version(),
                              questions_model(p->questions) ? "with a model" : "without a model");
    jsonw_string(w, "model_version", version);
    free(version);
}

void studio_predict(void *app, const struct request *q, struct response *r)
{
    const struct labelling *l = app;
    struct wanted wanted = {.from = "choice", .to = "image"};
    struct predicting s = {.wanted = &wanted};
    int err = read_wanted(q, annotators_people(l->annotators)->d, &wanted);
    jsonw_object(&s.w, NULL);
    jsonw_array(&s.w, "results");
    if (!err)
        err = annotators_with_people(l->annotators, predict_all, &s);
    if (err) {
        jsonw_release(&s.w);
        respond_failed(r, err);
    } else {
        jsonw_close(&s.w);
        add_version(l, &s.w);
        jsonw_close(&s.w);
        respond_json(r, &s.w);
    }
    free(wanted.item);
}

/* ---- annotations ---- */

struct standing {
    const struct given *g;
    bool own, others;
};

static void look_up(void *user, const struct answers *a)
{
    struct standing *s = user;
    s->own = answers_row_by(a, s->g->item, s->g->who) >= 0;
    s->others = answers_label(a, s->g->item) != NO_LABEL;
}

/* Of an item that somebody else has labelled it is a second answer. */
static int take(struct annotators *a, const struct given *g, bool updated)
{
    struct standing s = {.g = g};
    struct annotator who = {.who = g->who};
    struct view v;
    int err = annotators_read(a, look_up, &s);
    if (!err && s.own && updated) {
        err = annotators_undo(a, &who, g->item, &v);
        if (!err)
            err = annotators_read(a, look_up, &s);
    }
    who.second = s.others && !s.own;
    return err ? err : annotators_answer(a, &who, g->item, g->klass, &v);
}

static void respond_done(struct response *r)
{
    respond_bytes(r, "application/json", "{}", 2);
    r->status = 201;
}

void studio_webhook(void *app, const struct request *q, struct response *r)
{
    const struct labelling *l = app;
    struct given_list given = {0};
    char action[STUDIO_ACTION];
    int err =
        answers_read_event(&given, annotators_people(l->annotators), q->body, q->size, action);
    bool created = strcmp(action, "ANNOTATION_CREATED") == 0,
         updated = strcmp(action, "ANNOTATION_UPDATED") == 0;
    for (int i = 0; i < given.n && !err && (created || updated); i++) {
        if (!given.at[i].who)
            given.at[i].who = mem_string("Label Studio");
        err = take(l->annotators, &given.at[i], updated);
    }
    given_release(&given);
    err ? respond_failed(r, err) : respond_done(r);
}

/* ---- what it also asks ---- */

void studio_health(void *app, const struct request *q, struct response *r)
{
    static const char up[] = "{\"status\":\"UP\",\"model_class\":\"mete\"}";
    (void)app, (void)q;
    respond_bytes(r, "application/json", up, sizeof up - 1);
}

void studio_setup(void *app, const struct request *q, struct response *r)
{
    struct jsonw w = {0};
    (void)q;
    jsonw_object(&w, NULL);
    add_version(app, &w);
    jsonw_close(&w);
    respond_json(r, &w);
}

void studio_train(void *app, const struct request *q, struct response *r)
{
    (void)app, (void)q;
    respond_done(r);
}
#endif
