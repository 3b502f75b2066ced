/* folder.c - images in folders: CLASS/IMAGE, or USER/CLASS/IMAGE, in a folder or an
 * archive; PNG and JPEG.
 *
 * There may be further folders above, if they are the same for all images.  Items
 * are sorted by user, class and name.  Images in a folder named "unlabelled", where a
 * class would be, have no label ("unlabeled" and capitals are the same).
 */
#include "data/importer.h"
#include "data/ingest.h"
#include "data/names.h"
#include "data/places.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct settings {
    int size, filter, channels;
    bool users, invert;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct settings, size, "size", 0, 0, 1024,
                  "pixels on a side; 0: all images have the size of the first"),
    PARAM_CHOICE_ROW(struct settings, filter, "filter", IMAGE_FILTERS, FILTER_AREA,
                     "how images are resized"),
    PARAM_CHOICE_ROW(struct settings, channels, "channels", "auto|grey|colour", 0,
                     "auto: as the first image"),
    PARAM_BOOL_ROW(struct settings, users, "users", 0, "folders are USER/CLASS, not CLASS"),
    PARAM_BOOL_ROW(struct settings, invert, "invert", 0,
                   "a learner sees 1 - value / 255, not value / 255"),
    {0},
};

static bool is_no_class(const char *name)
{
    return strcasecmp(name, "unlabelled") == 0 || strcasecmp(name, "unlabeled") == 0;
}

struct folder {
    const struct settings *set;
    const char *path;
    char *above; /* the folders above, the same for all */
    struct names files, classes, users;
    int32_t *y, *user; /* (files) before sorting */
    int room;
    bool *seen;
    struct image first; /* its size and channels; no pixels */
};

/* The last `n` components of a name: where each begins, from the last one. */
static int split_name(const char *name, const char **part, int n)
{
    int found = 0;
    for (const char *p = name + strlen(name); p > name && found < n; p--)
        if (p[-1] == '/')
            part[found++] = p;
    if (found < n && *name != '/')
        part[found++] = name;
    return found;
}

static char *between(const char *start, const char *next) /* without the slash */
{
    return mem_print("%.*s", (int)(next - 1 - start), start);
}

/* Remembers one image file. */
static int add_file(struct folder *f, const char *name, const char *place)
{
    const char *part[3];
    int levels = f->set->users ? 3 : 2;
    if (split_name(name, part, levels) < levels)
        return fail(METE_EFORMAT, "%s: expected %sCLASS/IMAGE", place,
                    f->set->users ? "USER/" : "");
    if (!is_utf8(name))
        return fail(METE_EFORMAT, "%s: a name that is not UTF-8; rename it", place);
    char *above = mem_print("%.*s", (int)(part[levels - 1] - name), name);
    if (f->above && strcmp(above, f->above) != 0) {
        int err = fail(METE_EFORMAT,
                       "%s: lies in '%s' and other images in '%s'; expected all in "
                       "%sCLASS/IMAGE",
                       place, above, f->above, f->set->users ? "USER/" : "");
        free(above);
        return err;
    }
    free(f->above);
    f->above = above;
    int i = f->files.n;
    int number = names_add(&f->files, name);
    if (number != i)
        return number < 0 ? number : fail(METE_EFORMAT, "%s: occurs twice", place);
    if (i == f->room) {
        int room = i ? 2 * i : 1024;
        int err = mem_extend(&f->y, (size_t)room, sizeof *f->y, "files");
        if (!err)
            err = mem_extend(&f->user, (size_t)room, sizeof *f->user, "files");
        if (err)
            return err;
        f->room = room;
    }
    char *class_name = between(part[1], part[0]);
    char *user_name = levels == 3 ? between(part[2], part[1]) : mem_string("");
    f->y[i] = is_no_class(class_name) ? NO_LABEL : names_add(&f->classes, class_name);
    f->user[i] = names_add(&f->users, user_name);
    free(class_name);
    free(user_name);
    return f->user[i] < 0 ? f->user[i] : f->y[i] < NO_LABEL ? f->y[i] : 0;
}

/* What the first image (by name) is like decides for all. */
static int look_at(struct folder *f, struct file_iter *w)
{
    void *data = NULL;
    size_t size = 0;
    int err = file_iter_read_all(w, IMAGE_FILE_MAX, &data, &size);
    if (!err)
        err = image_decode(&f->first, data, size, 0, file_iter_place(w));
    free(f->first.pixels);
    f->first.pixels = NULL;
    free(data);
    return err;
}

/* First pass: the names, and a look at the first image. */
static int list_files(struct folder *f)
{
    struct file_iter *w = NULL;
    const char *name = NULL;
    int err = file_iter_open(&w, f->path);
    while (!err && !(err = file_iter_next(w, &name)) && name) {
        if (!image_wanted(name))
            continue;
        err = add_file(f, name, file_iter_place(w));
        if (!err && f->files.n == 1)
            err = look_at(f, w);
    }
    file_iter_close(w);
    if (!err && f->files.n == 0)
        err = fail(METE_EFORMAT, "%s: holds no %sCLASS/IMAGE.png or .jpg", f->path,
                   f->set->users ? "USER/" : "");
    return err;
}

/* ---- items ---- */

static int place(void *user, const char *name, int64_t *item)
{
    struct folder *f = user;
    int i = names_find(&f->files, name);
    if (i < 0)
        return 0;
    if (f->seen[i])
        return fail(METE_EFORMAT, "%s: %s: occurs twice", f->path, name);
    f->seen[i] = true;
    *item = i;
    return 0;
}

static int ingest_all(struct folder *f, struct import_job *job)
{
    struct ingest *g = NULL;
    const struct settings *set = f->set;
    int h = set->size ? set->size : f->first.h, w = set->size ? set->size : f->first.w;
    int c = set->channels == 0 ? f->first.c : set->channels == 1 ? 1 : 3;
    struct ingest_options options = {.what = "folder",
                                     .total = f->files.n,
                                     .h = h,
                                     .w = w,
                                     .c = c,
                                     .filter = (enum image_filter)set->filter,
                                     .from_h = set->size ? 0 : h,
                                     .from_w = set->size ? 0 : w,
                                     .threads = job->threads};
    int err = builder_shape(job->builder, h, w, c, false);
    if (!err)
        err = mem_try(&f->seen, (size_t)f->files.n, sizeof *f->seen, "files");
    if (!err)
        err = ingest_open(&g, job->builder, &options);
    if (!err)
        err = ingest_files(g, f->path, place, f);
    if (!err)
        err = ingest_finish(g);
    ingest_close(g);
    for (int i = 0; i < f->files.n && !err; i++)
        if (!f->seen[i])
            err = fail(METE_EIO, "%s: %s: was there a moment ago", f->path, f->files.at[i]);
    return err;
}

/* Numbers files, classes and users in the order of their names. */
static int sort_all(struct folder *f, struct dataset *about)
{
    int n = f->files.n;
    int32_t *file_to = NULL, *class_to = NULL, *user_to = NULL, *y = NULL, *user = NULL;
    int err = mem_try(&y, (size_t)n, sizeof *y, "files");
    if (!err)
        err = mem_try(&user, (size_t)n, sizeof *user, "files");
    if (!err)
        err = names_sort(&f->files, &file_to);
    if (!err)
        err = names_sort(&f->classes, &class_to);
    if (!err)
        err = names_sort(&f->users, &user_to);
    for (int i = 0; i < n && !err; i++) {
        y[file_to[i]] = f->y[i] == NO_LABEL ? NO_LABEL : class_to[f->y[i]];
        user[file_to[i]] = user_to[f->user[i]];
    }
    about->items = n;
    about->classes = f->classes.n;
    about->y = y;
    if (f->set->users) {
        about->users = f->users.n;
        about->user = user;
    } else {
        free(user);
    }
    free(file_to);
    free(class_to);
    free(user_to);
    return err;
}

static int import_folder(struct import_job *job)
{
    struct folder f = {.set = job->settings, .path = job->paths[0]};
    struct dataset *about = &job->about;
    int err = list_files(&f);
    if (!err)
        err = sort_all(&f, about);
    if (!err)
        err = ingest_all(&f, job);
    if (!err) {
        about->class_names = names_take(&f.classes);
        about->user_names = f.set->users ? names_take(&f.users) : NULL;
        about->places = places_of_files(&f.files);
        about->scale = f.set->invert ? -1 / 255.0f : 1 / 255.0f;
        about->shift = f.set->invert ? 1 : 0;
    }
    names_release(&f.files);
    names_release(&f.classes);
    names_release(&f.users);
    free(f.above);
    free(f.y);
    free(f.user);
    free(f.seen);
    return err;
}

const struct importer importer_folder = {
    .name = "folder",
    .summary = "your own images: CLASS/IMAGE, or with users=yes USER/CLASS/IMAGE",
    .usage = "FOLDER-OR-ARCHIVE",
    .least = 1,
    .most = 1,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_folder,
};
