/* omniglot.c - Omniglot (Lake et al., 2015): 1,623 characters of 50 alphabets, each
 * drawn by 20 people.
 *
 * The archives hold …/ALPHABET/characterNN/ID_DRAWER.png, 105 x 105 pixels of 1 bit,
 * ink black.  Characters are classes, sorted by name; item 20 k + d - 1 is character
 * k by drawer d.  (Drawers are numbered within an alphabet: drawer 3 of one is not
 * drawer 3 of another, so they are no users.)
 *
 * With rotations=yes the drawings turned by 90, 180 and 270 degrees are further classes,
 * "Alphabet/character07/rot090", behind all characters, whose numbers stay as they are.
 */
#include "data/importer.h"
#include "data/ingest.h"
#include "data/names.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DRAWERS = 20, SIDE = 105, CHARACTERS = 964 + 659, ALPHABETS = 30 + 20 };

struct settings {
    int size, filter;
    bool invert, rotations, complete;
};

static const struct param params[] = {
    PARAM_INT_ROW(struct settings, size, "size", 28, 4, SIDE, "pixels on a side"),
    PARAM_CHOICE_ROW(struct settings, filter, "filter", IMAGE_FILTERS, FILTER_AREA,
                     "how the 105 x 105 pixels are resized"),
    PARAM_BOOL_ROW(struct settings, invert, "invert", 0,
                   "a learner sees ink as 1 and paper as 0, not paper as 1"),
    PARAM_BOOL_ROW(struct settings, rotations, "rotations", 0,
                   "characters turned by 90, 180 and 270 degrees are classes, too, for training"),
    PARAM_BOOL_ROW(struct settings, complete, "complete", 1,
                   "refuse anything but all 1,623 characters"),
    {0},
};

struct omniglot {
    const struct settings *set;
    struct names classes;  /* "Alphabet/characterNN" */
    int characters, turns; /* classes are characters x turns */
    bool *seen;            /* (classes, DRAWERS) */
    const char *path;      /* the archive at hand */
};

/* "…/Alphabet/character07/0709_13.png" is class "Alphabet/character07", drawer 13.
 * False for what is no drawing. */
static bool parse_name(const char *name, char *class_name, size_t size, int *drawer)
{
    const char *part[3]; /* where the last three components begin */
    int n = 0;
    for (const char *p = name + strlen(name); p > name && n < 3; p--)
        if (p[-1] == '/' || p - 1 == name)
            part[n++] = p[-1] == '/' ? p : p - 1;
    int id, end = 0;
    if (n < 3 || strncmp(part[1], "character", 9) != 0 ||
        sscanf(part[0], "%d_%d.png%n", &id, drawer, &end) != 2 || !end || part[0][end])
        return false;
    int length = (int)(part[0] - 1 - part[2]);
    return snprintf(class_name, size, "%.*s", length, part[2]) < (int)size;
}

static bool is_junk(const char *name) /* what archivers on some systems add */
{
    const char *base = strrchr(name, '/');
    base = base ? base + 1 : name;
    return strncmp(name, "__MACOSX/", 9) == 0 || *base == '.';
}

/* First pass: which characters there are. */
static int list_archive(struct omniglot *o, const char *path, int64_t *files)
{
    struct file_iter *w = NULL;
    const char *name = NULL;
    int err = file_iter_open(&w, path), drawer;
    int64_t before = *files;
    while (!err && !(err = file_iter_next(w, &name)) && name) {
        char class_name[256];
        if (is_junk(name))
            continue;
        if (parse_name(name, class_name, sizeof class_name, &drawer)) {
            int k = names_add(&o->classes, class_name);
            err = k < 0 ? k : 0;
            (*files)++;
        } else if (image_has_suffix(name)) {
            err = fail(METE_EFORMAT, "%s: expected ALPHABET/characterNN/ID_DRAWER.png",
                       file_iter_place(w));
        }
    }
    if (!err && *files == before)
        err = fail(METE_EFORMAT, "%s: holds no ALPHABET/characterNN/ID_DRAWER.png", path);
    file_iter_close(w);
    return err;
}

/* Second pass: which item a file is. */
static int place(void *user, const char *name, int64_t *item)
{
    struct omniglot *o = user;
    char class_name[256];
    int drawer;
    if (is_junk(name) || !parse_name(name, class_name, sizeof class_name, &drawer))
        return 0;
    int k = names_find(&o->classes, class_name);
    if (k < 0)
        return fail(METE_EIO, "%s: %s: was not there a moment ago", o->path, name);
    if (drawer < 1 || drawer > DRAWERS)
        return fail(METE_EFORMAT, "%s: %s: drawer %d, expected 1..%d", o->path, name, drawer,
                    DRAWERS);
    *item = (int64_t)k * DRAWERS + drawer - 1;
    if (o->seen[*item])
        return fail(METE_EFORMAT, "%s: %s: this drawing occurs twice", o->path, name);
    o->seen[*item] = true;
    return 0;
}

/* Or METE_ENOMEM. */
static int count_alphabets(const struct omniglot *o, struct import_job *job)
{
    int n = 0;
    struct dataset *about = &job->about;
    int err = mem_try(&about->class_groups, (size_t)about->classes, sizeof *about->class_groups,
                      "classes");
    if (err)
        return err;
    for (int k = 0; k < about->classes; k++) {
        const char *name = about->class_names[k];
        about->class_groups[k] = mem_print("%.*s", (int)(strchr(name, '/') - name), name);
        n += k == 0 ||
             (k < o->characters && strcmp(about->class_groups[k], about->class_groups[k - 1]) != 0);
    }
    return n;
}

static int check_complete(struct omniglot *o, struct import_job *job)
{
    struct dataset *about = &job->about;
    for (int64_t i = 0; i < o->characters * (int64_t)DRAWERS; i++)
        if (!o->seen[i])
            return fail(METE_EFORMAT, "%s: drawer %d is missing; expected %d drawings of each",
                        about->class_names[i / DRAWERS], (int)(i % DRAWERS) + 1, DRAWERS);
    int alphabets = count_alphabets(o, job);
    if (alphabets < 0)
        return alphabets;
    if (o->set->complete && (o->characters != CHARACTERS || alphabets != ALPHABETS))
        return fail(METE_EFORMAT,
                    "expected %d characters of %d alphabets, found %d of %d; give both archives, "
                    "or --set complete=no",
                    CHARACTERS, ALPHABETS, o->characters, alphabets);
    return 0;
}

static int ingest_all(struct omniglot *o, struct import_job *job, int64_t files)
{
    struct ingest *g = NULL;
    struct ingest_options options = {.what = "omniglot",
                                     .total = files,
                                     .h = o->set->size,
                                     .w = o->set->size,
                                     .c = 1,
                                     .filter = (enum image_filter)o->set->filter,
                                     .from_h = SIDE,
                                     .from_w = SIDE,
                                     .turned = o->turns > 1 ? o->characters * DRAWERS : 0,
                                     .threads = job->threads};
    int err = builder_shape(job->builder, o->set->size, o->set->size, 1, false);
    if (!err)
        err = ingest_open(&g, job->builder, &options);
    for (int i = 0; i < job->n && !err; i++) {
        o->path = job->paths[i];
        err = ingest_files(g, o->path, place, o);
    }
    if (!err)
        err = ingest_finish(g);
    ingest_close(g);
    return err;
}

/* The characters, then all of them by each turn. */
static int name_turns(struct omniglot *o, char ***names)
{
    for (int turn = 1; turn < o->turns; turn++)
        for (int k = 0; k < o->characters; k++) {
            char *name = mem_print("%s/rot%03d", o->classes.at[k], 90 * turn);
            int number = names_add(&o->classes, name);
            free(name);
            if (number < 0)
                return number;
        }
    *names = names_take(&o->classes);
    return 0;
}

static int describe(struct omniglot *o, struct import_job *job)
{
    struct dataset *about = &job->about;
    int32_t *y = NULL;
    int err = mem_try(&y, (size_t)about->items, sizeof *y, "images");
    if (err)
        return err;
    for (int64_t i = 0; i < about->items; i++)
        y[i] = (int32_t)(i / DRAWERS);
    about->y = y;
    if (o->set->invert) {
        about->scale = -1 / 255.0f;
        about->shift = 1;
    }
    about->licence = mem_string("MIT");
    about->source = mem_string("Omniglot, Lake, Salakhutdinov and Tenenbaum (2015), "
                               "https://github.com/brendenlake/omniglot");
    return name_turns(o, &about->class_names);
}

static int import_omniglot(struct import_job *job)
{
    struct omniglot o = {.set = job->settings};
    int64_t files = 0;
    int err = 0;
    for (int i = 0; i < job->n && !err; i++)
        err = list_archive(&o, job->paths[i], &files);
    if (!err)
        err = names_sort(&o.classes, NULL);
    if (!err) {
        o.characters = o.classes.n;
        o.turns = o.set->rotations ? 4 : 1;
        job->about.classes = o.characters * o.turns;
        job->about.items = (int64_t)job->about.classes * DRAWERS;
        err = mem_try(&o.seen, (size_t)job->about.items, sizeof *o.seen, "images");
    }
    if (!err)
        err = ingest_all(&o, job, files);
    if (!err)
        err = describe(&o, job);
    if (!err)
        err = check_complete(&o, job);
    free(o.seen);
    names_release(&o.classes);
    return err;
}

const struct importer importer_omniglot = {
    .name = "omniglot",
    .summary = "Omniglot: 1,623 handwritten characters, 20 drawings each",
    .usage = "images_background.zip images_evaluation.zip",
    .least = 1,
    .most = 2,
    .settings_size = sizeof(struct settings),
    .params = params,
    .run = import_omniglot,
};
