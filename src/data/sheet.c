/* sheet.c - a contact sheet: each row a class, or a user. */
#include "data/dataset.h"
#include "data/image.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

enum { GAP = 2, ROW_MAX = 1000 };

struct group {
    int64_t count, taken;
    int row; /* from 1 */
};

/* Items of each row: (rows, cols), -1 where a row has fewer. */
static int choose(int64_t **out, const struct dataset *d, bool users, int rows, int cols)
{
    int groups = users ? d->users : d->classes;
    const int32_t *of = users ? d->user : d->y;
    struct group *group = NULL;
    int err = mem_try(&group, (size_t)groups, sizeof *group, "a sheet");
    if (!err)
        err = mem_try(out, (size_t)rows * (size_t)cols, sizeof **out, "a sheet");
    if (err) {
        free(group);
        return err;
    }
    int64_t *item = *out;
    for (int i = 0; i < rows * cols; i++)
        item[i] = -1;
    for (int r = 0; r < rows; r++) /* rows spread evenly over the groups */
        group[(int64_t)r * groups / rows].row = r + 1;
    for (int64_t i = 0; i < d->items; i++)
        if (of[i] >= 0)
            group[of[i]].count++;
    for (int64_t i = 0; i < d->items; i++) {
        if (of[i] < 0) /* no label */
            continue;
        struct group *g = &group[of[i]];
        int64_t nth = g->taken++, shown = g->count < cols ? g->count : cols;
        if (g->row == 0)
            continue;
        int64_t col = (nth * shown + g->count - 1) / g->count; /* the first item at or after… */
        if (col < shown && col * g->count / shown == nth)
            item[(int64_t)(g->row - 1) * cols + col] = i;
    }
    free(group);
    return 0;
}

/* One item, each pixel `zoom` times as large. */
static void draw(const struct dataset *d, int64_t item, int zoom, struct image *sheet, int top,
                 int left)
{
    const uint8_t *from = (const uint8_t *)d->x + (size_t)item * dataset_item_bytes(d);
    for (int y = 0; y < d->h * zoom; y++)
        for (int x = 0; x < d->w * zoom; x++) {
            size_t to = (size_t)(top + y) * (size_t)sheet->w + (size_t)(left + x);
            memcpy(sheet->pixels + to * (size_t)d->c,
                   from + ((size_t)(y / zoom) * (size_t)d->w + (size_t)(x / zoom)) * (size_t)d->c,
                   (size_t)d->c);
        }
}

static int check(const struct dataset *d, const struct mete_sheet_options *o)
{
    if (d->is_float)
        return fail(METE_EINVAL, "%s holds rows of numbers, which a contact sheet cannot show",
                    o->name);
    if (d->c != 1 && d->c != 3)
        return fail(METE_EINVAL, "%s has images of %d channels; a sheet shows 1 or 3", o->name,
                    d->c);
    if (o->rows < 0 || o->cols < 0 || o->rows > ROW_MAX || o->cols > ROW_MAX)
        return fail(METE_EINVAL, "a sheet has 1..%d rows and columns", ROW_MAX);
    if (o->by == METE_BY_USER && !d->user)
        return fail(METE_EINVAL, "%s has no users; its rows can only be classes", o->name);
    if (d->classes == 0 && (o->by == METE_BY_CLASS || !d->user))
        return fail(METE_EINVAL, "%s has no labels yet, so there are no classes to show", o->name);
    return 0;
}

static int draw_sheet(const struct dataset *d, const struct mete_sheet_options *o)
{
    bool users = o->by == METE_BY_USER || (o->by == METE_BY_AUTO && d->user);
    int groups = users ? d->users : d->classes;
    int rows = o->rows ? o->rows : 20, cols = o->cols ? o->cols : 20;
    rows = rows < groups ? rows : groups;
    int zoom = d->h <= 32 ? 2 : 1, h = d->h * zoom + GAP, w = d->w * zoom + GAP;
    struct image sheet = {.h = rows * h + GAP, .w = cols * w + GAP, .c = d->c};
    if ((int64_t)sheet.h * sheet.w * sheet.c > INT32_MAX)
        return fail(METE_EINVAL, "a sheet of %d x %d pixels is too large; fewer --rows or --cols",
                    sheet.w, sheet.h);
    size_t bytes = (size_t)sheet.h * (size_t)sheet.w * (size_t)sheet.c;
    int64_t *item = NULL;
    int err = mem_try(&sheet.pixels, bytes, 1, "a sheet");
    if (!err)
        err = choose(&item, d, users, rows, cols);
    if (!err)
        memset(sheet.pixels, 0xb0, bytes); /* grey between the images */
    for (int i = 0; i < rows * cols && !err; i++)
        if (item[i] >= 0)
            draw(d, item[i], zoom, &sheet, GAP + i / cols * h, GAP + i % cols * w);
    if (!err)
        err = image_write_png(o->path, &sheet);
    free(item);
    image_release(&sheet);
    return err;
}

int mete_data_sheet(const struct mete_sheet_options *given)
{
    NUMBER_LOCALE;
    struct mete_sheet_options own, *o = &own;
    struct dataset *d = NULL;
    int err = options_take(o, sizeof own, given, "mete_sheet_options");
    if (!err)
        err = o->path ? dataset_find(&d, o->name)
                      : fail(METE_EINVAL, "say where the sheet goes: -o sheet.png");
    if (!err)
        err = check(d, o);
    if (!err)
        err = draw_sheet(d, o);
    dataset_close(d);
    return err;
}
