/* cuda_images.c - data sets on a GPU: brought there once, however many devices of the process
 * (streams, to CUDA) look at them at a time. */
#include "cuda_set.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

/* A data set on a GPU.  `of` are its images on the host, as they were opened. */
struct resident {
    struct resident *next;
    struct images of;
    int gpu, side; /* of the moments behind the pictures; 0: none are */
    void *at;
    int users;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct resident *residents;

static bool equal(const struct images *a, const struct images *b)
{
    return a->data == b->data && a->type == b->type && a->planar == b->planar && a->h == b->h &&
           a->w == b->w && a->c == b->c && a->items == b->items && a->scale == b->scale &&
           a->shift == b->shift;
}

/* Brings r->of to the GPU. */
static int bring(struct device *d, struct resident *r)
{
    struct images there = r->of;
    size_t moments = (size_t)there.items * (size_t)(r->side * r->side) * sizeof(float);
    int err = cuda_alloc(d, cuda_behind_images(&there) + moments, &r->at);
    if (err)
        return fail_within(err, "the images");
    cuda_upload(d, r->at, there.data, cuda_image_bytes(&there));
    there.data = r->at;
    if (moments)
        cuda_moments(d, &there);
    err = cuda_sync(d);
    if (err)
        cuda_release(d, r->at, 0);
    return err;
}

/* Under the lock: that data set, which has one user more, or NULL and a failure. */
static struct resident *resident_of(struct device *d, const struct images *images, int *err)
{
    int side = d->full_fp32 ? 0 : picture_side(images->h, images->w, images->c);
    struct resident *r = residents;
    while (r && !(r->gpu == d->index && r->side == side && equal(&r->of, images)))
        r = r->next;
    if (!r) {
        r = mem_alloc(sizeof *r);
        *r = (struct resident){.next = residents, .of = *images, .gpu = d->index, .side = side};
        *err = bring(d, r);
        if (*err) {
            free(r);
            return NULL;
        }
        residents = r;
    }
    r->users++;
    return r;
}

int cuda_images_open(struct device *d, struct images *images)
{
    int err = 0;
    pthread_mutex_lock(&lock);
    struct resident *r = resident_of(d, images, &err);
    images->data = r ? r->at : NULL;
    pthread_mutex_unlock(&lock);
    return err;
}

void cuda_images_close(struct device *d, struct images *images)
{
    if (!images->data)
        return;
    cuda_flush(d);
    cuda_check(d, cudaStreamSynchronize(d->stream), "the work queued before");
    pthread_mutex_lock(&lock);
    struct resident **at = &residents;
    while ((*at)->at != images->data)
        at = &(*at)->next;
    struct resident *r = *at;
    if (--r->users == 0) {
        *at = r->next;
        cuda_release(d, r->at, 0);
        free(r);
    }
    pthread_mutex_unlock(&lock);
    images->data = NULL;
}
