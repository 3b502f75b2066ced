/* test_given.c - a learner and a strategy of another program: what they are shown, that a run with
 * them resumes, and what is refused.
 */
#include "files.h"
#include "mete_learner.h"
#include "test.h"

#include <math.h>

/* A learner whose model is the number of its steps, and which is right as often as it has taken
 * some: so a run that lost one has other results. */
struct counting {
    struct mete_learner_spec spec;
    int32_t steps;
    int32_t adapted[256], label[256], n; /* the support */
};
static struct behaviour {
    int stop_at, code; /* a step that fails, and how */
    int rows;          /* predicted too few; -1: NaN, -2: no probabilities */
    int features;
    int fails_silently;
    int loss;                            /* 1: its loss is not a number */
    int load;                            /* 1: it refuses what it saved */
    int tasks, labelled, opened, closed; /* what was seen */
    double lr;
    char word[32], text[32];
} now;

static const struct mete_value *value(const struct mete_learner_spec *spec, const char *name)
{
    const struct mete_value *v = spec->settings;
    while (v->name && strcmp(v->name, name) != 0)
        v++;
    return v;
}

static int counting_open(void *user, const struct mete_learner_spec *spec,
                         struct mete_learner_facts *facts, void **state)
{
    struct counting *c = mem_alloc(sizeof *c);
    if (user != &now)
        return mete_fail(METE_EINVAL, "another user");
    c->spec = *spec;
    now.lr = value(spec, "lr")->number;
    snprintf(now.word, sizeof now.word, "%s", value(spec, "mode")->text);
    snprintf(now.text, sizeof now.text, "%s", value(spec, "version")->text);
    facts->features = now.features;
    now.opened++;
    *state = c;
    return 0;
}

static int counting_step(void *state, const struct mete_labelled_task *tasks, int32_t n,
                         double *loss)
{
    struct counting *c = state;
    for (int i = 0; i < n; i++) {
        now.tasks++;
        now.labelled += tasks[i].support.n + tasks[i].query.n;
        for (int k = 0; k < tasks[i].query.n; k++)
            if (tasks[i].query.label[k] < 0 || tasks[i].query.label[k] >= c->spec.ways)
                return mete_fail(METE_EINVAL, "a label out of range");
    }
    if (now.stop_at && c->steps + 1 == now.stop_at && now.fails_silently)
        return now.code;
    if (now.stop_at && c->steps + 1 == now.stop_at)
        return mete_fail(now.code, "a sentence\nof two lines");
    c->steps++;
    *loss = now.loss ? (double)NAN : 1.0 / c->steps;
    return 0;
}

static int counting_adapt(void *state, const struct mete_items *support)
{
    struct counting *c = state;
    c->n = support->n;
    for (int i = 0; i < support->n && i < 256; i++) {
        c->adapted[i] = support->item[i];
        c->label[i] = support->label[i];
    }
    return 0;
}

/* The label of the nearest support point, with a confidence that the steps decide. */
static int counting_predict(void *state, const struct mete_items *query, float *probs, float *reps)
{
    struct counting *c = state;
    int d = c->spec.h * c->spec.w * c->spec.c, ways = c->spec.ways;
    float *x = mem_array(2 * (size_t)d, sizeof *x);
    if (query->label)
        return mete_fail(METE_EINVAL, "the labels of a query");
    for (int i = 0; i < query->n; i++) {
        if (now.rows > 0 && i >= query->n - now.rows)
            break;
        int chosen = (query->item[i] + c->steps) % ways;
        double least = INFINITY;
        mete_learner_read(&c->spec, &query->item[i], 1, x);
        for (int k = 0; k < c->n; k++) {
            double far = 0;
            mete_learner_read(&c->spec, &c->adapted[k], 1, x + d);
            for (int j = 0; j < d; j++)
                far += fabs((double)(x[j] - x[d + j]));
            if (far < least && (query->item[i] + k) % 12 < c->steps)
                least = far, chosen = c->label[k];
        }
        for (int k = 0; k < ways; k++)
            probs[i * ways + k] = k == chosen ? 0.75f : 0.25f / (float)(ways - 1);
        if (now.rows == -1)
            probs[i * ways] = NAN;
        if (now.rows == -2)
            probs[i * ways] += 1;
        for (int k = 0; reps && k < now.features; k++)
            reps[i * now.features + k] = x[(k * 37) % d];
    }
    free(x);
    return 0;
}

static int counting_save(void *state, int32_t part, mete_put_fn *put, void *to)
{
    struct counting *c = state;
    if (part == METE_LEARNER_MODEL)
        put(to, &c->steps, sizeof c->steps);
    for (int i = 0; i < c->steps; i++) /* a length of its own at each step, in several pieces */
        put(to, "x", 1);
    return 0;
}

static int counting_load(void *state, int32_t part, const void *bytes, size_t n)
{
    struct counting *c = state;
    size_t head = part == METE_LEARNER_MODEL ? sizeof c->steps : 0;
    if (now.load)
        return mete_fail(METE_EFORMAT, "it is of another version");
    if (n < head)
        return mete_fail(METE_EFORMAT, "too short");
    if (head)
        memcpy(&c->steps, bytes, head);
    return n - head == (size_t)c->steps ? 0 : mete_fail(METE_EFORMAT, "bytes of another state");
}

static void counting_close(void *state)
{
    now.closed++;
    free(state);
}

static const struct mete_param params[] = {
    {"lr", METE_REAL, 0.5, 0, 1, NULL, "a rate"},
    {"mode", METE_CHOICE, 1, 0, 0, "slow|fast", "a word"},
    {NULL, 0, 0, 0, 0, NULL, NULL},
};
static const struct mete_learner_ops counting = {
    .size = sizeof counting,
    .name = "counting",
    .summary = "counts its steps",
    .version = "v1",
    .params = params,
    .open = counting_open,
    .step = counting_step,
    .adapt = counting_adapt,
    .predict = counting_predict,
    .save = counting_save,
    .load = counting_load,
    .close = counting_close,
};

/* A strategy that takes the last positions there are, and looks at what it needs. */
static int32_t last_ones(void *user, const struct mete_pool *p, int32_t want, int32_t *picks)
{
    int32_t n = 0, how = *(int32_t *)user;
    if (how < 0)
        return mete_fail(METE_ESTOPPED, "no more");
    for (int32_t i = 0; i < p->n && p->reps; i++)
        if (!isfinite(p->reps[i * p->features]))
            return mete_fail(METE_EINVAL, "a representation");
    for (int32_t i = p->n - 1; i >= 0 && n < want; i--)
        if (p->available[i] && p->known[i] == -1)
            picks[n++] = how == 1 ? 0 : i;
    return n;
}
static struct mete_strategy_ops last = {
    .size = sizeof last, .name = "last-ones", .needs = METE_NEEDS_PROBS, .choose = last_ones};

/* ---- running ---- */

struct seen {
    struct mete_test tests[8];
    int n;
};

static void see(void *user, const struct mete_test *t)
{
    struct seen *s = user;
    s->tests[s->n++ % 8] = *t;
}

static int train_it(const char *folder, const char *labels, struct seen *seen)
{
    static const char *const set[] = {"train.steps=12",
                                      "train.validate_every=4",
                                      "train.meta_batch=3",
                                      "train.val_tasks=8",
                                      "test.tasks=10",
                                      "test.shots=1",
                                      "test.query=2",
                                      "method.mode=slow",
                                      "method.version=v1b",
                                      "train.relabel=yes",
                                      NULL};
    const struct mete_train_options o = {.size = sizeof o,
                                         .bench = "glyphs:classes=60,drawers=10:5w-2s@200",
                                         .method = "counting",
                                         .labels = labels,
                                         .folder = scratch(folder),
                                         .set = set,
                                         .seed = 1,
                                         .threads = 2,
                                         .test = see,
                                         .user = seen};
    *seen = (struct seen){0};
    return mete_train(&o);
}

static void behave(struct behaviour b)
{
    now = b;
}

TEST(a_learner_of_ones_own_is_trained_and_tested_like_a_method)
{
    struct seen seen;
    behave((struct behaviour){.features = 3});
    CHECK_OK(mete_learner_add(&counting, &now));
    CHECK_OK(train_it("plain", "random", &seen));
    CHECK_EQ(seen.n, 2);
    CHECK_EQ(seen.tests[0].tasks, 10);
    CHECK(seen.tests[0].accuracy > seen.tests[0].before);
    CHECK_EQ(now.tasks, 36);
    CHECK_EQ(now.labelled, 36 * 15);
    CHECK_NEAR(now.lr, 0.5, 0);
    CHECK_STR(now.word, "slow");
    CHECK_STR(now.text, "v1b");
    CHECK_EQ(now.opened, now.closed);
    struct mete_model *model = NULL;
    char *file = mem_print("%s/best.safetensors", scratch("plain"));
    CHECK_EQ(mete_model_load(&model, file, NULL), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "is of learner 'counting', another program's");
    free(file);
    struct mete_fit_options fit = {
        .size = sizeof fit, .bench = "glyphs:5w-1s@200", .method = "counting", .no_folder = 1};
    CHECK_EQ(mete_fit(&fit, &model), METE_EINVAL); /* before it trains */
    CHECK_HAS(mete_errmsg(), "learner 'counting' keeps its model to itself");
    CHECK_OK(train_it("clusters", "kmeans", &seen)); /* its representations are clustered */
    CHECK_OK(mete_learner_remove("counting"));
    CHECK_EQ(train_it("gone", "random", &seen), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "no method named 'counting'");
}

TEST(a_run_that_a_learner_stopped_goes_on_to_the_same_results)
{
    struct seen whole, parts;
    CHECK_OK(mete_learner_add(&counting, &now));
    behave((struct behaviour){0});
    CHECK_OK(train_it("whole", "entropy", &whole));
    behave((struct behaviour){.stop_at = 10, .code = METE_ESTOPPED});
    CHECK_EQ(train_it("parts", "entropy", &parts), METE_ESTOPPED);
    CHECK_STR(mete_errmsg(), "learner 'counting': a sentence?of two lines");
    behave((struct behaviour){.load = 1}); /* the checkpoint stays */
    CHECK_EQ(train_it("parts", "entropy", &parts), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "learner 'counting': it is of another version");
    CHECK_EQ(now.opened, now.closed);
    behave((struct behaviour){0});
    CHECK_OK(train_it("parts", "entropy", &parts));
    CHECK(now.tasks < 12 * 3); /* not from the start, as 12 steps of 3 tasks would be */
    for (int i = 0; i < 2; i++) {
        CHECK(whole.tests[i].accuracy == parts.tests[i].accuracy);
        CHECK(whole.tests[i].loss == parts.tests[i].loss);
    }
    shell("cmp '%s' '%s'", scratch("whole/ledger.csv"), scratch("parts/ledger.csv"));
    shell("cmp '%s' '%s'", scratch("whole/metrics.jsonl"), scratch("parts/metrics.jsonl"));
    CHECK_OK(mete_learner_remove("counting"));
}

TEST(what_a_learner_answers_is_checked)
{
    static const struct {
        struct behaviour b;
        int code;
        const char *labels, *sentence;
    } bad[] = {
        {{.rows = 2}, METE_EINVAL, "random", "predict left row 8 of 10 without 5 numbers"},
        {{.rows = -1}, METE_EINVAL, "random", "predict left row 0 of 10 without 5 numbers"},
        {{.rows = -2}, METE_EINVAL, "random", "is not made of probabilities: they sum to 2"},
        {{.stop_at = 1, .code = 7}, METE_EINVAL, "random", "step returned 7"},
        {{.stop_at = 1, .code = METE_EIO}, METE_EIO, "random", "'counting': a sentence"},
        {{.stop_at = 1, .code = METE_EIO, .fails_silently = 1}, METE_EIO, "random", "step failed"},
        {{.features = 0}, METE_EINVAL, "kmeans", "labels=kmeans looks at representations"},
        {{.features = -3}, METE_EINVAL, "random", "-3 features"},
        {{.loss = 1}, METE_EDIVERGE, "random", "diverged"},
    };
    CHECK_OK(mete_learner_add(&counting, &now));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct seen seen;
        behave(bad[i].b);
        CHECK_EQ(train_it("bad", bad[i].labels, &seen), bad[i].code);
        CHECK_HAS(mete_errmsg(), bad[i].sentence);
        CHECK_EQ(now.opened, now.closed);
        shell("rm -rf '%s'", scratch("bad"), "");
    }
    CHECK_OK(mete_learner_remove("counting"));
}

TEST(a_strategy_of_ones_own_buys)
{
    struct seen seen;
    int32_t how = 0;
    behave((struct behaviour){.features = 3});
    CHECK_OK(mete_learner_add(&counting, &now));
    CHECK_OK(mete_strategy_add(&last, &how));
    CHECK_OK(train_it("last", "last-ones", &seen));
    CHECK_EQ(now.labelled, 36 * 15);
    how = 1;
    CHECK_EQ(train_it("twice", "last-ones", &seen), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "strategy 'last-ones' picked point 0");
    how = -1;
    CHECK_EQ(train_it("stopped", "last-ones", &seen), METE_ESTOPPED);
    CHECK_STR(mete_errmsg(), "strategy 'last-ones': no more");
    CHECK_OK(mete_strategy_remove("last-ones"));
    last.needs = METE_NEEDS_REPS;
    how = 0;
    CHECK_OK(mete_strategy_add(&last, &how));
    CHECK_OK(train_it("reps", "last-ones", &seen));
    CHECK_OK(mete_strategy_remove("last-ones"));
    CHECK_EQ(train_it("without", "last-ones", &seen), METE_EINVAL);
    CHECK_OK(mete_learner_remove("counting"));
}

TEST(what_cannot_be_added_is_refused)
{
    struct mete_learner_ops ops = counting;
    struct mete_param odd[2] = {{"lr", METE_REAL, 2, 0, 1, NULL, ""}};
    CHECK_OK(mete_learner_add(&counting, &now));
    CHECK_EQ(mete_learner_add(&counting, &now), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "was added before");
    CHECK_OK(mete_learner_remove("counting"));
    CHECK_EQ(mete_learner_remove("counting"), METE_EINVAL);
    ops.name = "maml";
    CHECK_EQ(mete_learner_add(&ops, NULL), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "there is a method of this name");
    ops.name = "a name";
    CHECK_EQ(mete_learner_add(&ops, NULL), METE_EINVAL);
    ops.name = "mine";
    ops.params = odd;
    CHECK_EQ(mete_learner_add(&ops, NULL), METE_EINVAL);
    CHECK_STR(mete_errmsg(), "learner 'mine': setting 'lr': its initial value 2 is not in 0..1");
    ops.params = NULL;
    ops.load = NULL;
    CHECK_EQ(mete_learner_add(&ops, NULL), METE_EINVAL);
    last.needs = 4;
    CHECK_EQ(mete_strategy_add(&last, NULL), METE_EINVAL);
    last.needs = 0;
    last.name = "random";
    CHECK_EQ(mete_strategy_add(&last, NULL), METE_EINVAL);
}

TESTS(T(a_learner_of_ones_own_is_trained_and_tested_like_a_method),
      T(a_run_that_a_learner_stopped_goes_on_to_the_same_results),
      T(what_a_learner_answers_is_checked), T(a_strategy_of_ones_own_buys),
      T(what_cannot_be_added_is_refused))
