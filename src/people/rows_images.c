/* rows_images.c - PNG and JPEG files: one, or all in a folder or an archive, whatever folders they
 * lie in; made as large as the model's, by the areas that pixels cover.
 */
#include "people/rows.h"
#include "data/file_iter.h"
#include "data/image.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct images_state {
    struct file_iter *files;
    bool single; /* the path is an image itself */
    bool any;
};

static bool suits(const char *path)
{
    (void)path;
    return true;
}

static int open_images(struct rows *r)
{
    struct images_state *s = r->state = mem_alloc(sizeof *s);
    if (r->model->takes.is_float)
        return fail(METE_EINVAL,
                    "%s: %s was not trained on images; expected a dataset, a CSV table or .npy",
                    r->path, r->model->name);
    s->single = image_has_suffix(r->path);
    return (s->single ? file_iter_open_plain : file_iter_open)(&s->files, r->path);
}

static int next_file(struct images_state *s, const char **name)
{
    int err = 0;
    do
        err = file_iter_next(s->files, name);
    while (!err && *name && !image_wanted(*name));
    return err;
}

static int decode(struct rows *r, struct file_iter *files, uint8_t *x)
{
    const struct dataset *t = &r->model->takes;
    struct image image = {0};
    void *data = NULL;
    size_t size = 0;
    int err = file_iter_read_all(files, IMAGE_FILE_MAX, &data, &size);
    if (!err)
        err = image_decode(&image, data, size, t->c, file_iter_place(files));
    if (!err && image.h == t->h && image.w == t->w)
        memcpy(x, image.pixels, dataset_item_bytes(t));
    else if (!err)
        err = image_resize(&image, t->h, t->w, FILTER_AREA, x);
    image_release(&image);
    free(data);
    return err;
}

static int next_image(struct rows *r, void *x, bool *more)
{
    struct images_state *s = r->state;
    const char *name = s->single && !s->any ? r->path : NULL;
    int err = s->single ? 0 : next_file(s, &name);
    *more = !err && name;
    if (err || (!name && s->any))
        return err;
    if (!name)
        return fail(METE_EFORMAT, "%s: holds no .png or .jpg", r->path);
    s->any = true;
    rows_place(r, name);
    return decode(r, s->files, x);
}

static void close_images(void *state)
{
    struct images_state *s = state;
    file_iter_close(s->files);
    free(s);
}

const struct rows_ops rows_images = {
    .word = "file", .suits = suits, .open = open_images, .next = next_image, .close = close_images};
