/* ingest.c - two chunks: one being filled by the caller, one being decoded. */
#include "data/ingest.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_FILES = 512, BATCH_BYTES = 8 << 20 };

struct file {
    int64_t item;
    char *place;
    void *data;
    size_t size;
};

struct chunk {
    struct file files[BATCH_FILES];
    int n;
    size_t bytes;
};

struct ingest {
    struct ingest_options o;
    struct builder *builder;
    struct threads *threads;
    struct chunk *filling, *decoding;
    int64_t done;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool busy, closing; /* busy: `decoding` belongs to the thread */
    int err;            /* the first failure, and its sentence */
    char sentence[1024];
};

static void release_chunk(struct chunk *b)
{
    for (int i = 0; i < b->n; i++) {
        free(b->files[i].place);
        free(b->files[i].data);
    }
    b->n = 0;
    b->bytes = 0;
}

/* ---- the decoding side ---- */

static int check_size(const struct ingest *g, const struct image *image, const char *place)
{
    if (!g->o.from_h || (image->h == g->o.from_h && image->w == g->o.from_w))
        return 0;
    return fail(METE_EFORMAT, "%s: the image is %d x %d pixels, expected %d x %d", place, image->w,
                image->h, g->o.from_w, g->o.from_h);
}

/* to = from, a quarter turn anticlockwise; both (side, side, c). */
static void turn(const uint8_t *from, int side, int c, uint8_t *to)
{
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++)
            memcpy(to + (y * side + x) * c, from + (x * side + side - 1 - y) * c, (size_t)c);
}

static int put_item(struct ingest *g, int64_t item, const uint8_t *pixels)
{
    size_t size = (size_t)g->o.h * (size_t)g->o.w * (size_t)g->o.c;
    uint8_t *turned = NULL;
    int err = builder_put(g->builder, item, pixels, 1);
    if (err || !g->o.turned)
        return err;
    err = mem_try(&turned, 3, size, "an image");
    for (int i = 0; i < 3 && !err; i++) {
        uint8_t *to = turned + (size_t)i * size;
        turn(i ? to - size : pixels, g->o.h, g->o.c, to);
        err = builder_put(g->builder, item + (i + 1) * g->o.turned, to, 1);
    }
    free(turned);
    return err;
}

static int decode_file(void *user, int piece, int worker)
{
    struct ingest *g = user;
    const struct file *file = &g->decoding->files[piece];
    struct image image = {0};
    (void)worker;
    int err = image_decode(&image, file->data, file->size, g->o.c, file->place);
    if (!err)
        err = check_size(g, &image, file->place);
    if (!err && image.h == g->o.h && image.w == g->o.w) {
        err = put_item(g, file->item, image.pixels);
    } else if (!err) {
        uint8_t *pixels = NULL;
        err = mem_try(&pixels, (size_t)g->o.h * (size_t)g->o.w, (size_t)g->o.c, "an image");
        if (!err)
            err = image_resize(&image, g->o.h, g->o.w, g->o.filter, pixels);
        if (!err)
            err = put_item(g, file->item, pixels);
        free(pixels);
    }
    image_release(&image);
    return err;
}

static int decode_chunk(struct ingest *g)
{
    int err = threads_run(g->threads, g->decoding->n, decode_file, g);
    g->done += g->decoding->n;
    release_chunk(g->decoding);
    return err ? err : progress(g->o.what, (double)g->done, (double)g->o.total);
}

static void *thread_main(void *user)
{
    struct ingest *g = user;
    pthread_mutex_lock(&g->lock);
    for (;;) {
        while (!g->busy && !g->closing)
            pthread_cond_wait(&g->changed, &g->lock);
        if (!g->busy)
            break;
        pthread_mutex_unlock(&g->lock);
        int err = decode_chunk(g);
        pthread_mutex_lock(&g->lock);
        if (err && !g->err) {
            g->err = err;
            snprintf(g->sentence, sizeof g->sentence, "%s", mete_errmsg());
        }
        g->busy = false;
        pthread_cond_broadcast(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

/* ---- the reading side ---- */

/* Waits until the thread is idle; its failure, if it had one. */
static int wait_idle(struct ingest *g)
{
    pthread_mutex_lock(&g->lock);
    while (g->busy)
        pthread_cond_wait(&g->changed, &g->lock);
    int err = g->err;
    pthread_mutex_unlock(&g->lock);
    return err ? fail(err, "%s", g->sentence) : 0;
}

static int hand_over(struct ingest *g)
{
    int err = wait_idle(g);
    if (err)
        return err;
    struct chunk *full = g->filling;
    g->filling = g->decoding;
    pthread_mutex_lock(&g->lock);
    g->decoding = full;
    g->busy = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    return 0;
}

int ingest_open(struct ingest **out, struct builder *builder, const struct ingest_options *options)
{
    struct ingest *g = mem_alloc(sizeof *g);
    g->o = *options;
    g->builder = builder;
    g->filling = mem_alloc(sizeof *g->filling);
    g->decoding = mem_alloc(sizeof *g->decoding);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    int err = threads_open(&g->threads, options->threads);
    if (!err && pthread_create(&g->thread, NULL, thread_main, g) != 0)
        err = fail(METE_ENOMEM, "cannot start a thread for decoding");
    if (err) {
        ingest_close(g);
        return err;
    }
    g->started = true;
    *out = g;
    return 0;
}

int ingest_add(struct ingest *g, int64_t item, const char *place, void *data, size_t size)
{
    struct chunk *b = g->filling;
    b->files[b->n++] = (struct file){item, mem_string(place), data, size};
    b->bytes += size;
    return b->n == BATCH_FILES || b->bytes >= BATCH_BYTES ? hand_over(g) : 0;
}

int ingest_finish(struct ingest *g)
{
    int err = g->filling->n ? hand_over(g) : 0;
    return err ? err : wait_idle(g);
}

void ingest_close(struct ingest *g)
{
    if (!g)
        return;
    if (g->started) {
        pthread_mutex_lock(&g->lock);
        g->closing = true;
        pthread_cond_broadcast(&g->changed);
        pthread_mutex_unlock(&g->lock);
        pthread_join(g->thread, NULL);
    }
    threads_close(g->threads);
    release_chunk(g->filling);
    release_chunk(g->decoding);
    free(g->filling);
    free(g->decoding);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static int add_current(struct ingest *g, struct file_iter *w, int64_t item)
{
    void *data = NULL;
    size_t size = 0;
    int err = file_iter_read_all(w, IMAGE_FILE_MAX, &data, &size);
    return err ? err : ingest_add(g, item, file_iter_place(w), data, size);
}

int ingest_files(struct ingest *g, const char *path, ingest_place_fn *place, void *user)
{
    struct file_iter *w = NULL;
    const char *name = NULL;
    int err = file_iter_open(&w, path);
    while (!err && !(err = file_iter_next(w, &name)) && name) {
        int64_t item = -1;
        err = place(user, name, &item);
        if (!err && item >= 0)
            err = add_current(g, w, item);
    }
    file_iter_close(w);
    return err;
}
