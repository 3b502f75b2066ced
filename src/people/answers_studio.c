/* answers_studio.c - answers in the JSON that Label Studio exports.
 *
 *   [{"data": {"item": 12, …}, "annotations": [{"completed_by": …, "was_cancelled": false,
 *     "result": [{"type": "choices", "value": {"choices": ["walk"]}}]}]}, …]
 *
 * Its short form (JSON-MIN) has {"item": 12, "label": "walk", "annotator": …, …} instead.
 */
#include "people/ask_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct labelled {
    int64_t item;
    bool has_item;
    char *user, *choice, *who; /* choice: of the annotation at hand */
    int64_t line, column;      /* of the choice */
    bool cancelled;
    struct given_list found;
};

static void keep(char **to, const char *text)
{
    free(*to);
    *to = mem_string(text);
}

/* ---- one annotation ---- */

static int read_choices(struct json *j, struct labelled *t)
{
    bool more = false;
    int err = json_enter(j, JSON_ARRAY), n = 0;
    while (!err && !(err = json_more(j, &more)) && more) {
        err = json_get_string(j);
        if (!err && n++ > 0)
            err = json_fail(j, "several choices; expected one class");
        if (!err && t->choice && strcmp(t->choice, j->text) != 0)
            err = json_fail(j, "a second choice, '%s', beside '%s'", j->text, t->choice);
        if (!err) {
            keep(&t->choice, j->text);
            t->line = j->token_line;
            t->column = j->token_column;
        }
    }
    return err;
}

static int read_value(struct json *j, struct labelled *t)
{
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = strcmp(j->text, "choices") == 0 ? read_choices(j, t) : json_skip(j);
    return err;
}

static int read_result(struct json *j, struct labelled *t)
{
    bool more = false, inner = false;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more) {
        err = json_enter(j, JSON_OBJECT);
        while (!err && !(err = json_more(j, &inner)) && inner)
            err = strcmp(j->text, "value") == 0 ? read_value(j, t) : json_skip(j);
    }
    return err;
}

/* A number, a word, or an object with an e-mail address and a number. */
static int read_who(struct json *j, struct labelled *t)
{
    enum json_token token;
    bool more = false;
    int err = json_next(j, &token);
    if (err)
        return err;
    if (token == JSON_STRING) {
        keep(&t->who, j->text);
    } else if (token == JSON_NUMBER) {
        free(t->who);
        t->who = mem_print("annotator %.15g", j->number);
    } else if (token == JSON_OBJECT) {
        while (!err && !(err = json_more(j, &more)) && more) {
            bool mail = strcmp(j->text, "email") == 0, id = strcmp(j->text, "id") == 0;
            err = mail || (id && !t->who) ? read_who(j, t) : json_skip(j);
        }
    } else if (token != JSON_NULL) {
        return json_fail(j, "expected who answered");
    }
    return err;
}

static void end_annotation(struct labelled *t)
{
    if (t->choice && !t->cancelled) {
        struct given g = {.klass = t->choice, .who = t->who, .line = t->line, .column = t->column};
        if (strcmp(t->choice, ANSWER_DO_NOT_KNOW) == 0) {
            free(t->choice);
            g.klass = NULL;
        }
        given_add(&t->found, &g);
    } else {
        free(t->choice);
        free(t->who);
    }
    t->choice = t->who = NULL;
    t->cancelled = false;
}

static int read_annotation(struct json *j, struct labelled *t)
{
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = strcmp(j->text, "result") == 0          ? read_result(j, t)
              : strcmp(j->text, "completed_by") == 0  ? read_who(j, t)
              : strcmp(j->text, "was_cancelled") == 0 ? json_get_bool(j, &t->cancelled)
                                                      : json_skip(j);
    if (!err)
        end_annotation(t);
    return err;
}

static int read_annotations(struct json *j, struct labelled *t)
{
    bool more = false;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more)
        err = read_annotation(j, t);
    return err;
}

/* ---- one task ---- */

static int read_item(struct json *j, const struct people *p, struct labelled *t)
{
    t->has_item = true;
    return json_get_int(j, 0, p->d->items - 1, &t->item);
}

static int read_user(struct json *j, struct labelled *t)
{
    int err = json_get_string(j);
    if (!err)
        keep(&t->user, j->text);
    return err;
}

static int read_data(struct json *j, const struct people *p, struct labelled *t)
{
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = strcmp(j->text, "item") == 0   ? read_item(j, p, t)
              : strcmp(j->text, "user") == 0 ? read_user(j, t)
                                             : json_skip(j);
    return err;
}

/* The answer of the short form. */
static int read_label(struct json *j, struct labelled *t)
{
    int err = json_get_string(j);
    if (!err) {
        keep(&t->choice, j->text);
        t->line = j->token_line;
        t->column = j->token_column;
    }
    return err;
}

static int read_key(struct json *j, const struct people *p, struct labelled *t)
{
    if (strcmp(j->text, "data") == 0)
        return read_data(j, p, t);
    if (strcmp(j->text, "annotations") == 0)
        return read_annotations(j, t);
    if (strcmp(j->text, "item") == 0)
        return read_item(j, p, t);
    if (strcmp(j->text, "user") == 0)
        return read_user(j, t);
    if (strcmp(j->text, "label") == 0 || strcmp(j->text, "choice") == 0)
        return read_label(j, t);
    if (strcmp(j->text, "annotator") == 0)
        return read_who(j, t);
    return json_skip(j);
}

static int check_task(struct json *j, const struct people *p, const struct labelled *t)
{
    char name[16];
    if (!t->has_item)
        return json_fail(j, "a task without an item; was it made by 'mete label next'?");
    if (t->user && p->d->users) {
        const char *is = people_name(p, p->d->user[t->item], name);
        if (strcmp(is, t->user) != 0)
            return json_fail(j, "item %" PRId64 " is of user '%s', and not of '%.60s'", t->item, is,
                             t->user);
    }
    return 0;
}

static void release_task(struct labelled *t)
{
    given_release(&t->found);
    free(t->user);
    free(t->choice);
    free(t->who);
}

/* Hands over what was said of the task, and releases it. */
static int end_task(struct json *j, const struct people *p, struct labelled *t, int err,
                    struct given_list *out)
{
    if (!err)
        err = check_task(j, p, t);
    if (!err)
        end_annotation(t);
    out->blank += !err && t->found.n == 0;
    for (int i = 0; i < t->found.n && !err; i++) {
        t->found.at[i].item = t->item;
        given_add(out, &t->found.at[i]);
        t->found.at[i].klass = t->found.at[i].who = NULL;
    }
    release_task(t);
    return err;
}

static int read_members(struct json *j, const struct people *p, struct labelled *t)
{
    bool more = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more)
        err = read_key(j, p, t);
    return err;
}

static int read_task(struct json *j, const struct people *p, struct given_list *out)
{
    struct labelled t = {0};
    return end_task(j, p, &t, read_members(j, p, &t), out);
}

static int read_action(struct json *j, char action[STUDIO_ACTION])
{
    int err = json_get_string(j);
    if (!err)
        snprintf(action, STUDIO_ACTION, "%s", j->text);
    return err;
}

int answers_read_event(struct given_list *out, const struct people *p, const char *text,
                       size_t size, char action[STUDIO_ACTION])
{
    struct json j;
    struct labelled t = {0};
    bool more = false;
    *action = '\0';
    json_open_memory(&j, "event", text, size);
    int err = json_enter(&j, JSON_OBJECT);
    while (!err && !(err = json_more(&j, &more)) && more)
        err = strcmp(j.text, "action") == 0       ? read_action(&j, action)
              : strcmp(j.text, "annotation") == 0 ? read_annotation(&j, &t)
              : strcmp(j.text, "task") == 0       ? read_members(&j, p, &t)
                                                  : json_skip(&j);
    if (!err)
        err = json_finish(&j);
    if (err || t.found.n == 0)
        release_task(&t); /* of other things */
    else
        err = end_task(&j, p, &t, 0, out);
    json_close(&j);
    return err;
}

int answers_read_studio(struct given_list *out, const struct people *p, const char *path)
{
    struct json j = {0};
    bool more = false;
    int err = json_open_file(&j, path);
    if (!err)
        err = json_enter(&j, JSON_ARRAY);
    while (!err && !(err = json_more(&j, &more)) && more)
        err = read_task(&j, p, out);
    if (!err)
        err = json_finish(&j);
    json_close(&j);
    return err;
}
