/* test_selection.c - what choosing labels asks of a kernel set: k-means against the same
 * written down here in double, entropies, and rows that stay on the device. */
#include "pass.h"

#include <float.h>

/* ---- k-means in plain loops ---- */

struct plain {
    const struct clustering *c; /* what is asked; x in host memory */
    int f;
    double *centre;
};

static double plain_distance(const struct plain *p, int i, const double *to)
{
    double sum = 0;
    for (int j = 0; j < p->f; j++)
        sum += pow(p->c->x[p->c->row[i] * p->f + j] - to[j], 2);
    return sum;
}

static double *plain_centre(const struct plain *p, int c)
{
    return p->centre + (size_t)c * (size_t)p->f;
}

/* Centre c is point i, and nobody is nearer to it than that point. */
static void plain_add(const struct plain *p, int c, int i, double *nearest)
{
    for (int j = 0; j < p->f; j++)
        plain_centre(p, c)[j] = p->c->x[p->c->row[i] * p->f + j];
    for (int a = 0; a < p->c->n; a++)
        nearest[a] = fmin(nearest[a], plain_distance(p, a, plain_centre(p, c))); /* NaN: no less */
    nearest[i] = 0;
}

/* How many centres there are. */
static int plain_seed(const struct plain *p)
{
    double *nearest = mem_array((size_t)p->c->n, sizeof *nearest);
    int found = 0;
    for (int i = 0; i < p->c->n; i++)
        nearest[i] = FLT_MAX;
    for (int next = p->c->first; next >= 0;) {
        double total = 0, u;
        plain_add(p, found++, next, nearest);
        for (int i = 0; i < p->c->n; i++)
            total += nearest[i];
        u = found < p->c->k ? p->c->draw[found - 1] * total : -1;
        next = -1;
        for (int i = 0; i < p->c->n && u >= 0; i++)
            if (nearest[i] > 0) {
                u -= nearest[i];
                next = i;
            }
    }
    free(nearest);
    return found;
}

static bool plain_assign(const struct plain *p, int k, int32_t *cluster)
{
    bool changed = false;
    for (int i = 0; i < p->c->n; i++) {
        double best = FLT_MAX;
        int to = cluster[i] < 0 ? 0 : cluster[i];
        for (int c = 0; c < k; c++) {
            double d = plain_distance(p, i, plain_centre(p, c));
            if (d < best) {
                best = d;
                to = c;
            }
        }
        changed = changed || to != cluster[i];
        cluster[i] = to;
    }
    return changed;
}

static void plain_recentre(const struct plain *p, int k, const int32_t *cluster)
{
    for (int c = 0; c < k; c++)
        for (int j = 0; j < p->f; j++) {
            double sum = 0, count = 0;
            for (int i = 0; i < p->c->n; i++)
                if (cluster[i] == c) {
                    sum += p->c->x[p->c->row[i] * p->f + j];
                    count++;
                }
            if (count > 0)
                plain_centre(p, c)[j] = sum / count;
        }
}

static void plain_nearest(const struct plain *p, int k, const int32_t *cluster, int32_t *nearest)
{
    for (int c = 0; c < k; c++) {
        double least = 0;
        nearest[c] = -1;
        for (int i = 0; i < p->c->n; i++) {
            double d = plain_distance(p, i, plain_centre(p, c));
            if (cluster[i] == c && (nearest[c] < 0 || d < least)) {
                nearest[c] = i;
                least = d;
            }
        }
    }
}

/* Fills in what `c` asks for, of points of f features in host memory.  Returns the centres. */
static double *plain_kmeans(struct clustering *c, int f)
{
    struct plain p = {c, f, mem_array((size_t)((c->k + 1) * f), sizeof(double))};
    c->found = c->n > 0 && c->k > 0 ? plain_seed(&p) : 0;
    for (int i = 0; i < c->n; i++)
        c->cluster[i] = -1;
    for (int left = c->rounds; c->found > 0 && plain_assign(&p, c->found, c->cluster) && left > 0;
         left--)
        plain_recentre(&p, c->found, c->cluster);
    plain_nearest(&p, c->found, c->cluster, c->nearest);
    return p.centre;
}

/* ---- pools ---- */

enum kind { APART, RANDOM, EQUAL, PAIRS, BROKEN, HOPELESS, KINDS };
static const char *const kind_name[] = {"apart",       "random",       "equal",
                                        "two of each", "not a number", "no number"};

/* A pool: every second row of x, backwards, so that rows are not points' numbers. */
struct case_of {
    enum kind kind;
    int n, k, rounds;
};

static float value_of(enum kind kind, int i, int j, int k, struct rng *r)
{
    float noise = (float)rng_normal(r);
    if (kind == APART) /* k groups */
        return (float)(10 * (i % k) * (j % 3 + 1)) + 0.1f * noise;
    if (kind == EQUAL)
        return 0.25f * (float)j;
    if (kind == PAIRS)
        return (float)(i / 2 * (j + 1) % 7) + (float)(i / 2);
    if (kind == BROKEN && i % 5 == 3 && j == 0)
        return i % 2 ? NAN : INFINITY;
    return kind == HOPELESS ? NAN : noise;
}

static struct clustering threads_open(const struct case_of *of, int f, int seed)
{
    struct rng r =
        rng_make((uint64_t)seed, RNG_TEST, (uint64_t)of->n, (uint32_t)(f * KINDS + (int)of->kind));
    size_t n = (size_t)of->n, k = (size_t)of->k;
    float *x = mem_array(2 * n * (size_t)f + 1, sizeof *x);
    int32_t *row = mem_array(2 * n + k + 1, sizeof *row);
    double *draw = mem_array(k + 1, sizeof *draw);
    for (int i = 0; i < of->n; i++) {
        row[i] = 2 * (of->n - i) - 1;
        for (int j = 0; j < f; j++) {
            x[row[i] * f + j] = value_of(of->kind, i, j, of->k > 0 ? of->k : 1, &r);
            x[(row[i] - 1) * f + j] = NAN; /* nobody's */
        }
    }
    for (int i = 0; i + 1 < of->k; i++)
        draw[i] = rng_uniform(&r);
    return (struct clustering){.x = x,
                               .row = row,
                               .n = of->n,
                               .k = of->k,
                               .rounds = of->rounds,
                               .first = n > 0 ? (int)rng_below(&r, (uint32_t)n) : 0,
                               .draw = draw,
                               .cluster = row + n,
                               .nearest = row + 2 * n};
}

static void threads_close(struct clustering *c)
{
    free((void *)c->x);
    free((void *)c->row);
    free((void *)c->draw);
}

/* The same question, with room for another answer; `to` (2 n + k) is kept by the caller. */
static struct clustering asked_again(const struct clustering *c, int32_t *to)
{
    struct clustering again = *c;
    again.found = -1;
    again.cluster = to;
    again.nearest = to + c->n;
    memset(to, 0x55, (size_t)(c->n + c->k) * sizeof *to);
    return again;
}

/* What differs between two answers, or NULL. */
static const char *difference(const struct clustering *a, const struct clustering *b)
{
    if (a->found != b->found)
        return "how many are found";
    if (a->found == 0)
        return NULL;
    if (memcmp(a->cluster, b->cluster, (size_t)a->n * sizeof *a->cluster) != 0)
        return "clusters";
    if (memcmp(a->nearest, b->nearest, (size_t)a->found * sizeof *a->nearest) != 0)
        return "nearest points";
    return NULL;
}

/* The same, but nearest points may be as near as those wanted: two that share a centre always
 * are, and roundings choose. */
static const char *real_difference(const struct clustering *got, const struct clustering *want,
                                   double *centre, int f)
{
    const struct plain p = {want, f, centre};
    for (int c = 0; c < want->found && got->found == want->found; c++) {
        int a = got->nearest[c], b = want->nearest[c];
        if ((a < 0) != (b < 0) || (a >= 0 && (a >= want->n || want->cluster[a] != c)))
            return "nearest points";
        double near = a < 0 ? 0 : plain_distance(&p, a, plain_centre(&p, c));
        if (a >= 0 && near > 1.00001 * plain_distance(&p, b, plain_centre(&p, c)))
            return "nearest points";
    }
    struct clustering as = *got;
    as.nearest = want->nearest;
    return difference(&as, want);
}

/* Clusters pools on a set's device, which gets their points. */
static void on_device(const struct kernels *k, int tasks, int f, struct clustering *c)
{
    struct device *d;
    void **x = mem_array((size_t)tasks, sizeof *x);
    if (k->open(&d, &(struct device_options){0}))
        abort();
    for (int t = 0; t < tasks; t++) {
        size_t bytes = 2 * (size_t)(c[t].n * f) * sizeof(float) + 1;
        if (k->alloc(d, bytes, &x[t]))
            abort();
        k->upload(d, x[t], c[t].x, bytes - 1);
        c[t].x = x[t];
    }
    k->kmeans(d, tasks, f, c);
    if (k->sync(d))
        fprintf(stderr, "%s: %s\n", k->name, mete_errmsg());
    for (int t = 0; t < tasks; t++)
        k->release(d, x[t], 2 * (size_t)(c[t].n * f) * sizeof(float) + 1);
    k->close(d);
    free(x);
}

/* Pools of which each set must make what the plain loops make, alone and all in one call. */
static const struct case_of cases[] = {
    {APART, 60, 5, 100},   {APART, 257, 20, 100}, {APART, 95, 3, 100},  {RANDOM, 1, 1, 100},
    {RANDOM, 2, 2, 100},   {RANDOM, 33, 1, 100},  {RANDOM, 95, 5, 100}, {RANDOM, 301, 7, 100},
    {RANDOM, 600, 21, 50}, {RANDOM, 95, 5, 0},    {RANDOM, 95, 5, 1},   {RANDOM, 95, 5, 2},
    {RANDOM, 7, 12, 100},  {RANDOM, 31, 31, 100}, {RANDOM, 0, 3, 100},  {RANDOM, 5, 0, 100},
    {EQUAL, 40, 6, 100},   {EQUAL, 1, 4, 100},    {PAIRS, 30, 8, 100},  {PAIRS, 12, 40, 100},
    {BROKEN, 50, 4, 100},  {BROKEN, 95, 12, 3},   {HOPELESS, 20, 3, 5},
};
enum { CASES = sizeof cases / sizeof *cases };

static const int widths[] = {1, 2, 15, 16, 37, 64, 130};
enum { WIDTHS = sizeof widths / sizeof *widths };

/* `centre`: the plain loops'. */
static void check_set(const struct kernels *k, int f, const struct clustering *want,
                      double *const *centre)
{
    struct clustering alone[CASES], together[CASES];
    int32_t *room[CASES];
    const char *wrong = NULL;
    for (int i = 0; i < CASES; i++) {
        size_t each = (size_t)(want[i].n + want[i].k);
        room[i] = mem_array(2 * each + 1, sizeof *room[i]);
        together[i] = asked_again(&want[i], room[i]);
        alone[i] = asked_again(&want[i], room[i] + each);
        on_device(k, 1, f, &alone[i]);
    }
    on_device(k, CASES, f, together);
    for (int i = 0; i < CASES && !wrong; i++) {
        wrong = real_difference(&alone[i], &want[i], centre[i], f);
        if (!wrong && difference(&alone[i], &together[i]))
            wrong = "alone and together";
        if (wrong)
            fprintf(stderr, "%s: %s differ: %s, %d points of %d features, %d clusters\n", k->name,
                    wrong, kind_name[cases[i].kind], cases[i].n, f, cases[i].k);
    }
    for (int i = 0; i < CASES; i++)
        free(room[i]);
    CHECK(!wrong);
}

TEST(pools_are_clustered_as_in_plain_loops)
{
    for (int w = light() ? 4 : 0; w < (light() ? 5 : WIDTHS); w++) {
        struct clustering want[CASES];
        double *centre[CASES];
        for (int i = 0; i < CASES; i++) {
            want[i] = threads_open(&cases[i], widths[w], 11);
            centre[i] = plain_kmeans(&want[i], widths[w]);
        }
        for (int s = 0; kernels_at(s); s++)
            if (set_usable(kernels_at(s)))
                check_set(kernels_at(s), widths[w], want, centre);
        for (int i = 0; i < CASES; i++) {
            threads_close(&want[i]);
            free(centre[i]);
        }
    }
}

TEST(clusters_of_points_far_apart_are_those_points)
{
    static const struct case_of of = {APART, 100, 4, 100};
    for (int s = 0; kernels_at(s); s++) {
        if (!set_usable(kernels_at(s)))
            continue;
        struct clustering c = threads_open(&of, 19, 3);
        const float *x = c.x;
        on_device(kernels_at(s), 1, 19, &c);
        CHECK_EQ(c.found, 4);
        for (int i = 4; i < 100; i++) /* four groups in turn, in the order of their seeds */
            CHECK_EQ(c.cluster[i], c.cluster[i % 4]);
        for (int i = 0; i < 4; i++)
            CHECK_EQ(c.cluster[c.nearest[i]], i);
        c.x = x;
        threads_close(&c);
    }
}

TEST(of_points_as_near_the_first_is_the_nearest)
{
    static const struct case_of of = {EQUAL, 40, 6, 100};
    for (int s = 0; kernels_at(s); s++) {
        if (!set_usable(kernels_at(s)))
            continue;
        struct clustering c = threads_open(&of, 37, 3);
        const float *x = c.x;
        on_device(kernels_at(s), 1, 37, &c);
        CHECK_EQ(c.found, 1);
        CHECK_EQ(c.nearest[0], 0);
        c.x = x;
        threads_close(&c);
    }
}

TEST(pools_of_thousands_are_clustered_alike_by_all_sets)
{
    struct case_of of = {RANDOM, light() ? 700 : 3000, 20, 10};
    struct clustering want = threads_open(&of, 128, 5);
    int32_t *room = mem_array((size_t)(want.n + want.k), sizeof *room);
    host_kmeans(NULL, 1, 128, &want);
    for (int s = 0; kernels_at(s); s++) {
        if (!set_usable(kernels_at(s)))
            continue;
        struct clustering got = asked_again(&want, room);
        on_device(kernels_at(s), 1, 128, &got);
        const char *wrong = difference(&got, &want);
        if (wrong)
            FAIL_TEST("%s: %s differ", kernels_at(s)->name, wrong);
    }
    free(room);
    threads_close(&want);
}

/* ---- entropy ---- */

static double plain_entropy(const float *p, int ways)
{
    double h = 0;
    for (int c = 0; c < ways; c++)
        h -= p[c] > 0 ? p[c] * log((double)p[c]) : p[c] * 0; /* NaN stays NaN */
    return fmax(h, 0);
}

TEST(entropies_are_those_of_the_rows)
{
    enum { ROWS = 1031, WAYS = 7 };
    float probs[ROWS * WAYS], got[ROWS];
    struct rng r = rng_make(7, RNG_TEST, 0, 0);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0, p[WAYS];
        for (int c = 0; c < WAYS; c++)
            sum += p[c] = i % 4 == 1 && c < 3 ? 0 : exp(8 * rng_normal(&r));
        for (int c = 0; c < WAYS; c++)
            probs[i * WAYS + c] = i % 5 == 2 ? c == 4 : (float)(p[c] / sum);
    }
    probs[9 * WAYS + 3] = NAN;
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        struct device *d;
        void *at;
        if (!set_usable(k))
            continue;
        CHECK_OK(k->open(&d, &(struct device_options){0}));
        CHECK_OK(k->alloc(d, sizeof probs, &at));
        k->upload(d, at, probs, sizeof probs);
        k->entropy(d, ROWS, WAYS, at, got);
        CHECK_OK(k->sync(d));
        for (int i = 0; i < ROWS; i++)
            if (i == 9)
                CHECK(isnan(got[i]));
            else
                CHECK_NEAR(got[i], plain_entropy(probs + i * WAYS, WAYS), 2e-6);
        k->release(d, at, sizeof probs);
        k->close(d);
    }
}

/* ---- rows that stay ---- */

TEST(collected_rows_are_the_rows)
{
    static const struct spec specs[] = {
        {"conv", 9, 11, 2, {5, 19}, false, {6}, 3, 5, {0}, WHOLE, 0, 0, 0, 2},
        {"unequal", 9, 11, 2, {5, 19}, true, {6}, 3, 5, {5, 3, 4}, WHOLE, 0, 0, 0, 3},
        {"dense", 4, 4, 1, {0}, false, {23, 6}, 2, 5, {0}, WHOLE, 0, 0, 0, 4},
    };
    enum { FIRST = 1, MANY = 3, MORE = 7 };
    for (int s = 0; kernels_at(s); s++)
        for (int i = 0; set_usable(kernels_at(s)) && i < 3; i++) {
            const struct kernels *k = kernels_at(s);
            struct pass p;
            pass_open(&p, k, &specs[i]);
            pass_forward(&p);
            int layer = p.n_layers - 2, tasks = specs[i].tasks, n = specs[i].n;
            size_t row = row_size(&p.layers[layer]), stride = MANY * row + MORE;
            float *rows = mem_array((size_t)(tasks * n) * row, sizeof *rows);
            float *got = mem_array((size_t)tasks * stride, sizeof *got);
            float *at = device_alloc(&p, (size_t)tasks * stride * sizeof *at);
            k->rows(p.device, &p.layers[layer], &p.batch, pass_out(&p, layer, false), rows);
            k->collect(p.device, &p.layers[layer], &p.batch, pass_out(&p, layer, false), FIRST,
                       MANY, at, stride);
            k->download(p.device, got, at, (size_t)tasks * stride * sizeof *got);
            for (int t = 0; t < tasks; t++) {
                int has = spec_count(&specs[i], t) - FIRST;
                size_t bytes = (size_t)(has < MANY ? has : MANY) * row * sizeof *rows;
                if (memcmp(got + (size_t)t * stride, rows + (size_t)(t * n + FIRST) * row, bytes))
                    FAIL_TEST("%s on %s: rows of task %d differ", specs[i].name, k->name, t);
            }
            free(rows);
            free(got);
            pass_close(&p);
        }
}

TESTS(T(pools_are_clustered_as_in_plain_loops), T(clusters_of_points_far_apart_are_those_points),
      T(of_points_as_near_the_first_is_the_nearest),
      T(pools_of_thousands_are_clustered_alike_by_all_sets), T(entropies_are_those_of_the_rows),
      T(collected_rows_are_the_rows))
