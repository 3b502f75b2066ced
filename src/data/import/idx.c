/* idx.c - IDX files (LeCun's MNIST): images and labels, gzipped or not, and perhaps
 * who wrote them.
 *
 * An IDX file is 0, 0, a type, a rank, the lengths of its dimensions as big-endian
 * 32-bit numbers, and the data.  Images are unsigned bytes, (n, h, w) or (n, h, w, c);
 * labels and writers are one whole number for each; the label -1 is none.
 */
#include "data/importer.h"
#include "data/relabel.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Far beyond any image set: what is larger is a damaged header, not to be believed. */
enum { RANK_MAX = 4, SIDE_MAX = 1 << 14, ITEM_MAX = 1 << 26, CHUNK_BYTES = 1 << 20 };
enum { TYPE_U8 = 0x08, TYPE_I8, TYPE_I16 = 0x0b, TYPE_I32 };

struct settings {
    char writers[PARAM_TEXT_SIZE];
    bool transpose, invert;
};

static const struct param params[] = {
    PARAM_TEXT_ROW(struct settings, writers, "writers", NULL,
                   "file with the writer of each image: an IDX file, or one number per line"),
    PARAM_BOOL_ROW(struct settings, transpose, "transpose", 0,
                   "swap rows and columns, as EMNIST's files need"),
    PARAM_BOOL_ROW(struct settings, invert, "invert", 0,
                   "a learner sees 1 - value / 255, not value / 255"),
    {0},
};

struct idx {
    struct file_iter *files;
    const char *path;
    int type, rank;
    int64_t shape[RANK_MAX];
};

/* ---- the format ---- */

static int read_exactly(struct idx *f, void *to, size_t size, const char *what)
{
    for (char *p = to; size > 0;) {
        int64_t n = file_iter_read(f->files, p, size);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return fail(METE_EFORMAT, "%s: the file ends within %s", f->path, what);
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

static int expect_end(struct idx *f)
{
    char byte;
    int64_t n = file_iter_read(f->files, &byte, 1);
    if (n < 0)
        return (int)n;
    return n == 0 ? 0
                  : fail(METE_EFORMAT, "%s: has bytes after the data that its header announces",
                         f->path);
}

static int read_header(struct idx *f)
{
    unsigned char magic[4], length[4];
    int err = read_exactly(f, magic, sizeof magic, "its header");
    if (err)
        return err;
    if (magic[0] || magic[1] || magic[3] < 1 || magic[3] > RANK_MAX)
        return fail(METE_EFORMAT, "%s: not an IDX file of 1 to %d dimensions", f->path, RANK_MAX);
    f->type = magic[2];
    f->rank = magic[3];
    for (int i = 0; i < f->rank; i++) {
        if ((err = read_exactly(f, length, sizeof length, "its header")))
            return err;
        f->shape[i] = (int64_t)length[0] << 24 | length[1] << 16 | length[2] << 8 | length[3];
        if (f->shape[i] < 1 || (i > 0 && f->shape[i] > SIDE_MAX))
            return fail(METE_EFORMAT, "%s: dimension %d has the length %lld", f->path, i + 1,
                        (long long)f->shape[i]);
    }
    return 0;
}

static int open_idx(struct idx *f, const char *path)
{
    *f = (struct idx){.path = path};
    int err = file_iter_open_plain(&f->files, path);
    return err ? err : read_header(f);
}

static size_t type_size(int type)
{
    return type == TYPE_U8 || type == TYPE_I8 ? 1 : type == TYPE_I16 ? 2 : type == TYPE_I32 ? 4 : 0;
}

static int64_t big_endian(const unsigned char *p, int type)
{
    switch (type) {
    case TYPE_U8:
        return p[0];
    case TYPE_I8:
        return (int8_t)p[0];
    case TYPE_I16:
        return (int16_t)(p[0] << 8 | p[1]);
    default:
        return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
    }
}

/* The numbers of a file of rank 1, appended to value (*n). */
static int read_numbers(struct idx *f, const char *what, int64_t **value, int64_t *n)
{
    size_t size = type_size(f->type);
    if (f->rank != 1 || size == 0)
        return fail(METE_EFORMAT, "%s: expected whole numbers in one dimension, the %s", f->path,
                    what);
    int err = mem_extend(value, (size_t)*n + 1, sizeof **value, what);
    int64_t room = *n + 1;
    for (int64_t i = 0; i < f->shape[0] && !err; i++) {
        unsigned char bytes[4];
        err = read_exactly(f, bytes, size, what);
        if (!err && *n == room)
            err = mem_extend(value, (size_t)(room *= 2), sizeof **value, what);
        if (!err)
            (*value)[(*n)++] = big_endian(bytes, f->type);
    }
    return err ? err : expect_end(f);
}

/* ---- images ---- */

struct import {
    const struct settings *set;
    struct import_job *job;
    int h, w, c; /* of an image, as the first file has it */
    int64_t items;
    int64_t *label, labels;
};

static int check_images(struct import *m, const struct idx *f)
{
    if (f->type != TYPE_U8 || f->rank < 3)
        return fail(METE_EFORMAT,
                    "%s: expected images of unsigned bytes, (n, h, w) or (n, h, w, c)", f->path);
    int h = (int)f->shape[1], w = (int)f->shape[2], c = f->rank == 4 ? (int)f->shape[3] : 1;
    if ((int64_t)h * w * c > ITEM_MAX)
        return fail(METE_EFORMAT, "%s: images of %d x %d x %d, more than %d MiB each", f->path, h,
                    w, c, ITEM_MAX >> 20);
    if (!m->h) {
        m->h = h, m->w = w, m->c = c;
        return m->set->transpose ? builder_shape(m->job->builder, w, h, c, false)
                                 : builder_shape(m->job->builder, h, w, c, false);
    }
    if (h != m->h || w != m->w || c != m->c)
        return fail(METE_EFORMAT, "%s: images of %d x %d x %d, expected %d x %d x %d as before",
                    f->path, h, w, c, m->h, m->w, m->c);
    return 0;
}

/* to (w, h, c) = from (h, w, c) with rows and columns swapped. */
static void transpose(const uint8_t *from, int h, int w, int c, uint8_t *to)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            memcpy(to + ((size_t)x * h + y) * c, from + ((size_t)y * w + x) * c, (size_t)c);
}

static int put_images(struct import *m, struct idx *f)
{
    size_t item = (size_t)m->h * (size_t)m->w * (size_t)m->c;
    int64_t chunk = item < CHUNK_BYTES ? (int64_t)(CHUNK_BYTES / item) : 1;
    uint8_t *from = NULL, *to = NULL;
    int err = mem_try(&from, (size_t)chunk, item, f->path);
    if (!err)
        err = mem_try(&to, (size_t)chunk, item, f->path);
    for (int64_t done = 0; done < f->shape[0] && !err;) {
        int64_t n = f->shape[0] - done < chunk ? f->shape[0] - done : chunk;
        err = read_exactly(f, from, (size_t)n * item, "its images");
        for (int64_t i = 0; m->set->transpose && i < n && !err; i++)
            transpose(from + (size_t)i * item, m->h, m->w, m->c, to + (size_t)i * item);
        if (!err)
            err = builder_put(m->job->builder, m->items, m->set->transpose ? to : from, n);
        m->items += n;
        done += n;
        if (!err)
            err = progress("idx", (double)done, (double)f->shape[0]);
    }
    free(from);
    free(to);
    return err ? err : expect_end(f);
}

static int read_pair(struct import *m, const char *images, const char *labels)
{
    struct idx f;
    int64_t before = m->labels;
    int err = open_idx(&f, images);
    if (!err)
        err = check_images(m, &f);
    if (!err)
        err = put_images(m, &f);
    file_iter_close(f.files);
    if (err)
        return err;
    int64_t n = f.shape[0];
    err = open_idx(&f, labels);
    if (!err)
        err = read_numbers(&f, "labels", &m->label, &m->labels);
    file_iter_close(f.files);
    if (!err && m->labels - before != n)
        err = fail(METE_EFORMAT, "%s: %lld labels, but %s has %lld images", labels,
                   (long long)(m->labels - before), images, (long long)n);
    return err;
}

/* ---- writers ---- */

/* A number on each line. */
static int parse_lines(const char *path, const char *text, size_t size, int64_t **value, int64_t *n)
{
    const char *at = text, *end = text + size;
    int64_t room = 0;
    for (int line = 1; at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        char word[32], *after;
        size_t length = (size_t)((stop ? stop : end) - at);
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), at);
        at += length + 1;
        word[strcspn(word, "\r")] = '\0';
        if (!*word && at >= end)
            break;
        int64_t number = strtoll(word, &after, 10);
        if (after == word || *after)
            return fail(METE_EFORMAT, "%s:%d:1: expected a whole number, got '%s'", path, line,
                        word);
        if (*n == room) {
            room = room ? 2 * room : 1024;
            int err = mem_extend(value, (size_t)room, sizeof **value, path);
            if (err)
                return err;
        }
        (*value)[(*n)++] = number;
    }
    return 0;
}

static int read_lines(const char *path, int64_t **value, int64_t *n)
{
    struct file_iter *w = NULL;
    void *text = NULL;
    size_t size = 0;
    int err = file_iter_open_plain(&w, path);
    if (!err)
        err = file_iter_read_all(w, (size_t)1 << 30, &text, &size);
    if (!err)
        err = parse_lines(path, text, size, value, n);
    free(text);
    file_iter_close(w);
    return err;
}

/* IDX files begin with two zero bytes, which text does not. */
static int is_idx(const char *path, bool *yes)
{
    struct idx f = {.path = path};
    char start[2];
    int err = file_iter_open_plain(&f.files, path);
    if (!err)
        err = read_exactly(&f, start, sizeof start, "its first line");
    *yes = !err && !start[0] && !start[1];
    file_iter_close(f.files);
    return err;
}

static int read_writers(struct import *m)
{
    struct dataset *about = &m->job->about;
    const char *path = m->set->writers;
    int64_t *value = NULL, n = 0;
    bool idx = false;
    struct idx f = {0};
    int err = is_idx(path, &idx);
    if (!err && idx && !(err = open_idx(&f, path)))
        err = read_numbers(&f, "writers", &value, &n);
    else if (!err && !idx)
        err = read_lines(path, &value, &n);
    file_iter_close(f.files);
    if (!err && n != m->items)
        err = fail(METE_EFORMAT, "%s: %lld writers, expected one for each of %lld images", path,
                   (long long)n, (long long)m->items);
    int32_t *user = NULL;
    if (!err)
        err = mem_try(&user, (size_t)n, sizeof *user, path);
    about->user = user;
    int users = err ? err : relabel(value, n, user, &about->user_names);
    about->users = users < 0 ? 0 : users;
    err = users < 0 ? users : 0;
    free(value);
    return err;
}

/* ---- the import ---- */

static int mark_parts(struct import *m, int64_t train)
{
    uint8_t *part = NULL;
    int err = mem_try(&part, (size_t)m->items, 1, "images");
    if (!err)
        memset(part + train, PART_TEST, (size_t)(m->items - train));
    m->job->about.part = part;
    return err;
}

static int import_idx(struct import_job *job)
{
    struct import m = {.set = job->settings, .job = job};
    struct dataset *about = &job->about;
    int64_t train = 0;
    int err =
        job->n % 2 ? fail(METE_EINVAL, "idx takes pairs of files: images, then their labels") : 0;
    for (int i = 0; i + 1 < job->n && !err; i += 2) {
        err = read_pair(&m, job->paths[i], job->paths[i + 1]);
        train = i ? train : m.items;
    }
    if (!err && *m.set->writers)
        err = read_writers(&m);
    if (!err && about->user && job->n == 4)
        err = mark_parts(&m, train);
    int32_t *y = NULL;
    if (!err)
        err = mem_try(&y, (size_t)m.items, sizeof *y, "images");
    about->y = y;
    int classes = err ? err : relabel_some(m.label, m.labels, y, &about->class_names);
    err = classes < 0 ? classes : 0;
    if (!err) {
        about->items = m.items;
        about->classes = classes;
        about->scale = m.set->invert ? -1 / 255.0f : 1 / 255.0f;
        about->shift = m.set->invert ? 1 : 0;
    }
    free(m.label);
    return err;
}

const struct importer importer_idx = {
    .name = "idx",
    .summary =
        "IDX files as MNIST's: images and labels, gzipped or not; a second pair is the test part",
    .usage = "IMAGES LABELS [IMAGES LABELS]",
    .least = 2,
    .most = 4,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_idx,
};
