/* task_file.c - writing and reading tasks.json. */
#include "task/task_file.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char format[] = "mete-tasks";
enum { VERSION = 1 };

void task_file_release(struct task_file *f)
{
    for (int i = 0; i < f->n; i++)
        episode_release(&f->episodes[i]);
    free(f->episodes);
    free(f->support);
    *f = (struct task_file){0};
}

static void write_numbers(struct jsonw *w, const char *key, const int32_t *number, int n)
{
    jsonw_array(w, key);
    for (int i = 0; i < n; i++)
        jsonw_int(w, NULL, number[i]);
    jsonw_close(w);
}

/* The dataset's class of each label, -1 where a label does not occur. */
static void write_classes(struct jsonw *w, const struct episode *e, const struct dataset *d)
{
    int32_t *klass = mem_array((size_t)e->ways + 1, sizeof *klass);
    memset(klass, -1, (size_t)e->ways * sizeof *klass);
    for (int i = 0; i < e->n_support; i++)
        klass[e->support_label[i]] = d->y[e->support[i]];
    for (int i = 0; i < e->n_query; i++)
        klass[e->query_label[i]] = d->y[e->query[i]];
    write_numbers(w, "classes", klass, e->ways);
    free(klass);
}

char *task_file_text(const struct task_file *f, const struct dataset *d)
{
    struct jsonw w = {.lines = 2};
    jsonw_object(&w, NULL);
    jsonw_string(&w, "format", format);
    jsonw_int(&w, "version", VERSION);
    jsonw_string(&w, "dataset", d->name);
    jsonw_string(&w, "sha256", d->sha256);
    jsonw_int(&w, "items", d->items);
    jsonw_string(&w, "part", split_part_name(f->part));
    jsonw_int(&w, "seed", f->seed);
    jsonw_int(&w, "ways", f->ways);
    jsonw_int(&w, "shots", f->shots);
    jsonw_string(&w, "support", f->support);
    jsonw_array(&w, "tasks");
    for (int i = 0; i < f->n; i++) {
        const struct episode *e = &f->episodes[i];
        jsonw_object(&w, NULL);
        jsonw_int(&w, "task", e->task);
        if (e->user >= 0)
            jsonw_int(&w, "user", e->user);
        else
            write_classes(&w, e, d);
        write_numbers(&w, "support", e->support, e->n_support);
        write_numbers(&w, "support_labels", e->support_label, e->n_support);
        write_numbers(&w, "query", e->query, e->n_query);
        write_numbers(&w, "query_labels", e->query_label, e->n_query);
        jsonw_close(&w);
    }
    jsonw_close(&w);
    jsonw_close(&w);
    return w.text;
}

int task_file_write(const char *path, const struct task_file *f, const struct dataset *d)
{
    char *text = task_file_text(f, d);
    int err = file_write(path, text, strlen(text));
    free(text);
    return err;
}

/* A growing list of whole numbers. */
struct numbers {
    int32_t *at;
    int n, room;
};

static int read_numbers(struct json *j, int64_t below, struct numbers *out)
{
    bool more;
    int err = json_enter(j, JSON_ARRAY);
    out->n = 0;
    while (!err && !(err = json_more(j, &more)) && more) {
        int64_t value;
        err = json_get_int(j, 0, below - 1, &value);
        if (!err && out->n == out->room) {
            out->room = 2 * out->room + 64;
            out->at = mem_grow(out->at, (size_t)out->room, sizeof *out->at);
        }
        if (!err)
            out->at[out->n++] = (int32_t)value;
    }
    return err;
}

enum { SUPPORT, SUPPORT_LABELS, QUERY, QUERY_LABELS, LISTS };
static const char *const list_names[LISTS] = {"support", "support_labels", "query", "query_labels"};

struct reading {
    struct json j;
    const struct dataset *d;
    struct task_file f;
    struct numbers list[LISTS];
    uint8_t *seen;     /* (items) */
    int32_t *class_of; /* (ways) by label */
    int32_t *label_of; /* (classes) */
};

/* Labels and classes must pair off, the same way throughout the task. */
static int pair_off(struct reading *r, int task, int32_t item, int32_t label)
{
    int32_t klass = r->d->y[item];
    if (klass == NO_LABEL)
        return json_fail(&r->j, "task %d: item %d has no label", task, item);
    if (r->seen[item]++)
        return json_fail(&r->j, "task %d: item %d occurs twice", task, item);
    if (r->class_of[label] < 0 && r->label_of[klass] < 0) {
        r->class_of[label] = klass;
        r->label_of[klass] = label;
    }
    if (r->class_of[label] != klass)
        return json_fail(&r->j, "task %d: item %d is of class %d, which is not label %d there",
                         task, item, klass, label);
    return 0;
}

static int check_task(struct reading *r, int task)
{
    int err = 0;
    for (int k = 0; k < LISTS; k += 2) {
        const struct numbers *items = &r->list[k], *labels = &r->list[k + 1];
        if (items->n != labels->n)
            return json_fail(&r->j, "task %d: %s has %d items and %s %d", task, list_names[k],
                             items->n, list_names[k + 1], labels->n);
        for (int i = 0; i < items->n && !err; i++)
            err = pair_off(r, task, items->at[i], labels->at[i]);
    }
    for (int k = 0; k < LISTS; k += 2) /* ready for the next task */
        for (int i = 0; i < r->list[k].n; i++) {
            int32_t item = r->list[k].at[i];
            r->seen[item] = 0;
            if (r->d->y[item] != NO_LABEL)
                r->label_of[r->d->y[item]] = -1;
        }
    memset(r->class_of, -1, (size_t)r->f.ways * sizeof *r->class_of);
    return err;
}

static void keep_task(struct reading *r, int64_t number, int user)
{
    struct numbers *l = r->list;
    struct task shape = {.number = number,
                         .user = user,
                         .ways = r->f.ways,
                         .n_query = l[QUERY].n,
                         .query = l[QUERY].at};
    if ((r->f.n & (r->f.n - 1)) == 0)
        r->f.episodes =
            mem_grow(r->f.episodes, (size_t)(r->f.n ? 2 * r->f.n : 1), sizeof *r->f.episodes);
    struct episode *e = &r->f.episodes[r->f.n++];
    episode_init(e, &shape, l[SUPPORT].n);
    for (int i = 0; i < l[SUPPORT].n; i++) {
        e->support[i] = l[SUPPORT].at[i];
        e->support_label[i] = l[SUPPORT_LABELS].at[i];
    }
    for (int i = 0; i < l[QUERY].n; i++)
        e->query_label[i] = l[QUERY_LABELS].at[i];
}

static int read_task(struct reading *r)
{
    int64_t number = r->f.n, user = -1;
    bool more;
    int err = json_enter(&r->j, JSON_OBJECT);
    for (int k = 0; k < LISTS; k++)
        r->list[k].n = 0;
    while (!err && !(err = json_more(&r->j, &more)) && more) {
        int k = 0;
        while (k < LISTS && strcmp(r->j.text, list_names[k]) != 0)
            k++;
        if (k < LISTS)
            err = read_numbers(&r->j, k % 2 ? r->f.ways : r->d->items, &r->list[k]);
        else if (strcmp(r->j.text, "task") == 0)
            err = json_get_int(&r->j, 0, INT64_MAX, &number);
        else if (strcmp(r->j.text, "user") == 0)
            err = json_get_int(&r->j, 0, r->d->users - 1, &user);
        else
            err = json_skip(&r->j);
    }
    if (!err)
        err = check_task(r, r->f.n);
    if (!err && r->list[QUERY].n == 0)
        err = json_fail(&r->j, "task %d has no query", r->f.n);
    if (!err)
        keep_task(r, number, (int)user);
    return err;
}

static int read_tasks(struct reading *r)
{
    bool more;
    if (r->f.ways == 0)
        return json_fail(&r->j, "'ways' must come before 'tasks'");
    if (r->seen)
        return json_fail(&r->j, "'tasks' occurs twice");
    r->seen = mem_array((size_t)r->d->items + 1, 1);
    r->class_of = mem_array((size_t)r->f.ways + 1, sizeof *r->class_of);
    r->label_of = mem_array((size_t)r->d->classes + 1, sizeof *r->label_of);
    memset(r->class_of, -1, (size_t)r->f.ways * sizeof *r->class_of);
    memset(r->label_of, -1, (size_t)r->d->classes * sizeof *r->label_of);
    int err = json_enter(&r->j, JSON_ARRAY);
    while (!err && !(err = json_more(&r->j, &more)) && more)
        err = read_task(r);
    return err;
}

/* The value of a text that must be `expected`, where both say something. */
static int expect(struct json *j, const char *what, const char *expected)
{
    int err = json_get_string(j);
    if (!err && *j->text && *expected && strcmp(j->text, expected) != 0)
        err = json_fail(j, "made for %s '%s', and this is '%s'", what, j->text, expected);
    return err;
}

static int read_field(struct reading *r, bool *is_ours)
{
    struct json *j = &r->j;
    const char *key = j->text;
    int64_t number = 0;
    int err = 0;
    if (strcmp(key, "format") == 0) {
        *is_ours = true;
        err = expect(j, "the format", format);
    } else if (strcmp(key, "version") == 0) {
        err = json_get_int(j, VERSION, VERSION, &number);
    } else if (strcmp(key, "dataset") == 0) {
        err = expect(j, "the dataset", r->d->name);
    } else if (strcmp(key, "sha256") == 0) {
        err = expect(j, "a dataset with the checksum", r->d->sha256);
    } else if (strcmp(key, "items") == 0) {
        err = json_get_int(j, r->d->items, r->d->items, &number);
    } else if (strcmp(key, "part") == 0) {
        if (!(err = json_get_string(j)) && split_part_find(j->text, &r->f.part))
            err = json_fail(j, "a part is train, val or test");
    } else if (strcmp(key, "seed") == 0) {
        err = json_get_int(j, 0, INT64_MAX, &r->f.seed);
    } else if (strcmp(key, "ways") == 0 && r->f.ways == 0) {
        err = json_get_int(j, 1, r->d->classes, &number);
        r->f.ways = (int)number;
    } else if (strcmp(key, "shots") == 0) {
        err = json_get_int(j, 0, INT32_MAX, &number);
        r->f.shots = (int)number;
    } else if (strcmp(key, "support") == 0 && !r->f.support) {
        err = json_get_string(j);
        r->f.support = err ? NULL : mem_string(j->text);
    } else if (strcmp(key, "tasks") == 0) {
        err = read_tasks(r);
    } else {
        err = json_skip(j);
    }
    return err;
}

static int read_document(struct reading *r)
{
    bool more, is_ours = false;
    int err = json_enter(&r->j, JSON_OBJECT);
    while (!err && !(err = json_more(&r->j, &more)) && more)
        err = read_field(r, &is_ours);
    if (!err)
        err = json_finish(&r->j);
    if (!err && (!is_ours || r->f.n == 0))
        err =
            json_fail(&r->j, is_ours ? "there are no tasks in it" : "expected a '%s' file", format);
    if (!err && !r->f.support)
        r->f.support = mem_string("");
    return err;
}

static int finish(struct reading *r, int err, struct task_file *out)
{
    if (err)
        task_file_release(&r->f);
    else
        *out = r->f;
    json_close(&r->j);
    for (int k = 0; k < LISTS; k++)
        free(r->list[k].at);
    free(r->seen);
    free(r->class_of);
    free(r->label_of);
    return err;
}

int task_file_read(struct task_file *out, const char *path, const struct dataset *d)
{
    struct reading r = {.d = d};
    int err = json_open_file(&r.j, path);
    if (err)
        return err;
    return finish(&r, read_document(&r), out);
}

int task_file_parse(struct task_file *out, const char *name, const void *text, size_t size,
                    const struct dataset *d)
{
    struct reading r = {.d = d};
    json_open_memory(&r.j, name, text, size);
    return finish(&r, read_document(&r), out);
}
