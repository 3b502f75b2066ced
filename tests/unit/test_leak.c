/* test_leak.c - no label leaks, whatever the strategy, the budget and the seed.
 *
 * Thousands of tasks are bought and the purchases checked against what the ledger's
 * rows say, computed anew here.
 */
#include "test.h"
#include "pixel_model.h"
#include "mete.h"
#include "data/glyphs.h"

#include <unistd.h>

enum { MOST = 400 };
#ifdef __OPTIMIZE__
enum { SEEDS = 2 };
#else
enum { SEEDS = 1 }; /* sanitizers take their time */
#endif

/* One way to shop. */
struct scene {
    const struct dataset *d;
    const char *strategy;
    struct budget_settings budget;
    double cap;
    int ways, shots, threads;
    uint64_t seed;
    const double *price; /* (items) */
};

struct basket {
    struct tasks *tasks;
    struct ledger *ledger;
    struct episode episodes[MOST];
    int bought;
    const char *wrong;
};

static int shop(const struct scene *s, struct basket *b)
{
    struct task_settings settings;
    struct bench bench = {"glyphs", s->ways, s->shots, 0};
    struct labeller labeller = {0};
    struct threads *pool = NULL;
    struct pixel_model pixels;
    param_defaults(task_params, &settings);
    int err = tasks_open(&b->tasks, s->d, &bench, &settings, s->seed);
    if (!err)
        err = ledger_open(&b->ledger, b->tasks, &s->budget, s->cap, true);
    if (!err)
        err = labeller_open(&labeller, s->strategy);
    if (!err)
        err = threads_open(&pool, s->threads);
    if (err)
        return err;
    pixel_model_init(&pixels, s->d, b->ledger, tasks_ways(b->tasks));
    struct learner learner = pixel_as_learner(&pixels);
    int64_t count = tasks_count(b->tasks, SPLIT_TRAIN);
    struct label_request q = {.tasks = b->tasks,
                              .n = count < MOST ? (int)count : MOST,
                              .ledger = b->ledger,
                              .learner = &learner,
                              .threads = pool};
    err = labeller_buy(&labeller, &q, b->episodes, &b->bought);
    b->wrong = pixels.wrong;
    learner_forget(&learner);
    pixel_model_release(&pixels);
    labeller_close(&labeller);
    threads_close(pool);
    return err;
}

static void empty(struct basket *b)
{
    for (int i = 0; i < b->bought; i++)
        episode_release(&b->episodes[i]);
    ledger_close(b->ledger);
    tasks_close(b->tasks);
    *b = (struct basket){0};
}

/* Replays the rows: each label of each episode is there once, at the price the
 * settings say.  Returns what is wrong, or NULL. */
static const char *audit(const struct scene *s, const struct basket *b, uint8_t *paid)
{
    const struct ledger_row *row;
    int64_t n = ledger_rows(b->ledger, &row), labels = 0;
    double total = 0;
    int *next = mem_array(MOST, sizeof *next), *queried = mem_array(MOST, sizeof *queried);
    const char *wrong = NULL;
    for (int64_t i = 0; i < n && !wrong; i++) {
        int t = (int)row[i].task;
        const struct episode *e = &b->episodes[t];
        bool query = row[i].round == ROUND_QUERY;
        int at = query ? queried[t]++ : next[t]++;
        int32_t item = query ? e->query[at] : e->support[at];
        int32_t label = query ? e->query_label[at] : e->support_label[at];
        bool charged = !query || s->budget.charge == CHARGE_SUPPORT_QUERY;
        bool again = s->budget.unit == UNIT_UNIQUE && paid[item];
        double price = charged && !again ? s->price[item] : 0;
        struct task task = {0};
        task_draw(b->tasks, SPLIT_TRAIN, t, &task);
        total += price;
        if (t >= b->bought || item != row[i].item || row[i].klass != s->d->y[item])
            wrong = "a row of no episode";
        else if (task.classes[label] != s->d->y[item])
            wrong = "a label that is not the item's";
        else if (fabs(money_labels(row[i].cost) - price) > 1e-9 ||
                 fabs(money_labels(row[i].total) - total) > 1e-6)
            wrong = "a price that is not the item's";
        else if (s->cap > 0 && money_labels(row[i].total) > s->cap)
            wrong = "a row past the cap";
        if (charged)
            paid[item] = 1;
        task_release(&task);
    }
    for (int t = 0; t < b->bought && !wrong; t++) {
        labels += b->episodes[t].n_support + b->episodes[t].n_query;
        if (next[t] != b->episodes[t].n_support || queried[t] != b->episodes[t].n_query)
            wrong = "an episode with labels that are not in the ledger";
    }
    if (!wrong && (labels != ledger_totals(b->ledger).labels || n != labels))
        wrong = "labels that do not add up";
    free(next);
    free(queried);
    return wrong;
}

/* What is left would not surely pay for the next task. */
static bool ended_in_time(const struct scene *s, const struct basket *b, const uint8_t *paid)
{
    struct task task = {0};
    if (b->bought == (int)tasks_count(b->tasks, SPLIT_TRAIN) || b->bought == MOST || s->cap == 0)
        return true;
    task_draw(b->tasks, SPLIT_TRAIN, b->bought, &task);
    double most = 0, *price = mem_array((size_t)task.n_pool, sizeof *price);
    for (int i = 0; i < task.n_pool; i++)
        price[i] = s->budget.unit == UNIT_UNIQUE && paid[task.pool[i]] ? 0 : s->price[task.pool[i]];
    for (int k = 0; k < task.labels; k++) {
        int best = 0;
        for (int i = 1; i < task.n_pool; i++)
            best = price[i] > price[best] ? i : best;
        most += price[best];
        price[best] = -1;
    }
    for (int i = 0; i < task.n_query && s->budget.charge == CHARGE_SUPPORT_QUERY; i++)
        most += s->budget.unit == UNIT_UNIQUE && paid[task.query[i]] ? 0 : s->price[task.query[i]];
    free(price);
    task_release(&task);
    return money_labels(ledger_totals(b->ledger).spent) + most > s->cap;
}

static bool same_baskets(const struct basket *a, const struct basket *b)
{
    const struct ledger_row *x, *y;
    int64_t n = ledger_rows(a->ledger, &x), m = ledger_rows(b->ledger, &y);
    return a->bought == b->bought && n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

/* Buys with one thread and with four, and audits. */
static int64_t check_scene(struct scene *s)
{
    static struct basket one, four;
    uint8_t *paid = mem_array((size_t)s->d->items, 1);
    const char *wrong = NULL;
    s->threads = 1;
    int err = shop(s, &one);
    s->threads = 4;
    if (!err)
        err = shop(s, &four);
    if (err)
        wrong = mete_errmsg();
    else if (one.wrong)
        wrong = one.wrong;
    else if (!same_baskets(&one, &four))
        wrong = "one thread and four bought differently";
    else if (!(wrong = audit(s, &one, paid)) && !ended_in_time(s, &one, paid))
        wrong = "ended while there was money for a task";
    int64_t bought = one.bought;
    if (wrong) {
        fprintf(stderr, "%s, %d ways, charge %d, unit %d, cost %s, seed %d: %s\n", s->strategy,
                s->ways, s->budget.charge, s->budget.unit, s->budget.cost, (int)s->seed, wrong);
        test_failed = 1;
    }
    empty(&one);
    empty(&four);
    free(paid);
    return bought;
}

/* Prices by class or by item, as a file that budget.cost reads. */
static void write_prices(const char *path, const struct dataset *d, bool by_class, double *price)
{
    FILE *f = fopen(path, "w");
    for (int c = 0; by_class && c < d->classes; c++)
        fprintf(f, "%d,%g\n", c, 0.5 + c % 7 * 0.25);
    for (int64_t i = 0; i < d->items; i++) {
        price[i] = by_class ? 0.5 + d->y[i] % 7 * 0.25 : (double)(i * 37 % 11) * 0.3;
        if (!by_class)
            fprintf(f, "%g\n", price[i]);
    }
    fclose(f);
}

static void check_all(const char *name, int ways, int shots, double cap)
{
    struct dataset *d = NULL;
    int64_t bought = 0;
    char path[TEMP_SIZE];
    close(mkstemp(temp_name(path, "mete-prices-XXXXXX")));
    CHECK_OK(glyphs_make(&d, name));
    double *price = mem_array((size_t)d->items, sizeof *price);
    for (int costs = 0; costs < 4; costs++) {
        char cost[PARAM_TEXT_SIZE] = "1";
        for (int64_t i = 0; i < d->items; i++)
            price[i] = costs == 1 ? 0.1 : 1;
        if (costs == 1)
            snprintf(cost, sizeof cost, "0.1");
        if (costs >= 2) {
            write_prices(path, d, costs == 2, price);
            snprintf(cost, sizeof cost, "%s:%s", costs == 2 ? "class" : "item", path);
        }
        for (int i = 0; label_at(i); i++)
            for (int rules = 0; rules < 4; rules++)
                for (uint64_t seed = 0; seed < SEEDS; seed++) {
                    struct scene s = {.d = d,
                                      .strategy = label_at(i)->name,
                                      .ways = ways,
                                      .shots = shots,
                                      .seed = seed,
                                      .price = price,
                                      .cap = costs == 1 ? cap / 10 : cap};
                    param_defaults(budget_params, &s.budget);
                    s.budget.charge = rules % 2;
                    s.budget.unit = rules / 2;
                    snprintf(s.budget.cost, sizeof s.budget.cost, "%s", cost);
                    bought += check_scene(&s);
                }
    }
    unlink(path);
    free(price);
    dataset_close(d);
    CHECK(bought > 1500 * SEEDS);
}

TEST(few_shot_tasks_show_only_labels_that_were_bought)
{
    check_all("glyphs:classes=60,drawers=10", 5, 2, 173);
}

TEST(user_tasks_show_only_labels_that_were_bought)
{
    check_all("glyphs-users:classes=6,users=40,images=20", 6, 2, 313);
}

TEST(parts_never_share_a_class_or_a_user)
{
    static const struct {
        const char *name;
        int ways;
    } sets[] = {{"glyphs:classes=60,drawers=10", 5}, {"glyphs-users:classes=6,users=40", 6}};
    for (int k = 0; k < 2; k++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            struct dataset *d = NULL;
            struct tasks *t = NULL;
            struct task task = {0};
            struct task_settings s;
            int8_t of[60], item_of[600 * 6] = {0};
            memset(of, -1, sizeof of);
            param_defaults(task_params, &s);
            s.split_seed = (int)seed;
            CHECK_OK(glyphs_make(&d, sets[k].name));
            CHECK_OK(tasks_open(&t, d, &(struct bench){"", sets[k].ways, 1, 0}, &s, seed));
            for (int part = 0; part < SPLIT_PARTS; part++)
                for (int i = 0; i < 200; i++) {
                    CHECK_OK(task_draw(t, part, i, &task));
                    for (int c = 0; c < task.ways; c++) {
                        int group = task.user >= 0 ? task.user : task.classes[c];
                        CHECK(of[group] == -1 || of[group] == part);
                        of[group] = (int8_t)part;
                    }
                    for (int p = 0; p < task.n_pool; p++) {
                        CHECK(item_of[task.pool[p]] == 0 || item_of[task.pool[p]] == part + 1);
                        item_of[task.pool[p]] = (int8_t)(part + 1);
                    }
                }
            task_release(&task);
            tasks_close(t);
            dataset_close(d);
        }
}

/* The first round's picks of every user's task, in the ledger's order. */
static int64_t first_picks(const struct dataset *d, const char *strategy, int32_t *out, int room)
{
    struct scene s = {.d = d, .strategy = strategy, .ways = 6, .shots = 1, .threads = 1};
    static struct basket b;
    const struct ledger_row *row;
    int64_t n = 0;
    param_defaults(budget_params, &s.budget);
    if (shop(&s, &b) != 0)
        return -1;
    int64_t rows = ledger_rows(b.ledger, &row);
    for (int64_t i = 0; i < rows && n < room; i++)
        if (row[i].round == 0)
            out[n++] = row[i].item;
    empty(&b);
    return n;
}

TEST(labels_that_were_not_bought_make_no_difference)
{
    /* The same pixels with every user's labels exchanged: before anything is labelled,
     * all but the oracle must choose the same points. */
    struct dataset *d = NULL;
    enum { ROOM = 4000 };
    static int32_t before[ROOM], after[ROOM];
    CHECK_OK(glyphs_make(&d, "glyphs-users:classes=6,users=40,images=20"));
    int32_t *y = mem_array((size_t)d->items, sizeof *y);
    struct dataset other = *d;
    for (int64_t i = 0; i < d->items; i++)
        y[i] = (d->y[i] + 1 + (int32_t)(i % 5)) % 6;
    other.y = y;
    for (int i = 0; label_at(i); i++) {
        const char *name = label_at(i)->name;
        int64_t n = first_picks(d, name, before, ROOM), m = first_picks(&other, name, after, ROOM);
        CHECK(n > 100);
        bool same = n == m && memcmp(before, after, (size_t)n * sizeof *before) == 0;
        CHECK_EQ(same, !(label_at(i)->needs & LABEL_ORACLE));
    }
    free(y);
    dataset_close(d);
}

TEST(rounds_adapt_to_what_was_bought_before)
{
    static const struct {
        const char *setting;
        int rounds, sizes[5];
    } cases[] = {
        {"labels.round=0", 3, {0, 5, 10}}, /* 15 labels by ways */
        {"labels.round=4", 4, {0, 4, 8, 12}},
        {"labels.round=100", 1, {0}},
    };
    for (int k = 0; k < 3; k++) {
        struct dataset *d = NULL;
        struct tasks *t = NULL;
        struct ledger *ledger = NULL;
        struct labeller l = {0};
        struct param_set set = {0};
        struct task_settings s;
        struct budget_settings budget;
        struct pixel_model pixels;
        struct episode e[3];
        int n = 0;
        param_defaults(task_params, &s);
        param_defaults(budget_params, &budget);
        CHECK_OK(glyphs_make(&d, "glyphs:classes=60,drawers=10"));
        CHECK_OK(tasks_open(&t, d, &(struct bench){"", 5, 3, 0}, &s, 1));
        CHECK_OK(ledger_open(&ledger, t, &budget, 0, true));
        CHECK_OK(labeller_open(&l, "active"));
        labeller_params(&l, &set);
        CHECK_OK(param_set_all(&set, (const char *const[]){cases[k].setting, NULL}));
        pixel_model_init(&pixels, d, ledger, 5);
        struct learner learner = pixel_as_learner(&pixels);
        struct label_request q = {.tasks = t, .n = 3, .ledger = ledger, .learner = &learner};
        CHECK_OK(labeller_buy(&l, &q, e, &n));
        CHECK_EQ(pixels.calls, cases[k].rounds);
        for (int i = 0; i < cases[k].rounds; i++)
            CHECK_EQ(pixels.sizes[i], cases[k].sizes[i]);
        CHECK(!pixels.wrong);
        const struct ledger_row *row;
        int last = ROUND_QUERY;
        for (int64_t i = 0, rows = ledger_rows(ledger, &row); i < rows; i++)
            last = row[i].round > last ? row[i].round : last;
        CHECK_EQ(last, cases[k].rounds - 1);
        for (int i = 0; i < n; i++)
            episode_release(&e[i]);
        learner_forget(&learner);
        pixel_model_release(&pixels);
        labeller_close(&l);
        ledger_close(ledger);
        tasks_close(t);
        dataset_close(d);
    }
}

/* Distinct classes among the labels of a 5-way 1-shot task, on average. */
static double coverage(const struct dataset *d, const char *strategy)
{
    struct scene s = {.d = d, .strategy = strategy, .ways = 5, .shots = 1, .threads = 1};
    static struct basket b;
    double seen = 0;
    param_defaults(budget_params, &s.budget);
    if (shop(&s, &b) != 0)
        return -1;
    for (int i = 0; i < b.bought; i++) {
        int mask = 0;
        for (int k = 0; k < b.episodes[i].n_support; k++)
            mask |= 1 << b.episodes[i].support_label[k];
        seen += __builtin_popcount((unsigned)mask);
    }
    seen /= b.bought;
    empty(&b);
    return seen;
}

TEST(active_labels_more_classes_than_random)
{
    struct dataset *d = NULL;
    CHECK_OK(glyphs_make(&d, "glyphs:classes=100"));
    double random = coverage(d, "random"), active = coverage(d, "active");
    CHECK_NEAR(random, 3.4, 0.15);
    CHECK_NEAR(coverage(d, "stratified"), 5, 0);
    CHECK(active > random + 0.3); /* standard error of each: 0.035 */
    dataset_close(d);
}

static int twice(const void *state, const struct label_view *v, int want, struct rng *r,
                 int32_t *picks)
{
    (void)state;
    (void)v;
    (void)r;
    for (int i = 0; i < want; i++)
        picks[i] = 7;
    return want;
}

static int too_far(const void *state, const struct label_view *v, int want, struct rng *r,
                   int32_t *picks)
{
    (void)state;
    (void)r;
    for (int i = 0; i < want; i++)
        picks[i] = v->n - want + 1 + i;
    return want;
}

TEST(a_strategy_that_picks_wrongly_is_refused_and_nothing_is_bought)
{
    const struct label_ops bad[] = {{.name = "twice", .choose = twice},
                                    {.name = "far", .choose = too_far}};
    struct dataset *d = NULL;
    struct tasks *t = NULL;
    struct task_settings s;
    struct budget_settings budget;
    param_defaults(task_params, &s);
    param_defaults(budget_params, &budget);
    CHECK_OK(glyphs_make(&d, "glyphs:classes=60,drawers=10"));
    CHECK_OK(tasks_open(&t, d, &(struct bench){"", 5, 1, 0}, &s, 1));
    for (int i = 0; i < 2; i++) {
        struct ledger *ledger = NULL;
        struct labeller l = {.ops = &bad[i]};
        struct episode e[1];
        int n = 0;
        CHECK_OK(ledger_open(&ledger, t, &budget, 100, true));
        struct label_request q = {.tasks = t, .n = 1, .ledger = ledger};
        CHECK_EQ(labeller_buy(&l, &q, e, &n), METE_EINVAL);
        CHECK_HAS(mete_errmsg(), "cannot be bought");
        CHECK_EQ(ledger_totals(ledger).labels, 0);
        labeller_close(&l);
        CHECK_OK(labeller_open(&l, "random")); /* what was set aside is free again */
        q.n = 1;
        CHECK_OK(labeller_buy(&l, &q, e, &n));
        CHECK_EQ(n, 1);
        episode_release(&e[0]);
        labeller_close(&l);
        ledger_close(ledger);
    }
    tasks_close(t);
    dataset_close(d);
}

static int predict_nan(void *user, int tasks, const struct items *query,
                       const struct predicted *out)
{
    int err = pixel_predict(user, tasks, query, out);
    out->probs[0][17] = NAN; /* always asked for: entropies are made of them */
    return err;
}

TEST(a_learner_that_diverged_does_not_choose)
{
    struct dataset *d = NULL;
    struct tasks *t = NULL;
    struct ledger *ledger = NULL;
    struct labeller l = {0};
    struct task_settings s;
    struct budget_settings budget;
    struct pixel_model pixels;
    struct episode e[1];
    int n = 0;
    param_defaults(task_params, &s);
    param_defaults(budget_params, &budget);
    CHECK_OK(glyphs_make(&d, "glyphs:classes=60,drawers=10"));
    CHECK_OK(tasks_open(&t, d, &(struct bench){"", 5, 1, 0}, &s, 1));
    CHECK_OK(ledger_open(&ledger, t, &budget, 100, true));
    pixel_model_init(&pixels, d, ledger, 5);
    struct learner learner = pixel_as_learner(&pixels);
    const struct learner_ops nan = {.name = "nan", .adapt = pixel_adapt, .predict = predict_nan};
    learner.ops = &nan;
    for (int i = 0; label_at(i); i++) {
        struct label_request q = {.tasks = t, .n = 1, .ledger = ledger};
        if (!(label_at(i)->needs & LABEL_LEARNER))
            continue;
        CHECK_OK(labeller_open(&l, label_at(i)->name));
        CHECK_EQ(labeller_buy(&l, &q, e, &n), METE_EINVAL); /* without a learner */
        q.learner = &learner;
        CHECK_EQ(labeller_buy(&l, &q, e, &n), METE_EDIVERGE);
        CHECK_EQ(ledger_totals(ledger).labels, 0);
        labeller_close(&l);
    }
    learner_forget(&learner);
    pixel_model_release(&pixels);
    ledger_close(ledger);
    tasks_close(t);
    dataset_close(d);
}

TESTS(T(few_shot_tasks_show_only_labels_that_were_bought),
      T(user_tasks_show_only_labels_that_were_bought), T(parts_never_share_a_class_or_a_user),
      T(labels_that_were_not_bought_make_no_difference), T(rounds_adapt_to_what_was_bought_before),
      T(active_labels_more_classes_than_random),
      T(a_strategy_that_picks_wrongly_is_refused_and_nothing_is_bought),
      T(a_learner_that_diverged_does_not_choose))
