/* rows.c - which kind of file it is, and its items some at a time. */
#include "people/rows.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

extern const struct rows_ops rows_table, rows_array, rows_images;

static const struct rows_ops *const kinds[] = {&rows_table, &rows_array, &rows_images};
enum { KINDS = sizeof kinds / sizeof *kinds }; /* the last one takes whatever there is */

bool path_ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcasecmp(path + n - m, suffix) == 0;
}

void rows_place(struct rows *r, const char *place)
{
    text_add_bytes(&r->place, place, strlen(place) + 1);
}

int rows_open(struct rows *r, const char *path, const struct mete_model *m)
{
    int kind = 0;
    while (kind < KINDS - 1 && !kinds[kind]->suits(path))
        kind++;
    *r = (struct rows){.ops = kinds[kind], .path = path, .model = m};
    int err = mem_try(&r->x, ROWS_MOST, dataset_item_bytes(&m->takes), "items");
    if (!err)
        err = r->ops->open(r);
    if (err)
        rows_close(r);
    return err;
}

int rows_next(struct rows *r, struct mete_array *out)
{
    const struct dataset *t = &r->model->takes;
    size_t each = dataset_item_bytes(t);
    bool more = true;
    int err = 0, n = 0;
    r->place.size = 0;
    while (n < ROWS_MOST && !(err = r->ops->next(r, r->x + (size_t)n * each, &more)) && more)
        n++;
    *out = (struct mete_array){
        .x = r->x, .items = n, .h = t->h, .w = t->w, .c = t->c, .is_float = t->is_float};
    return err;
}

void rows_close(struct rows *r)
{
    if (r->state)
        r->ops->close(r->state);
    text_release(&r->place);
    free(r->x);
    *r = (struct rows){0};
}
