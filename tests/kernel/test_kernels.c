/* test_kernels.c - every operation and its tangents, on every kernel set of this
 * machine, against the specification in double precision. */
#include "kinks.h"

/* Plain loops whose convolutions round every factor to TF32, as GPUs do. */
static double to_tf32(double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(&f, &bits, sizeof f);
    return f;
}
extern const struct kernels kernels_tf32;
#define REAL        float
#define FACTOR      to_tf32
#define REF_TABLE   kernels_tf32
#define REF_NAME    "plain loops in TF32"
#define REF_SUMMARY "a test's"
#include "kernel/ref/ref_table.h"

/* What float sets may differ by, relative L2 of each output.  Sums of a few
 * thousand floats leave about 1e-6. */
static const double float_tolerance = 1e-5;

/* What TF32 may: 11 bits of every factor. */
static const double tf32_tolerance = 2e-3;

static const struct spec specs[] = {
    /* name, h, w, c, conv filters, pool, dense, tasks, n, counts, stat, own, sum, ignore, seed */
    {"one image, one channel", 16, 16, 1, {1, 1}, false, {2}, 1, 1, {0}, WHOLE, 0, 0, 0, 1},
    {"three filters", 16, 16, 1, {3, 3, 3, 3}, false, {5}, 1, 5, {0}, WHOLE, 0, 0, 0, 2},
    {"five and seventeen filters", 16, 20, 3, {5, 17, 5}, false, {3}, 1, 4, {0}, WHOLE, 0, 0, 0, 3},
    {"33 filters, odd sizes", 17, 23, 2, {33, 33, 33}, false, {7}, 1, 3, {0}, WHOLE, 0, 0, 0, 4},
    {"omniglot", 28, 28, 1, {64, 64, 64, 64}, false, {5}, 1, 5, {0}, WHOLE, 0, 0, 0, 5},
    {"64 filters, 7 images", 16, 16, 1, {64, 64, 64}, false, {20}, 1, 7, {0}, WHOLE, 0, 0, 0, 6},
    {"mini-imagenet", 84, 84, 3, {32, 32, 32, 32}, false, {5}, 1, 1, {0}, WHOLE, 0, 0, 0, 7},
    {"48 and 80 filters", 20, 16, 4, {48, 80, 96}, false, {4}, 1, 6, {0}, WHOLE, 0, 0, 0, 8},
    {"128 filters", 16, 16, 1, {128, 128}, false, {4}, 1, 3, {0}, WHOLE, 0, 0, 0, 9},
    {"13 images", 18, 16, 1, {16, 32, 16}, false, {5}, 1, 13, {0}, WHOLE, 0, 0, 0, 10},
    {"27 images", 16, 17, 1, {32, 64, 32}, false, {6}, 1, 27, {0}, WHOLE, 0, 0, 0, 11},
    {"9 large images", 88, 84, 1, {16, 16}, false, {5}, 1, 9, {0}, WHOLE, 0, 0, 0, 38},
    {"75 large images", 84, 84, 1, {3}, false, {5}, 1, 75, {0}, WHOLE, 0, 0, 0, 46},
    {"pooled, 9 images", 18, 17, 2, {16, 9}, true, {5}, 1, 9, {0}, WHOLE, 0, 0, 0, 39},
    {"a wide first layer", 16, 16, 17, {16, 16}, false, {4}, 1, 3, {0}, WHOLE, 0, 0, 0, 12},
    {"pooled", 16, 16, 1, {8, 8, 8}, true, {5}, 1, 5, {0}, WHOLE, 0, 0, 0, 13},
    {"pooled, odd sizes", 19, 17, 3, {17, 33, 5}, true, {3}, 1, 3, {0}, WHOLE, 0, 0, 0, 14},
    {"pooled omniglot", 28, 28, 1, {32, 32, 32, 32}, true, {5}, 1, 2, {0}, WHOLE, 0, 0, 0, 15},
    {"pooled, one image, one channel", 16, 21, 1, {1, 1}, true, {2}, 1, 1, {0}, WHOLE, 0, 0, 0, 16},
    {"tall and narrow", 230, 12, 1, {16, 16}, true, {3}, 1, 1, {0}, WHOLE, 0, 0, 0, 36},
    {"tall, strided", 230, 16, 1, {16, 16}, false, {3}, 1, 1, {0}, WHOLE, 0, 0, 0, 37},
    {"support statistics", 16, 16, 1, {17, 16}, false, {5}, 1, 11, {0}, 4, 0, 0, 0, 17},
    {"support statistics, pooled", 18, 16, 2, {16, 9}, true, {5}, 1, 7, {0}, 3, 0, 0, 0, 18},
    {"support statistics, 64", 16, 16, 1, {64, 64}, false, {5}, 1, 10, {0}, 5, 0, 0, 0, 19},
    {"running statistics", 16, 16, 1, {17, 16}, false, {5}, 1, 6, {0}, 0, 0, 0, 0, 20},
    {"running statistics, pooled", 17, 16, 3, {5, 32}, true, {5}, 1, 5, {0}, 0, 0, 1, 0, 21},
    {"three tasks", 16, 16, 1, {16, 17}, false, {5}, 3, 5, {0}, WHOLE, 0, 0, 0, 22},
    {"tasks of their own", 16, 16, 3, {5, 17}, false, {5}, 3, 6, {6, 1, 4}, WHOLE, 1, 0, 0, 23},
    {"unequal tasks, pooled", 16, 18, 1, {12, 16}, true, {5}, 3, 5, {2, 5, 3}, WHOLE, 1, 0, 1, 24},
    {"unequal tasks, one vector", 16, 16, 1, {16, 33}, false, {3}, 3, 7, {7, 3, 5}, 4, 0, 1, 0, 25},
    {"unequal running tasks", 16, 16, 1, {16, 16}, false, {3}, 3, 7, {2, 7, 5}, 0, 1, 0, 0, 26},
    {"ignored labels", 16, 16, 1, {16, 16}, false, {5}, 1, 9, {0}, WHOLE, 0, 0, 1, 27},
    {"a sum of losses", 16, 16, 1, {16, 16}, false, {5}, 1, 9, {0}, WHOLE, 0, 1, 1, 28},
    {"hidden dense after conv",
     16,
     16,
     3,
     {16, 17},
     false,
     {19, 33, 5},
     1,
     6,
     {0},
     WHOLE,
     0,
     0,
     0,
     29},
    {"linear on rows", 1, 1, 37, {0}, false, {4}, 1, 6, {0}, WHOLE, 0, 0, 0, 30},
    {"mlp on rows", 1, 1, 50, {0}, false, {64, 31, 10}, 1, 21, {0}, WHOLE, 0, 0, 0, 31},
    {"mlp on pictures", 7, 9, 3, {0}, false, {20, 3}, 1, 5, {0}, WHOLE, 0, 0, 1, 32},
    {"mlp, unequal tasks", 1, 1, 23, {0}, false, {40, 5}, 3, 8, {3, 8, 1}, WHOLE, 1, 0, 0, 33},
    {"a task without images", 16, 16, 1, {16, 5}, false, {3}, 3, 4, {4, 0, 2}, 0, 1, 0, 0, 34},
    {"one wide row", 1, 1, 300, {0}, false, {128, 2}, 1, 1, {0}, WHOLE, 0, 0, 0, 35},
};
enum { SPECS = sizeof specs / sizeof *specs };

/* Of these, and of the full ones below, those that meet every kernel. */
static const char *const enough[] = {"33 filters, odd sizes",      "128 filters",
                                     "pooled, odd sizes",          "pooled omniglot",
                                     "support statistics, pooled", "tasks of their own",
                                     "unequal running tasks",      "mlp, unequal tasks",
                                     "omniglot, 5 images",         "omniglot, 10 images",
                                     "mini-imagenet, 5 images",    NULL};
static bool left_out(const struct spec *s)
{
    return beyond(enough, s);
}

static void run_passes(struct pass *p)
{
    pass_forward(p);
    pass_loss(p);
    pass_backward(p);
    if (!left_out(p->spec))
        pass_tangent(p);
}

static void run(const struct kernels *k, const struct spec *s, struct results *r)
{
    struct pass p;
    pass_open(&p, k, s);
    run_passes(&p);
    pass_results(&p, r);
    pass_close(&p);
}

TEST(every_set_agrees_with_the_specification)
{
    int bad = 0;
    for (int i = 0; i < SPECS; i++) {
        static struct results want, got;
        if (left_out(&specs[i]))
            continue;
        run(&kernels_ref64, &specs[i], &want);
        for (int s = 0; kernels_at(s); s++) {
            const struct kernels *k = kernels_at(s);
            if (k == &kernels_ref64 || !set_usable(k))
                continue;
            run(k, &specs[i], &got);
            bad += results_differ(specs[i].name, k->name, &got, &want, float_tolerance) > 0;
            results_free(&got);
        }
        results_free(&want);
    }
    CHECK_EQ(bad, 0);
}

/* How many of the tasks differ: all together or, of so many copies, the first and the last. */
static int tasks_differ(struct pass *p, const struct results *want, int copies)
{
    static struct results got;
    int bad = 0, last = copies > 1 ? p->spec->tasks - 1 : 0;
    for (int task = 0; task <= last; task += last > 0 ? last : 1) {
        if (copies > 1)
            pass_task_results(p, &got, task);
        else
            pass_results(p, &got);
        bad += results_differ(p->spec->name, p->k->name, &got, want, tf32_tolerance) > 0;
        results_free(&got);
    }
    return bad;
}

/* Gradients again, now that nobody will ask for tangents, with nothing left of what was. */
static void run_without_tangents(struct pass *p)
{
    for (int i = 0; i < p->n_layers; i++)
        p->k->zero(p->device, p->cache[i], p->k->cache_bytes(&p->layers[i], &p->batch));
    p->k->zero(p->device, p->grad.at, (size_t)p->batch.tasks * p->len * p->k->elem);
    p->norm.no_tangents = true;
    pass_forward(p);
    pass_loss(p);
    pass_backward(p);
}

/* The passes of set k, which works in TF32, away from the kinks that its roundings
 * would cross; copies: so many tasks, all the spec's one; cut: tasks that work is cut for. */
static int tf32_differs(const struct kernels *k, const struct spec *s, int copies, int cut)
{
    static struct results want;
    static struct shifts shifts;
    struct spec many = *s;
    struct pass p;
    int bad = 0;
    if (copies > 1 && light()) { /* the same kernels, but for one task */
        cut = copies;
        copies = 1;
    }
    pass_open_as(&p, &kernels_ref64, s, (struct manner){.flat = s->pool});
    settle(&p, &shifts);
    run_passes(&p);
    pass_results(&p, &want);
    pass_close(&p);
    many.tasks *= copies;
    pass_open_as(&p, k, &many,
                 (struct manner){.tf32 = true, .cycle = copies > 1, .flat = s->pool, .tasks = cut});
    for (int i = 0; i < p.n_layers; i++)
        if (p.layers[i].relu)
            put_shifts(&p, &shifts, i);
    run_passes(&p);
    bad += tasks_differ(&p, &want, copies);
    run_without_tangents(&p);
    bad += tasks_differ(&p, &want, copies);
    if (bad)
        fprintf(stderr, "(%s: no value nearer than %.1g to its kink)\n", s->name, shifts.margin);
    pass_close(&p);
    shifts_free(&shifts);
    results_free(&want);
    return bad;
}

/* What GPUs have kernels of their own for.  COPIES of a single task make a shard. */
enum { COPIES = 32 };
/* clang-format off */
#define OMNIGLOT 28, 28, 1, {64, 64, 64, 64}, false, {5}
#define MINI 84, 84, 3, {32, 32, 32, 32}, false, {5}
/* clang-format on */
static const struct spec full[] = {
    {"omniglot, 5 images", OMNIGLOT, 1, 5, {0}, WHOLE, 0, 0, 0, 41},
    {"omniglot, 10 images", OMNIGLOT, 1, 10, {0}, WHOLE, 0, 0, 0, 42},
    {"omniglot, 40 images", OMNIGLOT, 1, 40, {0}, WHOLE, 0, 0, 0, 46},
    {"mini-imagenet, 5 images", MINI, 1, 5, {0}, WHOLE, 0, 0, 0, 43},
    {"omniglot, unequal tasks", OMNIGLOT, 3, 26, {26, 3, 11}, 5, 1, 0, 1, 44},
    {"mini-imagenet, unequal tasks", MINI, 3, 6, {1, 6, 3}, 2, 1, 0, 1, 45},
    {"omniglot, small unequal tasks", OMNIGLOT, 3, 5, {5, 4, 5}, 4, 1, 0, 1, 51},
};
enum { FULL = sizeof full / sizeof *full };

/* That the cases ask no more than TF32 can give. */
TEST(plain_loops_in_tf32_agree)
{
    int bad = 0;
    if (light())
        SKIP("no kernels of a GPU");
    for (int i = 0; i < FULL; i++)
        if (full[i].n <= 5) /* those of more images agree too, and take half a minute */
            bad += tf32_differs(&kernels_tf32, &full[i], 1, 0);
    CHECK_EQ(bad, 0);
}

TEST(tf32_agrees_away_from_kinks)
{
    int bad = 0, sets = 0;
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        if (!k->batched || !set_usable(k))
            continue;
        sets++;
        for (int i = 0; i < SPECS; i++)
            if (!left_out(&specs[i]) && !(light() && specs[i].conv[0] < 32)) /* those in fp32 */
                bad += tf32_differs(k, &specs[i], 1, 0);
        for (int i = 0; i < FULL; i++)
            if (full[i].tasks == 1 || !light()) /* else below */
                bad += tf32_differs(k, &full[i], full[i].tasks > 1 ? 1 : COPIES, 0);
        bad += tf32_differs(k, &full[0], 8 * COPIES, 0); /* blocks come in turns */
        for (int i = 0; i < FULL; i++) /* as in a lockstep group whose others are not there */
            if (full[i].tasks > 1)
                bad += tf32_differs(k, &full[i], 1, full[i].n > 5 ? COPIES : 8 * COPIES);
    }
    if (!sets)
        SKIP("no GPU");
    CHECK_EQ(bad, 0);
}

/* More tasks, each with weights of its own, than a GPU has room for at once; or fewer, for
 * FEW of its multiprocessors. */
static const struct spec many_tasks[] = {
    {"omniglot, many tasks", OMNIGLOT, 28, 5, {0}, WHOLE, 1, 0, 0, 47},
    {"omniglot, many unequal tasks", OMNIGLOT, 28, 9, {9, 1, 4, 6}, WHOLE, 1, 0, 1, 48},
    {"mini-imagenet, many tasks", MINI, 28, 5, {0}, WHOLE, 1, 0, 0, 49},
};
enum {
    MANY_TASKS = sizeof many_tasks / sizeof *many_tasks,
    TIMES = 4, /* 112 tasks: first layers have kernels for 99 and more, on an H200 */
    FEW = 16
};

static struct spec many_at(int i)
{
    struct spec s = many_tasks[i];
    if (light())
        s.tasks = 6;
    return s;
}

static struct manner with_many(int tasks)
{
    return (struct manner){.tf32 = true, .tasks = tasks, .processors = light() ? FEW : 0};
}

/* How many of many tasks do not have the bytes that they have when there are few. */
static int many_differ(const struct kernels *k, const struct spec *s)
{
    static struct results want, got;
    struct spec many = *s;
    struct pass few, all;
    int bad = 0;
    many.tasks *= TIMES;
    struct manner manner = with_many(many.tasks);
    pass_open_as(&few, k, s, manner);
    run_without_tangents(&few);
    manner.cycle = s->tasks;
    pass_open_as(&all, k, &many, manner);
    run_without_tangents(&all);
    for (int task = 5; task < many.tasks; task += 11) {
        pass_task_results(&few, &want, task % s->tasks);
        pass_task_results(&all, &got, task);
        bad += results_differ(s->name, k->name, &got, &want, 0) > 0;
        results_free(&want);
        results_free(&got);
    }
    pass_close(&all);
    pass_close(&few);
    return bad;
}

/* How much differs, over all specs of many tasks and sets that take them together; -1: there is no
 * such set. */
static int over_many(int (*differs)(const struct kernels *k, const struct spec *s))
{
    int bad = 0, sets = 0;
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        if (!k->batched || !set_usable(k))
            continue;
        sets++;
        for (int i = 0; i < MANY_TASKS; i++) {
            struct spec spec = many_at(i);
            bad += differs(k, &spec);
        }
    }
    return sets ? bad : -1;
}

TEST(a_task_does_not_depend_on_those_beside_it)
{
    int bad = over_many(many_differ);
    if (bad < 0)
        SKIP("no GPU");
    CHECK_EQ(bad, 0);
}

/* The step that backward_step takes, or its parts one by one: to results. */
static void take_step(struct pass *p, bool whole, struct descent *step, struct results *r)
{
    const struct kernels *k = p->k;
    int tasks = p->batch.tasks;
    size_t bytes = (size_t)tasks * p->len * k->elem;
    k->zero(p->device, step->to.at, bytes);
    if (step->moved.at)
        k->zero(p->device, step->moved.at, bytes);
    pass_forward(p);
    pass_loss(p);
    if (!whole)
        pass_backward(p);
    for (int i = p->n_layers - 1; whole && i >= 0; i--)
        k->backward_step(p->device, &p->layers[i], &p->batch, p->norm,
                         i ? pass_out(p, i - 1, false) : p->x, p->theta, p->cache[i],
                         i ? pass_dout(p, i - 1, false) : NULL, p->grad, step, p->scratch);
    if (!whole && step->moved.at) {
        k->axpy(p->device, tasks, p->trained, step->moved, step->moved, step->rate, p->grad);
        k->axpy(p->device, tasks, p->trained, step->to, step->from, -1, step->moved);
    } else if (!whole) {
        k->axpy(p->device, tasks, p->trained, step->to, step->from, -step->rate, p->grad);
    }
    keep_vector(p, r, "the weights", step->to);
    if (step->moved.at)
        keep_vector(p, r, "the way", step->moved);
}

/* What of all passes, and of a step, depends on whether tasks that have equal weights share them
 * or have copies of their own. */
static int sharing_differs(const struct kernels *k, const struct spec *s)
{
    static struct results shared, copied;
    struct pass p;
    pass_open_as(&p, k, s, with_many(0));
    struct vec runs = vec_of_runs(p.theta.at, p.len, 5), own = vec_alloc(&p, true);
    struct descent step = {vec_alloc(&p, true), runs, {0}, 0.25};
    k->axpy(p.device, s->tasks, p.len, own, runs, 0, runs);
    for (int turn = 0; turn < 2; turn++) {
        struct results *r = turn ? &copied : &shared;
        p.theta = step.from = turn ? own : runs;
        run_passes(&p);
        pass_results(&p, r);
        take_step(&p, true, &step, r);
    }
    int bad = results_differ(s->name, k->name, &shared, &copied, 0);
    results_free(&shared);
    results_free(&copied);
    pass_close(&p);
    return bad;
}

TEST(tasks_may_share_weights)
{
    int bad = over_many(sharing_differs);
    if (bad < 0)
        SKIP("no GPU");
    CHECK_EQ(bad, 0);
}

/* Padding of a set's own must hold zeros, or norms of vectors would count it. */
TEST(a_vector_holds_nothing_but_its_tensors)
{
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        for (int i = 0; set_usable(k) && i < 4; i++) {
            static struct results r;
            struct pass p;
            pass_open(&p, k, &specs[i]);
            pass_forward(&p);
            pass_loss(&p);
            pass_backward(&p);
            keep_vector(&p, &r, "grad", p.grad);
            double sum = 0, all = k->dot(p.device, p.len, p.grad.at, p.grad.at);
            for (size_t at = 0; at < r.item[0].len; at++) /* all tensors together */
                sum += (double)r.item[0].at[at] * r.item[0].at[at];
            results_free(&r);
            pass_close(&p);
            CHECK_NEAR(all, sum, 1e-5 * sum);
        }
    }
}

/* Running a pass again, in memory that holds the last one, gives the same bytes. */
static int repeat_differs(const struct kernels *k, const struct spec *s, bool tf32)
{
    static struct results first, again;
    struct pass p;
    pass_open_as(&p, k, s, (struct manner){.tf32 = tf32});
    for (int turn = 0; turn < 2; turn++) {
        run_passes(&p);
        pass_results(&p, turn ? &again : &first);
    }
    int bad = results_differ(s->name, k->name, &again, &first, 0);
    results_free(&first);
    results_free(&again);
    pass_close(&p);
    return bad;
}

TEST(passes_leave_nothing_behind)
{
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        for (int i = 1; set_usable(k) && i < SPECS; i += 5)
            if (!left_out(&specs[i]))
                CHECK_EQ(repeat_differs(k, &specs[i], false), 0);
        for (int i = 0; k->batched && set_usable(k) && i < (light() ? 1 : FULL); i++)
            CHECK_EQ(repeat_differs(k, &full[i], true), 0);
    }
}

/* moved: the step counts its way; last: nobody will ask for tangents. */
static int step_differs(const struct kernels *k, const struct spec *s, bool moved, bool last,
                        struct manner manner)
{
    static struct results want, got;
    struct pass p;
    pass_open_as(&p, k, s, manner);
    struct descent step = {vec_alloc(&p, true), p.theta, {0}, 0.25};
    if (moved)
        step.moved = vec_alloc(&p, true);
    p.norm.no_tangents = last;
    take_step(&p, true, &step, &got);
    take_step(&p, false, &step, &want);
    int bad = results_differ(s->name, k->name, &got, &want, 0);
    results_free(&want);
    results_free(&got);
    pass_close(&p);
    return bad;
}

TEST(a_step_is_a_gradient_and_a_sum)
{
    int sets = 0;
    for (int s = 0; kernels_at(s); s++) {
        const struct kernels *k = kernels_at(s);
        if (!k->backward_step || !set_usable(k))
            continue;
        sets++;
        for (int i = 0; i < SPECS; i++)
            if (!left_out(&specs[i]))
                CHECK_EQ(step_differs(k, &specs[i], i % 2, i % 2, (struct manner){0}), 0);
        for (int i = 0; i < FULL; i++)
            if (!left_out(&full[i]))
                CHECK_EQ(step_differs(k, &full[i], i % 2, i % 2, (struct manner){.tf32 = true}), 0);
        for (int i = 0; i < 2 * MANY_TASKS; i += light() ? 2 : 1) {
            struct spec many = many_at(i / 2);
            many.tasks *= i < 2 ? TIMES : 1 + i % 2; /* one task a block, and several */
            CHECK_EQ(step_differs(k, &many, i % 2, true, with_many(0)), 0);
            if (i % 2 == 0)
                CHECK_EQ(step_differs(k, &many, false, false, with_many(0)), 0);
        }
    }
    if (!sets)
        SKIP("no set takes steps of its own");
}

TESTS(T(every_set_agrees_with_the_specification), T(plain_loops_in_tf32_agree),
      T(tf32_agrees_away_from_kinks), T(a_task_does_not_depend_on_those_beside_it),
      T(tasks_may_share_weights), T(a_vector_holds_nothing_but_its_tensors),
      T(passes_leave_nothing_behind), T(a_step_is_a_gradient_and_a_sum))
