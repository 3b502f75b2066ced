/* leaf.c - LEAF's JSON (Caldas et al., 2018), such as FEMNIST: people and what they
 * wrote.
 *
 * Files are …/train/NAME.json and …/test/NAME.json, in a folder or an archive:
 *   {"users": [...], "num_samples": [...],
 *    "user_data": {USER: {"x": [[784 numbers in 0..1, 1 = paper], ...], "y": [...]}}}
 * A user without "y" has no labels, and -1 in it is none.  Files are read as a stream,
 * the training part first: memory grows by some 40 bytes an image, whatever their size.
 *
 * LEAF's own preprocessing (group_by_writer.py) puts the first image of every writer
 * but the first in twice, and its random split may put one copy into each part.  So
 * at most one exact repeat (same user, pixels and label) is dropped for each user.
 */
#include "data/import/leaf_repeat.h"
#include "data/importer.h"
#include "data/names.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 1 << 16, LABELS_MAX = 1 << 20 };
enum { KIND_AUTO, KIND_PIXELS, KIND_ROWS };

struct settings {
    int classes, kind;
    bool drop, invert;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct settings, classes, "classes", 62, 1, LABELS_MAX,
                  "labels are 0..classes-1; 62 are FEMNIST's digits and letters"),
    PARAM_CHOICE_ROW(
        struct settings, kind, "kind", "auto|pixels|rows", KIND_AUTO,
        "square images in steps of 1/255, or rows of numbers; auto looks at the first"),
    PARAM_BOOL_ROW(struct settings, drop, "drop_repeats", 1,
                   "drop the first image of a user where LEAF has it twice"),
    PARAM_BOOL_ROW(struct settings, invert, "invert", 0,
                   "a learner sees ink as 1 and paper as 0, not paper as 1"),
    {0},
};

struct leaf {
    const struct settings *set;
    struct builder *builder;
    const char *what;
    enum dataset_part at; /* the part being read */
    /* items */
    int32_t *y, *user;
    uint8_t *part;
    int64_t items, room;
    int values; /* of an item; 0 before the first */
    bool rows;  /* float32, not pixels */
    double *numbers;
    union {
        uint8_t *bytes;
        float *floats;
        void *any;
    } item;
    /* users */
    struct names users;
    struct seen {
        uint8_t has; /* bit p: in part p; HAS_REPEAT */
        int file;    /* the last one, and how many items it had of the user */
        int64_t items;
    } * seen; /* (users) */
    int seen_room;
    struct repeats repeats;
    int files, dropped, kept;
    /* the file at hand */
    int32_t *listed; /* its users, and how many items each shall have */
    int64_t *samples;
    int n_listed, n_samples, listed_room, samples_room;
};

/* ---- items ---- */

static bool is_pixel(double v, int *byte)
{
    double k = v * 255;
    *byte = (int)lround(k);
    return *byte >= 0 && *byte <= 255 && fabs(k - *byte) < 0.02;
}

/* What items are is decided by the first one. */
static int decide(struct leaf *l, struct json *j, size_t n)
{
    int side = (int)lround(sqrt((double)n)), byte;
    bool pixels = (size_t)side * (size_t)side == n && side >= 8;
    for (size_t i = 0; i < n && pixels; i++)
        pixels = is_pixel(l->numbers[i], &byte);
    if (n == 0)
        return json_fail(j, "an item of no numbers");
    if (l->set->kind == KIND_PIXELS && !pixels)
        return json_fail(j, "expected a square image in steps of 1/255, got %zu other numbers", n);
    l->rows = l->set->kind == KIND_ROWS || !pixels;
    l->values = (int)n;
    int err = mem_try(&l->item.any, n, sizeof(float), "an item");
    if (err)
        return err;
    return l->rows ? builder_shape(l->builder, 1, 1, (int)n, true)
                   : builder_shape(l->builder, side, side, 1, false);
}

/* Reads one x into l->item. */
static int read_item(struct leaf *l, struct json *j)
{
    size_t n;
    int byte, err = json_get_reals(j, l->numbers, VALUES_MAX, &n);
    if (!err && !l->values)
        err = decide(l, j, n);
    if (err)
        return err;
    if (n != (size_t)l->values)
        return json_fail(j, "an item of %zu numbers, expected %d as before", n, l->values);
    for (int i = 0; i < l->values; i++) {
        double v = l->numbers[i];
        if (l->rows)
            l->item.floats[i] = (float)v;
        else if (is_pixel(v, &byte))
            l->item.bytes[i] = (uint8_t)byte;
        else
            return json_fail(j,
                             "number %d of this image is %g, expected a step of 1/255 in 0..1 (or "
                             "--set kind=rows)",
                             i + 1, v);
    }
    return 0;
}

static size_t item_bytes(const struct leaf *l)
{
    return (size_t)l->values * (l->rows ? sizeof(float) : 1);
}

/* Writes an item whose label is to follow; its number through *item. */
static int put_item(struct leaf *l, const void *data, int user, int64_t *item)
{
    if (l->items == l->room) {
        int64_t room = l->room ? l->room + l->room / 2 : 4096;
        int err = mem_extend(&l->y, (size_t)room, sizeof *l->y, "items");
        if (!err)
            err = mem_extend(&l->user, (size_t)room, sizeof *l->user, "items");
        if (!err)
            err = mem_extend(&l->part, (size_t)room, 1, "items");
        if (err)
            return err;
        l->room = room;
    }
    *item = l->items++;
    l->y[*item] = NO_LABEL;
    l->user[*item] = user;
    l->part[*item] = (uint8_t)l->at;
    return builder_put(l->builder, *item, data, 1);
}

/* ---- one user ---- */

struct person {
    int user;
    int64_t first;    /* his first item of this part */
    int64_t n;        /* items read, the held one included */
    int64_t held;     /* which of them is held back as a repeat, or -1 */
    int64_t original; /* the item it repeats */
    void *held_item;
    int32_t *labels;
    int64_t n_labels;
};

static int read_x(struct leaf *l, struct json *j, struct person *p)
{
    bool more;
    int err = json_enter(j, JSON_ARRAY);
    p->first = l->items;
    while (!err && !(err = json_more(j, &more)) && more) {
        if ((err = read_item(l, j)))
            break;
        uint64_t key = repeats_key(p->user, l->item.any, item_bytes(l));
        int64_t original = l->set->drop ? repeats_find(&l->repeats, key) : -1, item;
        if (original >= 0 && p->held < 0 && !(l->seen[p->user].has & HAS_REPEAT)) {
            p->held = p->n;
            p->original = original;
            if (!(err = mem_try(&p->held_item, item_bytes(l), 1, "an item")))
                memcpy(p->held_item, l->item.any, item_bytes(l));
        } else if (!(err = put_item(l, l->item.any, p->user, &item))) {
            l->kept += original >= 0;
            if (l->set->drop && original < 0)
                err = repeats_add(&l->repeats, key, item);
        }
        p->n++;
    }
    return err;
}

static int read_y(struct leaf *l, struct json *j, struct person *p)
{
    bool more;
    int64_t room = 0, label;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more) {
        if (p->n_labels == room)
            err = mem_extend(&p->labels, (size_t)(room = room ? 2 * room : 256), sizeof *p->labels,
                             "labels");
        if (!err && !(err = json_get_int(j, NO_LABEL, l->set->classes - 1, &label)))
            p->labels[p->n_labels++] = (int32_t)label;
    }
    return err;
}

/* The held image is dropped if its label is that of its original, else it is kept. */
static int settle_held(struct leaf *l, const struct person *p)
{
    if (l->y[p->original] == p->labels[p->held]) {
        l->dropped++;
        l->seen[p->user].has |= HAS_REPEAT;
        return 0;
    }
    int64_t item;
    int err = put_item(l, p->held_item, p->user, &item);
    if (!err)
        l->y[item] = p->labels[p->held];
    return err;
}

static int give_labels(struct leaf *l, struct json *j, struct person *p)
{
    const char *name = l->users.at[p->user];
    if (p->n != p->n_labels)
        return json_fail(j, "user '%s' has %lld items in x and %lld in y", name, (long long)p->n,
                         (long long)p->n_labels);
    for (int64_t i = 0, item = p->first; i < p->n; i++)
        if (i != p->held)
            l->y[item++] = p->labels[i];
    return p->held >= 0 ? settle_held(l, p) : 0;
}

static int leave_unlabelled(struct person *p)
{
    int err = mem_try(&p->labels, (size_t)p->n + 1, sizeof *p->labels, "labels");
    if (err)
        return err;
    for (p->n_labels = 0; p->n_labels < p->n; p->n_labels++)
        p->labels[p->n_labels] = NO_LABEL;
    return 0;
}

static int read_person(struct leaf *l, struct json *j, struct person *p)
{
    bool more, x = false, y = false;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more) {
        bool is_x = strcmp(j->text, "x") == 0, is_y = strcmp(j->text, "y") == 0;
        if ((is_x && x) || (is_y && y))
            return json_fail(j, "'%s' occurs twice", j->text);
        x = x || is_x;
        y = y || is_y;
        err = is_x ? read_x(l, j, p) : is_y ? read_y(l, j, p) : json_skip(j);
    }
    if (!err && !x)
        err = json_fail(j, "user '%s' has no 'x'", l->users.at[p->user]);
    if (!err && !y)
        err = leave_unlabelled(p);
    return err ? err : give_labels(l, j, p);
}

/* ---- one file ---- */

/* Or METE_ENOMEM. */
static int user_number(struct leaf *l, const char *name)
{
    int before = l->users.n, u = names_add(&l->users, name);
    if (u == before) {
        if (u == l->seen_room) {
            int room = u ? 2 * u : 64, err;
            if ((err = mem_extend(&l->seen, (size_t)room, sizeof *l->seen, "users")))
                return err;
            l->seen_room = room;
        }
        l->seen[u] = (struct seen){0};
    }
    return u;
}

static int read_user_data(struct leaf *l, struct json *j)
{
    bool more;
    int err = json_enter(j, JSON_OBJECT);
    while (!err && !(err = json_more(j, &more)) && more) {
        struct person p = {.user = user_number(l, j->text), .held = -1};
        if (p.user < 0)
            return p.user;
        if (l->seen[p.user].has & 1 << l->at)
            return json_fail(j, "user '%s' occurs twice in the %s part", j->text,
                             l->at == PART_TRAIN ? "train" : "test");
        l->seen[p.user].has |= (uint8_t)(1 << l->at);
        err = read_person(l, j, &p);
        l->seen[p.user].file = l->files;
        l->seen[p.user].items = p.n;
        free(p.held_item);
        free(p.labels);
    }
    return err;
}

static int read_users(struct leaf *l, struct json *j)
{
    bool more;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more && !(err = json_get_string(j))) {
        if (l->n_listed == l->listed_room) {
            int room = l->listed_room ? 2 * l->listed_room : 64;
            if ((err = mem_extend(&l->listed, (size_t)room, sizeof *l->listed, "users")))
                break;
            l->listed_room = room;
        }
        int user = user_number(l, j->text);
        if (user < 0)
            return user;
        l->listed[l->n_listed++] = user;
    }
    return err;
}

static int read_samples(struct leaf *l, struct json *j)
{
    bool more;
    int64_t n;
    int err = json_enter(j, JSON_ARRAY);
    while (!err && !(err = json_more(j, &more)) && more &&
           !(err = json_get_int(j, 0, INT32_MAX, &n))) {
        if (l->n_samples == l->samples_room) {
            int room = l->samples_room ? 2 * l->samples_room : 64;
            if ((err = mem_extend(&l->samples, (size_t)room, sizeof *l->samples, "users")))
                break;
            l->samples_room = room;
        }
        l->samples[l->n_samples++] = n;
    }
    return err;
}

static int check_file(const struct leaf *l, struct json *j)
{
    if (l->n_listed != l->n_samples)
        return json_fail(j, "%d users, but %d num_samples", l->n_listed, l->n_samples);
    for (int i = 0; i < l->n_listed; i++) {
        const struct seen *seen = &l->seen[l->listed[i]];
        const char *name = l->users.at[l->listed[i]];
        if (seen->file != l->files)
            return json_fail(j, "user '%s' is listed but has no user_data", name);
        if (seen->items != l->samples[i])
            return json_fail(j, "user '%s' has %lld items, but num_samples says %lld", name,
                             (long long)seen->items, (long long)l->samples[i]);
    }
    return 0;
}

static int read_document(struct leaf *l, struct json *j)
{
    bool more, data = false;
    int err = json_enter(j, JSON_OBJECT);
    l->n_listed = l->n_samples = 0;
    while (!err && !(err = json_more(j, &more)) && more) {
        if (strcmp(j->text, "users") == 0) {
            err = read_users(l, j);
        } else if (strcmp(j->text, "num_samples") == 0) {
            err = read_samples(l, j);
        } else if (strcmp(j->text, "user_data") == 0) {
            data = true;
            err = read_user_data(l, j);
        } else {
            err = json_skip(j); /* "hierarchies" and such */
        }
    }
    if (!err && !data)
        err = json_fail(j, "no user_data; expected LEAF's users, num_samples and user_data");
    if (!err)
        err = check_file(l, j);
    return err ? err : json_finish(j);
}

/* ---- all files ---- */

/* …/train/NAME.json or …/test/NAME.json. */
static bool is_of_part(const char *name, enum dataset_part part)
{
    const char *slash = strrchr(name, '/'), *dot = strrchr(name, '.');
    const char *folder = part == PART_TRAIN ? "train" : "test";
    size_t n = strlen(folder);
    if (!slash || !dot || strcmp(dot, ".json") != 0 || slash[1] == '.' ||
        (size_t)(slash - name) < n || strncmp(slash - n, folder, n) != 0)
        return false;
    return slash - n == name || slash[-(int)n - 1] == '/';
}

struct stream { /* what the JSON reader reads from: a file iterator, with progress */
    struct file_iter *files;
    const struct leaf *leaf;
};

static int64_t read_stream(void *user, void *to, size_t size)
{
    struct stream *s = user;
    double done, total;
    file_iter_progress(s->files, &done, &total);
    if (total > 0) {
        int err = progress(s->leaf->what, (s->leaf->at == PART_TEST ? total : 0) + done, 2 * total);
        if (err)
            return err;
    }
    return file_iter_read(s->files, to, size);
}

static int read_part(struct leaf *l, const char *path, enum dataset_part part)
{
    struct stream s = {.leaf = l};
    const char *name = NULL;
    int err = file_iter_open(&s.files, path);
    l->at = part;
    while (!err && !(err = file_iter_next(s.files, &name)) && name) {
        if (!is_of_part(name, part))
            continue;
        struct json j;
        l->files++;
        json_open(&j, file_iter_place(s.files), read_stream, &s);
        err = read_document(l, &j);
        json_close(&j);
    }
    file_iter_close(s.files);
    return err;
}

static int name_classes(char ***out, int n)
{
    static const char femnist[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    int err = mem_try(out, (size_t)n, sizeof **out, "classes");
    for (int k = 0; k < n && !err; k++)
        (*out)[k] = n == 62 ? mem_print("%c", femnist[k]) : mem_print("%d", k);
    return err;
}

static int describe(struct leaf *l, struct import_job *job)
{
    struct dataset *about = &job->about;
    about->items = l->items;
    about->classes = l->set->classes;
    about->users = l->users.n;
    about->y = l->y;
    about->user = l->user;
    about->part = l->part;
    about->user_names = names_take(&l->users);
    about->licence = mem_string("BSD-2-Clause (LEAF)");
    about->source = mem_string("LEAF, Caldas et al. (2018), https://leaf.cmu.edu");
    if (l->rows) {
        about->scale = 1;
    } else if (l->set->invert) {
        about->scale = -1 / 255.0f;
        about->shift = 1;
    }
    builder_note(job->builder, "repeats dropped", "%d", l->dropped);
    return name_classes(&about->class_names, about->classes);
}

static int import_leaf(struct import_job *job)
{
    struct leaf l = {.set = job->settings, .builder = job->builder, .what = "leaf"};
    int err = mem_try(&l.numbers, VALUES_MAX, sizeof *l.numbers, "leaf");
    if (!err)
        err = read_part(&l, job->paths[0], PART_TRAIN);
    if (!err)
        err = read_part(&l, job->paths[0], PART_TEST);
    if (!err && l.files == 0)
        err = fail(METE_EFORMAT, "%s: holds no train/NAME.json or test/NAME.json", job->paths[0]);
    if (!err && l.items == 0)
        err = fail(METE_EFORMAT, "%s: its users have no items", job->paths[0]);
    int unnamed = describe(&l, job);
    err = err ? err : unnamed;
    if (!err)
        log_info("leaf: %d repeated images dropped", l.dropped);
    if (!err && l.kept)
        log_warn("leaf: %d more images that occur twice for one user were kept", l.kept);
    repeats_release(&l.repeats);
    free(l.numbers);
    free(l.item.any);
    free(l.seen);
    free(l.listed);
    free(l.samples);
    return err;
}

const struct importer importer_leaf = {
    .name = "leaf",
    .summary = "LEAF's JSON, such as FEMNIST: users with a train and a test part each",
    .usage = "FOLDER-OR-ARCHIVE",
    .least = 1,
    .most = 1,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_leaf,
};
