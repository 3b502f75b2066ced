/* trial.c - from an arm, a budget and a seed to the settings of a run, and to the command. */
#include "plan/plan.h"
#include "base/error.h"
#include "base/memory.h"
#include "config/assign.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --price class:FILE or item:FILE: labels cost different amounts. */
static bool price_file(const struct situation *s)
{
    return s->o->price && strchr(s->o->price, ':');
}

static int at_least(double x, int least)
{
    return x > least ? (int)x : least;
}

/* A baseline only gathers the tasks that pass by: every one has to, once. */
int trial_steps(const struct situation *s, const struct trial *t)
{
    if (plan_recipes[t->recipe].baseline)
        return at_least(
            ceil(2.0 * (double)situation_tasks(s, t->budget, s->each[t->each]) / s->batch), 4);
    return at_least(s->steps / (double)(1 << t->level), 10);
}

struct words { /* "key=value" texts */
    char *at[40];
    int n;
};

static void say(struct words *w, char *text)
{
    w->at[w->n++] = text;
}

static void words_release(struct words *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->at[i]);
}

static bool reuses_query(const char *setting)
{
    return strncmp(setting, "train.resplit", 13) == 0 || strncmp(setting, "train.remix", 11) == 0;
}

/* What the arm itself is, without the budget's schedule. */
static void say_recipe(const struct situation *s, const struct trial *t, struct words *w)
{
    const struct recipe *r = &plan_recipes[t->recipe];
    for (int i = 0; i < PLAN_SETTINGS_MAX && r->set[i]; i++)
        if (!s->charge_support || !reuses_query(r->set[i]))
            say(w, mem_string(r->set[i]));
    if (s->users)
        say(w, mem_print("task.labels=%d", s->each[t->each]));
    else
        say(w, mem_print("shots=%d", s->shots[t->each]));
    if (*s->split)
        say(w, mem_string(s->split));
}

/* Validation some twenty times, and an end where it has not helped for a quarter of them. */
static void say_training(const struct situation *s, const struct trial *t, struct words *w)
{
    bool baseline = plan_recipes[t->recipe].baseline;
    int steps = trial_steps(s, t), every = baseline ? steps : at_least(s->steps / 20.0, 5);
    say(w, mem_print("train.validate_every=%d", every));
    say(w, mem_print("train.meta_batch=%d", s->batch));
    if (!baseline)
        say(w, mem_string("train.patience=6"));
    if (t->strategy == STRATEGY_RANDOM)
        return;
    /* The learner that chooses has to have learned: five purchases in the first half. */
    double tasks = (double)situation_tasks(s, t->budget, s->each[t->each]);
    say(w, mem_string("budget.grow=schedule"));
    say(w, mem_print("budget.grow_tasks=%d", at_least(ceil(tasks / 5), 1)));
    say(w, mem_print("budget.grow_every=%d", at_least(steps / 10.0, 1)));
}

/* What only the plan wants of its runs. */
static void say_judging(const struct trial *t, struct words *w)
{
    if (!t->on_test)
        say(w, mem_string("test.part=val"));
    say(w, mem_print("seed=%llu", (unsigned long long)t->seed));
}

static const char *net_of(const struct situation *s, const struct trial *t)
{
    if (plan_recipes[t->recipe].baseline)
        return "linear";
    return s->o->net ? s->o->net : s->data->h * s->data->w == 1 ? "mlp" : "conv4";
}

static void bench_of(const struct situation *s, int64_t budget, char *out, size_t size)
{
    struct bench b = s->bench;
    b.budget = budget;
    bench_text(&b, out, size);
}

static void say_names(const struct situation *s, const struct trial *t, struct words *w)
{
    char bench[1024];
    bench_of(s, t->budget, bench, sizeof bench);
    say(w, mem_print("bench=%s", bench));
    say(w, mem_print("method=%s", plan_recipes[t->recipe].method));
    say(w, mem_print("net=%s", net_of(s, t)));
    say(w, mem_print("labels=%s", strategy_names[t->strategy]));
}

/* What all runs of a plan share, unless --set says otherwise. */
static void say_base(const struct situation *s, struct words *w)
{
    say(w, mem_print("test.shots=%d", s->bench.shots));
    say(w, mem_string("test.tasks=200"));
    say(w, mem_string("train.val_tasks=60"));
    if (s->users)
        say(w, mem_string("test.repeats=2"));
    else
        say(w, mem_print("test.query=%d", s->query));
    if (s->holdout > 0)
        say(w, mem_print("test.holdout=%.2f", s->holdout));
}

static void add_words(struct assignments *a, const struct words *w, int first)
{
    for (int i = first; i < w->n; i++) {
        char *equals = strchr(w->at[i], '=');
        char *key = mem_print("%.*s", (int)(equals - w->at[i]), w->at[i]);
        assignments_add(a, key, equals + 1, "plan");
        free(key);
    }
}

int trial_settings(const struct situation *s, const struct trial *t, bool *known,
                   struct settings *out)
{
    struct words w = {0};
    struct assignments a = {0};
    struct run_rules own;
    struct config_rules rules = run_rules(&own, s->shelf);
    say_base(s, &w);
    say_recipe(s, t, &w);
    say_training(s, t, &w);
    add_words(&a, &w, 0);
    int given = a.n, first = w.n;
    int err = assignments_add_texts(&a, s->o->set);
    int n = a.n - given;
    if (price_file(s))
        assignments_add(&a, "budget.cost", s->o->price, "--price");
    say(&w, mem_print("train.steps=%d", trial_steps(s, t)));
    say_names(s, t, &w);
    say_judging(t, &w);
    add_words(&a, &w, first);
    if (!err)
        err = resolve_run(out, &a, &rules, NULL, true);
    for (int i = 0; known && i < n; i++)
        known[i] |= a.at[given + i].known;
    assignments_release(&a);
    words_release(&w);
    return err;
}

/* A word as a shell reads it back. */
static void add_word(struct text *out, const char *prefix, const char *word)
{
    bool plain = *word && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789=.,:/_-+@%") == strlen(word);
    text_print(out, "%s%s", prefix, plain ? "" : "'");
    for (const char *c = word; *c; c++)
        text_print(out, *c == '\'' && !plain ? "'\\''" : "%c", *c);
    text_add(out, plain ? "" : "'");
}

static bool same_key(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return strncmp(a, b, n) == 0 && b[n] == '=';
}

static bool given_by_user(const struct situation *s, const char *word)
{
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        if (same_key(word, s->o->set[i]))
            return true;
    return false;
}

char *trial_command(const struct situation *s, const struct trial *t, int64_t budget)
{
    struct text out = {0};
    struct words w = {0};
    struct trial at = *t;
    struct settings settings = {0};
    bool known[PLAN_SET_MAX] = {0}; /* other methods may have the rest */
    char bench[1024];
    at.budget = budget;
    at.level = 0;
    if (trial_settings(s, &at, known, &settings) == 0)
        settings_release(&settings);
    bench_of(s, budget, bench, sizeof bench);
    add_word(&out, "mete train ", bench);
    text_print(&out, " --method %s --net %s --labels %s", plan_recipes[t->recipe].method,
               net_of(s, t), strategy_names[t->strategy]);
    say_recipe(s, &at, &w);
    say_training(s, &at, &w);
    say_base(s, &w);
    for (int i = 0; i < w.n; i++)
        if (!given_by_user(s, w.at[i]))
            add_word(&out, " --set ", w.at[i]);
    text_print(&out, " --set train.steps=%d", trial_steps(s, &at));
    for (int i = 0; s->o->set && s->o->set[i]; i++)
        if (known[i] && !same_key("train.steps=", s->o->set[i]))
            add_word(&out, " --set ", s->o->set[i]);
    if (price_file(s))
        add_word(&out, " --set budget.cost=", s->o->price);
    words_release(&w);
    return text_take(&out);
}
