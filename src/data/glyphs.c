/* glyphs.c - two datasets that need no downloading.
 *
 * glyphs: characters of made-up alphabets, each drawn by some people, as Omniglot.
 * glyphs-users: one alphabet written by many people whose hands and letter shapes
 * differ.  Its classes come in pairs that share three shapes, of which a user's two
 * letters take one each: what one user writes for the first letter another writes
 * for the second, so that nobody can read a hand without having seen it labelled.
 */
#include "data/glyphs.h"
#include "data/dataset_own.h"
#include "base/sha256.h"
#include "data/glyph_draw.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"
#include "base/threads.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { STREAM_ALPHABET = 1, STREAM_DRAWING, STREAM_USER }; /* of RNG_GLYPH */

struct glyphs_settings {
    int classes, drawers, images, alphabet, users, size, seed;
    double spread;
};

#define S struct glyphs_settings
static const struct param glyphs_params[] = {
    PARAM_INT_ROW(S, classes, "classes", 400, 2, 1e6, "characters"),
    PARAM_INT_ROW(S, drawers, "drawers", 20, 1, 1e6, "people who draw each of them"),
    PARAM_INT_ROW(S, images, "images", 1, 1, 1e6, "drawings by each person"),
    PARAM_INT_ROW(S, alphabet, "alphabet", 20, 1, 100, "characters that share an alphabet"),
    PARAM_INT_ROW(S, size, "size", 28, 16, 128, "pixels on a side"),
    PARAM_REAL_ROW(S, spread, "spread", 1, 0, 4, "how much people and their drawings vary"),
    PARAM_INT_ROW(S, seed, "seed", 0, 0, 1e9, "seed of the generator"),
    {0},
};
static const struct param users_params[] = {
    PARAM_INT_ROW(S, classes, "classes", 20, 2, 200, "letters"),
    PARAM_INT_ROW(S, users, "users", 300, 1, 1e6, "people who write them"),
    PARAM_INT_ROW(S, images, "images", 60, 2, 1e6, "drawings by a user, on average"),
    PARAM_INT_ROW(S, size, "size", 28, 16, 128, "pixels on a side"),
    PARAM_REAL_ROW(S, spread, "spread", 1, 0, 4, "how much people and their drawings vary"),
    PARAM_INT_ROW(S, seed, "seed", 0, 0, 1e9, "seed of the generator"),
    {0},
};
#undef S

struct making {
    struct glyphs_settings s;
    struct glyph *glyph; /* (classes), or three for every two letters */
    uint8_t *x;          /* (items, size, size) */
    int32_t *y, *user;
    uint8_t *part;
    int64_t *first; /* (users + 1) number of each user's first item */
    int64_t items;
    char **names, **groups; /* (classes) */
};

/* Piece a: alphabet a of `glyphs`. */
static int make_alphabet(void *user, int a, int worker)
{
    (void)worker;
    struct making *m = user;
    struct rng r = rng_make((uint64_t)m->s.seed, RNG_GLYPH, (uint64_t)a, STREAM_ALPHABET);
    struct alphabet alphabet;
    int first = a * m->s.alphabet, n = m->s.classes - first;
    alphabet_make(&alphabet, &r);
    alphabet_glyphs(&alphabet, &r, m->glyph + first, n < m->s.alphabet ? n : m->s.alphabet);
    return 0;
}

/* Piece c: all drawings of class c. */
static int draw_class(void *user, int c, int worker)
{
    (void)worker;
    struct making *m = user;
    int64_t each = (int64_t)m->s.drawers * m->s.images, at = c * each;
    size_t bytes = (size_t)(m->s.size * m->s.size);
    struct rng r = rng_make((uint64_t)m->s.seed, RNG_GLYPH, (uint64_t)c, STREAM_DRAWING);
    for (int d = 0; d < m->s.drawers; d++) {
        struct hand h; /* every alphabet has its own people */
        uint64_t number = (uint64_t)(c / m->s.alphabet) * (uint64_t)m->s.drawers + (uint64_t)d;
        hand_make(&h, (uint64_t)m->s.seed, number, m->s.spread);
        for (int i = 0; i < m->s.images; i++, at++) {
            hand_draw(&h, &m->glyph[c], (uint64_t)c, &r, m->x + (size_t)at * bytes, m->s.size);
            m->y[at] = c;
        }
    }
    return 0;
}

/* Which of a pair's three shapes a user writes for its two letters.  The shares
 * make shape 0 nearly sure, 1 and 2 a matter of whose hand it is: reading without
 * knowing the user is right for 4 of 5 letters at best. */
static void pick_shapes(struct rng *r, int shapes[2])
{
    static const struct {
        double up_to;
        int first, second;
    } styles[] = {{0.40, 0, 1}, {0.60, 0, 2}, {0.85, 1, 2}, {1, 2, 1}};
    double u = rng_uniform(r);
    int i = 0;
    while (u >= styles[i].up_to)
        i++;
    shapes[0] = styles[i].first;
    shapes[1] = styles[i].second;
}

/* How many items a user has; users differ, as people do. */
static int count_items(const struct glyphs_settings *s, int u)
{
    struct rng r = rng_make((uint64_t)s->seed, RNG_GLYPH, (uint64_t)u, STREAM_USER);
    double n = s->images * exp(0.35 * rng_normal(&r) - 0.06);
    return n < 2 ? 2 : (int)(n + 0.5);
}

/* Draws the class of each item by the user's own frequencies. */
static int deal_classes(const struct glyphs_settings *s, struct rng *r, int32_t *y, int n)
{
    double *sum = NULL;
    int err = mem_try(&sum, (size_t)s->classes + 1, sizeof *sum, "classes");
    if (err)
        return err;
    for (int c = 0; c < s->classes; c++)
        sum[c + 1] = sum[c] + exp(0.6 * rng_normal(r));
    for (int i = 0; i < n; i++) {
        double u = rng_uniform(r) * sum[s->classes];
        int c = 0;
        while (c + 1 < s->classes && u >= sum[c + 1])
            c++;
        y[i] = c;
    }
    free(sum);
    return 0;
}

/* Piece u: user u's letters. */
static int draw_user(void *user, int u, int worker)
{
    (void)worker;
    struct making *m = user;
    int64_t at = m->first[u];
    int n = (int)(m->first[u + 1] - at), held = n / 5 > 0 ? n / 5 : 1, shapes[2] = {0, 0};
    size_t bytes = (size_t)(m->s.size * m->s.size);
    struct rng r = rng_make((uint64_t)m->s.seed, RNG_GLYPH, (uint64_t)u, STREAM_DRAWING);
    int *shape = NULL;
    int err = mem_try(&shape, (size_t)m->s.classes + 1, sizeof *shape, "classes");
    if (err)
        return err;
    for (int c = 0; c < m->s.classes; c += 2) {
        pick_shapes(&r, shapes);
        shape[c] = c / 2 * 3 + shapes[0];
        shape[c + 1] = c / 2 * 3 + shapes[1];
    }
    struct hand h;
    hand_make(&h, (uint64_t)m->s.seed, (uint64_t)u, 1.3 * m->s.spread);
    err = deal_classes(&m->s, &r, m->y + at, n);
    for (int i = 0; i < n && !err; i++) {
        int g = shape[m->y[at + i]];
        hand_draw(&h, &m->glyph[g], (uint64_t)g, &r, m->x + (size_t)(at + i) * bytes, m->s.size);
        m->user[at + i] = u;
        m->part[at + i] = i < held ? PART_TEST : PART_TRAIN; /* the order is random */
    }
    free(shape);
    return err;
}

/* What `finish` would have handed over. */
static int give_up(struct making *m, int err)
{
    free(m->x);
    free(m->y);
    free(m->user);
    free(m->part);
    for (int c = 0; c < m->s.classes; c++) {
        free(m->names ? m->names[c] : NULL);
        free(m->groups ? m->groups[c] : NULL);
    }
    free(m->names);
    free(m->groups);
    return err;
}

static int take_memory(struct making *m, int shapes, int64_t items)
{
    size_t n = (size_t)items, classes = (size_t)m->s.classes;
    m->items = items;
    int err = mem_try(&m->glyph, (size_t)shapes, sizeof *m->glyph, "glyphs");
    if (!err)
        err = mem_try(&m->x, n, (size_t)(m->s.size * m->s.size), "glyphs");
    if (!err)
        err = mem_try(&m->y, n, sizeof *m->y, "glyphs");
    if (!err && m->s.users)
        err = mem_try(&m->user, n, sizeof *m->user, "glyphs");
    if (!err && m->s.users)
        err = mem_try(&m->part, n, 1, "glyphs");
    if (!err)
        err = mem_try(&m->names, classes, sizeof *m->names, "glyphs");
    if (!err && !m->s.users)
        err = mem_try(&m->groups, classes, sizeof *m->groups, "glyphs");
    return err;
}

/* Hands the buffers over as a dataset. */
static int finish(struct dataset **out, struct making *m, const char *name)
{
    struct dataset d = {
        .name = (char *)name,
        .items = m->items,
        .classes = m->s.classes,
        .users = m->user ? m->s.users : 0,
        .h = m->s.size,
        .w = m->s.size,
        .c = 1,
        .scale = -1.0f / 255, /* ink 1, paper 0 */
        .shift = 1,
        .x = m->x,
        .y = m->y,
        .user = m->user,
        .part = m->part,
        .class_names = m->names,
        .class_groups = m->groups,
        .source = (char *)"made by mete's built-in generator",
        .licence = (char *)"none needed",
    };
    int err = d.users ? mem_try(&d.user_names, (size_t)d.users, sizeof *d.user_names, "users") : 0;
    if (err)
        return give_up(m, err);
    for (int u = 0; u < d.users; u++)
        d.user_names[u] = mem_print("%d", u);
    return dataset_from_memory(out, &d);
}

/* By its settings and the version of the generator, which CONTENT_GENERATED names. */
static void name_content(struct dataset *d, const char *name, const struct glyphs_settings *s)
{
    struct dataset_own *own = d->own;
    struct sha256 sum;
    char word[CONTENT_SIZE], text[PARAM_TEXT_SIZE];
    sha256_init(&sum);
    sha256_add(&sum, name, strcspn(name, ":"));
    for (const struct param *row = glyphs_settings(name); row->name; row++) {
        param_text(row, s, text, sizeof text);
        sha256_add(&sum, text, strlen(text) + 1);
    }
    content_word(&sum, word);
    snprintf(own->generated, sizeof own->generated, CONTENT_GENERATED "%.16s", word);
}

static int make_glyphs(struct dataset **out, struct making *m, struct threads *threads,
                       const char *name)
{
    const struct glyphs_settings *s = &m->s;
    int err = take_memory(m, s->classes, (int64_t)s->classes * s->drawers * s->images);
    if (err)
        return give_up(m, err);
    for (int c = 0; c < s->classes; c++) {
        m->groups[c] = mem_print("alphabet%02d", c / s->alphabet + 1);
        m->names[c] = mem_print("%s/character%02d", m->groups[c], c % s->alphabet + 1);
    }
    threads_run(threads, (s->classes + s->alphabet - 1) / s->alphabet, make_alphabet, m);
    threads_run(threads, s->classes, draw_class, m);
    return finish(out, m, name);
}

static int make_users(struct dataset **out, struct making *m, struct threads *threads,
                      const char *name)
{
    const struct glyphs_settings *s = &m->s;
    int shapes = (s->classes + 1) / 2 * 3;
    struct rng r = rng_make((uint64_t)s->seed, RNG_GLYPH, 0, STREAM_ALPHABET);
    struct alphabet alphabet;
    int err = mem_try(&m->first, (size_t)s->users + 1, sizeof *m->first, "users");
    for (int u = 0; u < s->users && !err; u++)
        m->first[u + 1] = m->first[u] + count_items(s, u);
    if (!err)
        err = take_memory(m, shapes, m->first[s->users]);
    if (err)
        return give_up(m, err);
    alphabet_make(&alphabet, &r);
    alphabet_glyphs(&alphabet, &r, m->glyph, shapes);
    for (int c = 0; c < s->classes; c++)
        m->names[c] = mem_print("letter%02d", c + 1);
    err = threads_run(threads, s->users, draw_user, m);
    return err ? give_up(m, err) : finish(out, m, name);
}

/* Reads "classes=200,seed=1" into the settings. */
static int read_options(const char *name, const char *options, const struct param *table,
                        struct glyphs_settings *s)
{
    struct param_set set = {0};
    char *copy = mem_string(options), *rest = copy, *one;
    const char *pair[2] = {NULL, NULL};
    int err = 0;
    param_set_add(&set, "", table, s);
    while (!err && (one = strsep(&rest, ",")))
        if (*one) {
            pair[0] = one;
            err = param_set_all(&set, pair);
        }
    free(copy);
    return err ? fail_within(err, "%s", name) : 0;
}

int glyphs_spell(char *name, size_t size)
{
    const struct param *table = glyphs_settings(name);
    struct glyphs_settings s = {0}, usual = {0};
    size_t kind = strcspn(name, ":");
    int err = read_options(name, name[kind] ? name + kind + 1 : "", table, &s);
    if (err)
        return err;
    char *spelled = mem_print("%.*s", (int)kind, name);
    param_defaults(table, &usual);
    for (const struct param *row = table; row->name; row++) {
        char value[PARAM_TEXT_SIZE], initial[PARAM_TEXT_SIZE];
        param_text(row, &s, value, sizeof value);
        param_text(row, &usual, initial, sizeof initial);
        if (strcmp(value, initial) == 0)
            continue;
        char *longer = mem_print("%s%c%s=%s", spelled, spelled[kind] ? ',' : ':', row->name, value);
        free(spelled);
        spelled = longer;
    }
    if (strlen(spelled) < size)
        strcpy(name, spelled);
    free(spelled);
    return 0;
}

static int check_size(const struct glyphs_settings *s, const char *name)
{
    double items =
        s->users ? 2.0 * s->users * s->images : (double)s->classes * s->drawers * s->images;
    if (items * s->size * s->size > 16e9 || items > INT32_MAX)
        return fail(METE_EINVAL, "%s: that would be %.0f million images; ask for fewer", name,
                    items / 1e6);
    return 0;
}

const struct param *glyphs_settings(const char *name)
{
    size_t length = strcspn(name, ":");
    if (length == 6 && strncmp(name, "glyphs", length) == 0)
        return glyphs_params;
    if (length == 12 && strncmp(name, "glyphs-users", length) == 0)
        return users_params;
    return NULL;
}

int glyphs_make(struct dataset **out, const char *name)
{
    const struct param *table = glyphs_settings(name);
    if (!table)
        return fail(METE_EINVAL, "no generator named '%s'; there are glyphs and glyphs-users",
                    name);
    struct making m = {0};
    struct threads *threads = NULL;
    const char *options = strchr(name, ':');
    int err = read_options(name, options ? options + 1 : "", table, &m.s);
    if (!err)
        err = check_size(&m.s, name);
    if (!err)
        err = threads_open(&threads, 0);
    if (!err)
        err = (table == users_params ? make_users : make_glyphs)(out, &m, threads, name);
    if (!err)
        name_content(*out, name, &m.s);
    threads_close(threads);
    free(m.glyph);
    free(m.first);
    return err;
}
