/* print.c - a plan in 80 columns, and as JSON. */
#include "plan/answer.h"
#include "base/jsonw.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80 };

/* "12,345" */
static char *count_text(int64_t n)
{
    static _Thread_local char ring[8][32];
    static _Thread_local int next;
    char *out = ring[next++ % 8], plain[24];
    int digits = snprintf(plain, sizeof plain, "%" PRId64, n), at = 0;
    for (int i = 0; i < digits; i++) {
        if (i && (digits - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = plain[i];
    }
    out[at] = '\0';
    return out;
}

/* One paragraph; free() the words before or after. */
static void paragraph(struct text *out, char *words)
{
    text_wrap(out, words, WIDTH);
    free(words);
}

static const char *task_word(const struct answer *a, int64_t n)
{
    return a->s->users ? n == 1 ? "person" : "people" : n == 1 ? "task" : "tasks";
}

/* "protonet with method.absent=prior-mean and train.resplit=any" */
static char *method_text(const struct trial *t)
{
    const struct recipe *r = &plan_recipes[t->recipe];
    struct text out = {0};
    text_add(&out, r->method);
    for (int i = 0; i < PLAN_SETTINGS_MAX && r->set[i]; i++)
        text_print(&out, "%s%s", i ? ", " : " with ", r->set[i]);
    return text_take(&out);
}

static char *spend_text(const struct answer *a, const struct trial *t, int64_t people, int each)
{
    if (plan_recipes[t->recipe].fixed)
        return mem_string("buy no labels for training: they make no difference to it");
    return mem_print(
        "buy %d labels each of %s %s, %s", each, count_text(people), task_word(a, people),
        t->strategy == STRATEGY_RANDOM ? "chosen at random" : "chosen by the learner (active)");
}

static void say_recommendation(const struct answer *a, struct text *out)
{
    char *method = method_text(&a->best);
    char *spend = spend_text(a, &a->best, a->at[ONCE].people, a->at[ONCE].each);
    spend[0] = 'B';
    char money[64] = "";
    if (a->s->price > 0)
        snprintf(money, sizeof money, ", %.2f in money", (double)a->amount.labels * a->s->price);
    paragraph(
        out, mem_print("%s (%s labels%s), and use %s: %.1f %% of a new %s's items right, 90 %% "
                       "interval %.1f to %.1f %%.",
                       spend, count_text(plan_recipes[a->best.recipe].fixed ? 0 : a->amount.labels),
                       money, method, 100 * a->amount.accuracy, a->s->users ? "person" : "task",
                       100 * a->amount.lo, 100 * a->amount.hi));
    if (plan_recipes[a->best.recipe].one_for_all)
        paragraph(out, mem_string("It is one model for everybody: a new person labels nothing."));
    else if (a->s->users)
        paragraph(out,
                  mem_print("Without adapting to them it is %.1f %%; adapting makes %.0f %% of "
                            "people worse.",
                            100 * a->before, 100 * a->worse));
    free(method);
    free(spend);
}

static void say_runner_up(const struct answer *a, struct text *out)
{
    if (!a->second.done)
        return;
    char *method = method_text(&a->second);
    int each = a->s->each[a->second.each];
    char *spend = spend_text(a, &a->second, situation_tasks(a->s, a->second.budget, each), each);
    paragraph(out,
              mem_print("Runner-up: %s; %s. To prefer it would cost %.1f points (90 %% interval "
                        "%.1f to %.1f).",
                        method, spend, 100 * a->second_margin,
                        100 * (a->second_margin - a->second_half),
                        100 * (a->second_margin + a->second_half)));
    free(method);
    free(spend);
}

bool answer_shows(const struct answer *a, int budget)
{
    bool fixed = plan_recipes[a->best.recipe].fixed;
    return budget == ONCE || (!a->odd && !fixed && budget != 1 && budget != 5 && budget != 6);
}

static void say_budgets(const struct answer *a, struct text *out)
{
    bool any = false;
    if (plan_recipes[a->best.recipe].fixed)
        return;
    text_print(out, "\n%10s %10s %10s   accuracy, %%   90 %% interval\n", "labels",
               a->s->users ? "people" : "tasks", "each");
    for (int b = 0; b < BUDGETS; b++) {
        const struct amount *x = &a->at[b];
        if (!answer_shows(a, b))
            continue;
        bool beyond = !x->trusted || (double)x->labels > (double)a->s->within * 1.001;
        any |= !x->trusted;
        text_print(out, "%10s %10s %10d %13.1f   %5.1f to %5.1f%s\n", count_text(x->labels),
                   count_text(x->people), x->each, 100 * x->accuracy, 100 * x->lo, 100 * x->hi,
                   !x->trusted ? "  **"
                   : beyond    ? "  *"
                               : "");
    }
    if (!a->odd)
        paragraph(out,
                  mem_print("* extrapolated%s",
                            any ? "; ** more than four times beyond what was run: a guess" : ""));
}

static void say_target(const struct answer *a, struct text *out)
{
    double target = a->s->o->target;
    if (!(target > 0))
        return;
    text_add(out, "\n");
    if (plan_recipes[a->best.recipe].fixed)
        paragraph(out, mem_print("No number of labels for training changes that."));
    else if (a->odd)
        paragraph(out, mem_print("How many labels %.1f %% needs cannot be said: there is no curve.",
                                 100 * target));
    else if (isnan(a->target_labels))
        paragraph(out,
                  mem_print("%.1f %% is above what the curve reaches: %.1f %% with %s labels, a "
                            "hundred times what was run. A target of %.0f %% or less, more labels "
                            "of a new person (--set test.shots), or another net may do.",
                            100 * target, 100 * a->reach, count_text(100 * a->s->within),
                            floor(100 * a->reach)));
    else
        paragraph(out, mem_print("%.1f %% needs about %s labels%s.", 100 * target,
                                 count_text((int64_t)a->target_labels),
                                 a->target_trusted
                                     ? ""
                                     : ", more than four times beyond what was run: a guess"));
}

static void say_gains(const struct answer *a, struct text *out)
{
    text_print(out, "\nThe next 100 labels, points of accuracy%21s %10s\n",
               a->s->users ? "more people" : "more tasks", "more each");
    for (int i = 0; i < a->n_methods; i++) {
        const struct standing *m = &a->method[i];
        char state[64] = "";
        if (strcmp(m->method, plan_recipes[a->best.recipe].method) == 0)
            snprintf(state, sizeof state, "recommended");
        else if (!isnan(m->behind))
            snprintf(state, sizeof state, "%.1f ±%.1f %s %s%s%s", 100 * fabs(m->behind),
                     100 * m->behind_half, m->behind < 0 ? "ahead" : "behind",
                     m->whole ? "at " : "in short runs", m->whole ? count_text(m->at) : "",
                     m->whole ? " labels" : "");
        text_print(out, "  %-10s ", m->method);
        text_pad(out, state, 36);
        if (isnan(m->more_people))
            text_print(out, " %11s %10s\n", "-", "-");
        else
            text_print(out, " %+11.2f %+10.2f\n", 100 * m->more_people, 100 * m->more_each);
    }
}

static void say_bullet(struct text *out, const char *words)
{
    struct text lines = {0};
    text_wrap(&lines, words, WIDTH - 2);
    const char *at = lines.at;
    for (int i = 0; *at; i++) {
        size_t n = strcspn(at, "\n");
        text_print(out, "%s%.*s\n", i ? "  " : "- ", (int)n, at);
        at += n + (at[n] == '\n');
    }
    text_release(&lines);
}

static void say_weak(const struct answer *a, struct text *out)
{
    text_add(out, "\nWhere it is weak\n");
    for (int i = 0; i < a->n_weak; i++)
        say_bullet(out, a->weak[i]);
}

static void say_labels_used(const struct answer *a, struct text *out)
{
    text_add(out, "\n");
    paragraph(
        out,
        mem_print("Planning looked at %s labels of training%s and at %s of validation, over %s "
                  "runs. All were known before: it asked nobody, and looked at nobody of the "
                  "test part. The commands below use the same validation labels to choose the "
                  "step; they are not among the %s.",
                  count_text(a->used_training), a->s->users ? " people" : "",
                  count_text(a->used_validation), count_text(a->runs), count_text(a->s->labels)));
}

/* A command on lines of 80 columns that a shell reads as one. */
static void say_command(struct text *out, const char *command)
{
    size_t column = 2;
    text_add(out, "  ");
    for (const char *at = command; *at;) {
        const char *next = strstr(at + 1, " --");
        size_t n = next ? (size_t)(next - at) : strlen(at);
        bool first = at == command;
        if (!first && column + n > WIDTH - 2) {
            text_add(out, " \\\n    ");
            column = 4;
            at++;
            n--;
        }
        text_add_bytes(out, at, n);
        column += n;
        at += n;
    }
    text_add(out, "\n");
}

/* Asks so many labels of everybody, and reads the answers. */
static void say_buying(const struct answer *a, struct text *out, int64_t labels)
{
    int each = (int)ceil((double)labels / fmin(a->s->people, (double)labels));
    char *next = mem_print("mete label next %s%s --n %d --labels-left %" PRId64 " -o ask.csv",
                           a->s->bench.dataset, a->s->users ? " --user all" : "", each, labels);
    char *import = mem_print("mete label import %s ask.csv", a->s->bench.dataset);
    say_command(out, next);
    say_command(out, import);
    free(next);
    free(import);
}

static void say_pilot(const struct answer *a, struct text *out)
{
    if (!a->pilot)
        return;
    text_add(out, "\n");
    paragraph(out, mem_print("Buy %s labels first, then ask again: %s.", count_text(a->pilot),
                             a->vague ? "what is known leaves an interval too wide to decide by"
                                      : "from a quarter of the labels a curve can be trusted"));
    say_buying(a, out, a->pilot);
}

char *answer_text(const struct answer *a)
{
    struct text out = {0};
    char bench[1024], heading[1200];
    bench_text(&a->s->bench, bench, sizeof bench);
    snprintf(heading, sizeof heading, "%s: a plan for %s labels", bench, count_text(a->s->labels));
    text_print(&out, "%s\n\n", heading);
    say_recommendation(a, &out);
    say_runner_up(a, &out);
    say_budgets(a, &out);
    say_target(a, &out);
    say_gains(a, &out);
    say_weak(a, &out);
    say_labels_used(a, &out);
    say_pilot(a, &out);
    text_add(&out, "\nTo carry it out\n");
    if (a->of == ANSWERED && a->amount.labels > a->s->known && !plan_recipes[a->best.recipe].fixed)
        say_buying(a, &out, a->amount.labels - a->s->known);
    say_command(&out, a->command);
    return text_take(&out);
}

/* ---- JSON ---- */

static void put_amount(struct jsonw *w, const char *key, const struct amount *x)
{
    jsonw_object(w, key);
    jsonw_int(w, "labels", x->labels);
    jsonw_int(w, "people", x->people);
    jsonw_int(w, "each", x->each);
    jsonw_real(w, "accuracy", x->accuracy);
    jsonw_real(w, "low", x->lo);
    jsonw_real(w, "high", x->hi);
    jsonw_bool(w, "trusted", x->trusted);
    jsonw_close(w);
}

static void put_arm(struct jsonw *w, const struct answer *a, const struct trial *t)
{
    const struct recipe *r = &plan_recipes[t->recipe];
    jsonw_string(w, "method", r->method);
    jsonw_string(w, "strategy", strategy_names[t->strategy]);
    jsonw_int(w, "each", a->s->each[t->each]);
    jsonw_array(w, "settings");
    for (int i = 0; i < PLAN_SETTINGS_MAX && r->set[i]; i++)
        jsonw_string(w, NULL, r->set[i]);
    jsonw_close(w);
}

static void put_methods(struct jsonw *w, const struct answer *a)
{
    jsonw_array(w, "methods");
    for (int i = 0; i < a->n_methods; i++) {
        const struct standing *m = &a->method[i];
        jsonw_object(w, NULL);
        jsonw_string(w, "method", m->method);
        jsonw_int(w, "labels", m->at);
        jsonw_real(w, "accuracy", m->accuracy);
        jsonw_real(w, "behind", m->behind);
        jsonw_real(w, "behind_half", m->behind_half);
        jsonw_bool(w, "whole", m->whole);
        jsonw_real(w, "more_people", m->more_people);
        jsonw_real(w, "more_each", m->more_each);
        jsonw_close(w);
    }
    jsonw_close(w);
}

static void put_target(struct jsonw *w, const struct answer *a)
{
    if (!(a->s->o->target > 0))
        return;
    jsonw_object(w, "target");
    jsonw_real(w, "accuracy", a->s->o->target);
    jsonw_real(w, "labels", a->target_labels);
    jsonw_bool(w, "trusted", a->target_trusted);
    jsonw_real(w, "reach", a->reach);
    jsonw_close(w);
}

char *answer_json(const struct answer *a)
{
    static const char *const cases[] = {"simulated", "answered", "prior"};
    struct jsonw w = {.lines = 2};
    char bench[1024];
    bench_text(&a->s->bench, bench, sizeof bench);
    jsonw_object(&w, NULL);
    jsonw_string(&w, "format", "mete-plan");
    jsonw_int(&w, "version", 1);
    jsonw_string(&w, "bench", bench);
    jsonw_int(&w, "labels", a->s->labels);
    jsonw_string(&w, "case", cases[a->of]);
    jsonw_object(&w, "recommended");
    put_arm(&w, a, &a->best);
    put_amount(&w, "spend", &a->amount);
    jsonw_real(&w, "before", a->before);
    jsonw_real(&w, "worse", a->s->users ? a->worse : NAN);
    jsonw_close(&w);
    if (a->second.done) {
        jsonw_object(&w, "runner_up");
        put_arm(&w, a, &a->second);
        jsonw_real(&w, "margin", a->second_margin);
        jsonw_real(&w, "half", a->second_half);
        jsonw_close(&w);
    }
    jsonw_array(&w, "budgets");
    for (int b = 0; b < BUDGETS; b++)
        if (answer_shows(a, b))
            put_amount(&w, NULL, &a->at[b]);
    jsonw_close(&w);
    put_target(&w, a);
    put_methods(&w, a);
    jsonw_array(&w, "weak");
    for (int i = 0; i < a->n_weak; i++)
        jsonw_string(&w, NULL, a->weak[i]);
    jsonw_close(&w);
    jsonw_int(&w, "validated", a->validated);
    jsonw_int(&w, "pilot", a->pilot);
    jsonw_object(&w, "used");
    jsonw_int(&w, "training", a->used_training);
    jsonw_int(&w, "validation", a->used_validation);
    jsonw_int(&w, "runs", a->runs);
    jsonw_close(&w);
    jsonw_string(&w, "command", a->command);
    jsonw_close(&w);
    char *out = mem_print("%s\n", w.text);
    jsonw_release(&w);
    return out;
}
