/* miniimagenet.c - mini-ImageNet (Vinyals et al., 2016) in the form of Ravi and
 * Larochelle (2017): an archive of 84 x 84 JPEG images, and train.csv, val.csv and
 * test.csv with the columns filename,label.
 *
 * Items are in the order of the three files; classes in order of appearance, so the
 * training classes come first.  Which file a class came from is its split.
 */
#include "data/csv.h"
#include "data/importer.h"
#include "data/ingest.h"
#include "data/names.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SIDE = 84, PARTS = 3, PER_CLASS = 600 };
static const int classes_of[PARTS] = {64, 16, 20};
static const char *const part_names[PARTS] = {"train", "val", "test"};

struct settings {
    int size, filter;
    bool complete;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct settings, size, "size", SIDE, 4, 1024, "pixels on a side"),
    PARAM_CHOICE_ROW(struct settings, filter, "filter", IMAGE_FILTERS, FILTER_AREA,
                     "how images of another size are resized"),
    PARAM_BOOL_ROW(struct settings, complete, "complete", 1,
                   "refuse anything but 64, 16 and 20 classes of 600 images"),
    {0},
};

struct mini {
    const struct settings *set;
    struct names files, classes;
    int32_t *y; /* (files) */
    int room;
    uint8_t *split;           /* (classes) */
    int64_t first[PARTS + 1]; /* number of the first file of each part */
    bool *seen;               /* (files) */
    const char *archive;
    const char *list[PARTS]; /* train.csv, val.csv, test.csv */
};

/* ---- the three lists ---- */

static int add_row(struct mini *m, const struct csv *c, int part, int file_column, int label_column)
{
    int before = m->classes.n, k = names_add(&m->classes, c->field[label_column]);
    if (k < 0)
        return k;
    if (k == before) {
        int err = mem_extend(&m->split, (size_t)m->classes.n, 1, c->name);
        if (err)
            return err;
        m->split[k] = (uint8_t)part;
    } else if (m->split[k] != part) {
        return csv_fail(c, label_column, "class '%s' is in %s already; parts must not overlap",
                        c->field[label_column], part_names[m->split[k]]);
    }
    int i = m->files.n;
    int number = names_add(&m->files, c->field[file_column]);
    if (number < 0)
        return number;
    if (number < i)
        return csv_fail(c, file_column, "the file '%s' is listed twice", c->field[file_column]);
    if (i == m->room) {
        int room = m->room ? 2 * m->room : 1024;
        int err = mem_extend(&m->y, (size_t)room, sizeof *m->y, c->name);
        if (err)
            return err;
        m->room = room;
    }
    m->y[i] = k;
    return 0;
}

static int read_rows(struct mini *m, struct csv *c, int part)
{
    bool more;
    int err = csv_next(c, &more);
    if (err)
        return err;
    int file = more ? csv_find(c, "filename") : -1, label = more ? csv_find(c, "label") : -1;
    if (file < 0 || label < 0)
        return csv_fail(c, 0, "expected the columns filename,label");
    int width = c->n;
    while (!(err = csv_next(c, &more)) && more) {
        if (c->n != width)
            return csv_fail(c, 0, "expected %d fields, got %d", width, c->n);
        if ((err = add_row(m, c, part, file, label)))
            return err;
    }
    return err;
}

static int read_list(struct mini *m, const char *path, int part)
{
    struct file_iter *w = NULL;
    struct csv c = {0};
    int err = file_iter_open_plain(&w, path);
    if (!err) {
        csv_open(&c, path, ',', file_iter_read, w);
        m->first[part] = m->files.n;
        err = read_rows(m, &c, part);
        m->first[part + 1] = m->files.n;
    }
    csv_close(&c);
    file_iter_close(w);
    return err;
}

static int check_part(const struct mini *m, const char *path, int part, int *count)
{
    int classes = 0;
    for (int64_t i = m->first[part]; i < m->first[part + 1]; i++)
        classes += count[m->y[i]]++ == 0;
    if (classes != classes_of[part])
        return fail(METE_EFORMAT, "%s: %d classes, expected %d (or --set complete=no)", path,
                    classes, classes_of[part]);
    for (int k = 0; k < m->classes.n; k++)
        if (m->split[k] == part && count[k] != PER_CLASS)
            return fail(METE_EFORMAT,
                        "%s: class '%s' has %d images, expected %d (or --set "
                        "complete=no)",
                        path, m->classes.at[k], count[k], PER_CLASS);
    return 0;
}

/* The part that a list is of, by the last of the parts' names in its file name; -1: none. */
static int part_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *last = NULL;
    int part = -1;
    for (int i = 0; i < PARTS; i++)
        for (const char *at = slash ? slash + 1 : path; (at = strstr(at, part_names[i])); at++)
            if (!last || at > last) {
                last = at;
                part = i;
            }
    return part;
}

/* train.csv, val.csv and test.csv may come in any order: their names say what they are.  Where no
 * name does, that is their order. */
static int order_lists(struct mini *m, const struct import_job *job)
{
    bool named = false;
    for (int i = 0; i < PARTS; i++)
        named = named || part_of(job->paths[1 + i]) >= 0;
    for (int i = 0; i < PARTS; i++) {
        int part = named ? part_of(job->paths[1 + i]) : i;
        if (part < 0)
            return fail(METE_EINVAL,
                        "%s: the name of a list must say train, val or test, as in train.csv",
                        job->paths[1 + i]);
        if (m->list[part])
            return fail(METE_EINVAL, "%s and %s: two lists of the %s part", m->list[part],
                        job->paths[1 + i], part_names[part]);
        m->list[part] = job->paths[1 + i];
    }
    return 0;
}

static int read_lists(struct mini *m, const struct import_job *job)
{
    int err = order_lists(m, job);
    for (int part = 0; part < PARTS && !err; part++)
        err = read_list(m, m->list[part], part);
    int *count = mem_array((size_t)m->classes.n, sizeof *count);
    for (int part = 0; part < PARTS && !err && m->set->complete; part++)
        err = check_part(m, m->list[part], part, count);
    free(count);
    if (!err && m->files.n == 0)
        err = fail(METE_EFORMAT, "%s: lists no images", m->list[0]);
    return err;
}

/* ---- the archive ---- */

static int place(void *user, const char *name, int64_t *item)
{
    struct mini *m = user;
    const char *slash = strrchr(name, '/');
    int i = names_find(&m->files, slash ? slash + 1 : name);
    if (i < 0)
        return 0;
    if (m->seen[i])
        return fail(METE_EFORMAT, "%s: %s: occurs twice", m->archive, name);
    m->seen[i] = true;
    *item = i;
    return 0;
}

static int check_seen(const struct mini *m)
{
    for (int part = 0; part < PARTS; part++)
        for (int64_t i = m->first[part]; i < m->first[part + 1]; i++)
            if (!m->seen[i])
                return fail(METE_EFORMAT, "%s: holds no %s, which %s lists", m->archive,
                            m->files.at[i], m->list[part]);
    return 0;
}

static int ingest_all(struct mini *m, struct import_job *job)
{
    struct ingest *g = NULL;
    int size = m->set->size;
    struct ingest_options options = {.what = "miniimagenet",
                                     .total = m->files.n,
                                     .h = size,
                                     .w = size,
                                     .c = 3,
                                     .filter = (enum image_filter)m->set->filter,
                                     .threads = job->threads};
    int err = builder_shape(job->builder, size, size, 3, false);
    m->archive = job->paths[0];
    if (!err)
        err = mem_try(&m->seen, (size_t)m->files.n, sizeof *m->seen, "files");
    if (!err)
        err = ingest_open(&g, job->builder, &options);
    if (!err)
        err = ingest_files(g, m->archive, place, m);
    if (!err)
        err = ingest_finish(g);
    ingest_close(g);
    return err ? err : check_seen(m);
}

static int import_miniimagenet(struct import_job *job)
{
    struct mini m = {.set = job->settings};
    struct dataset *about = &job->about;
    int err = read_lists(&m, job);
    if (!err)
        err = ingest_all(&m, job);
    about->items = m.files.n;
    about->classes = m.classes.n;
    about->y = m.y;
    about->class_split = m.split;
    about->class_names = names_take(&m.classes);
    about->licence = mem_string("ImageNet: non-commercial research and education only; not to be "
                                "passed on");
    about->source = mem_string("mini-ImageNet, Vinyals et al. (2016), split of Ravi and Larochelle "
                               "(2017)");
    names_release(&m.files);
    free(m.seen);
    return err;
}

const struct importer importer_miniimagenet = {
    .name = "miniimagenet",
    .summary = "mini-ImageNet: 100 classes of 600 colour images, Ravi and Larochelle's split",
    .usage = "images.tar.xz train.csv val.csv test.csv",
    .least = 4,
    .most = 4,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_miniimagenet,
};
