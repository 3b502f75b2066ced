/* prior.c - what did best in the situations of perf/plan_regret, whose grids are in
 * results/plan/prior.csv: of each method at each number of labels each, random labels.
 *
 * Accuracies are compared above chance, since situations have different numbers of classes, and
 * situations count the more, the nearer they are in labels for each class.
 */
#include "plan/prior.h"
#include "base/error.h"
#include "base/jsonw.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char plan_prior[]; /* results/plan/prior.csv, embedded by the build */

struct cell {
    char kind[8], situation[40], method[16];
    int ways, each;
    double labels, accuracy;
};

static int read_cells(struct cell **out)
{
    int n = 0;
    *out = NULL;
    const char *at = strchr((const char *)plan_prior, '\n'); /* below the heading */
    for (; at && at[1]; at = strchr(at + 1, '\n')) {
        struct cell c;
        if (sscanf(at + 1, "%7[^,],%39[^,],%d,%lf,%15[^,],%d,%lf", c.kind, c.situation, &c.ways,
                   &c.labels, c.method, &c.each, &c.accuracy) != 7)
            continue;
        *out = mem_grow(*out, (size_t)n + 1, sizeof **out);
        (*out)[n++] = c;
    }
    return n;
}

static double above_chance(double accuracy, int ways)
{
    return (accuracy - 1.0 / ways) / (1 - 1.0 / ways);
}

/* Of a method in one situation, the cell whose labels each are nearest, counted in classes. */
static const struct cell *nearest(const struct cell *all, int n, const struct cell *of,
                                  const char *method, double ratio)
{
    const struct cell *best = NULL;
    for (int i = 0; i < n; i++) {
        const struct cell *c = &all[i];
        if (strcmp(c->situation, of->situation) != 0 || strcmp(c->method, method) != 0)
            continue;
        double far = fabs(log((double)c->each / c->ways / ratio));
        if (!best || far < fabs(log((double)best->each / best->ways / ratio)))
            best = c;
    }
    return best;
}

static int classes_of(const struct situation *s)
{
    return s->users ? s->data->classes : s->bench.ways;
}

struct mean {
    double weight, sum, squares;
    int n;
};

static void add(struct mean *m, double x, double weight)
{
    m->weight += weight;
    m->sum += weight * x;
    m->squares += weight * x * x;
    m->n++;
}

/* How a method with so many labels each did above chance, over situations of this kind. */
static struct mean over_situations(const struct cell *all, int n, const struct situation *s,
                                   const char *method, int each)
{
    struct mean m = {0};
    int ways = classes_of(s) > 1 ? classes_of(s) : 10;
    for (int i = 0; i < n; i++) {
        bool first = strcmp(all[i].kind, s->users ? "users" : "classes") == 0 &&
                     (i == 0 || strcmp(all[i].situation, all[i - 1].situation) != 0);
        const struct cell *c = first ? nearest(all, n, &all[i], method, (double)each / ways) : NULL;
        if (!c)
            continue;
        double far = fabs(log(c->labels / c->ways / ((double)s->labels / ways)));
        add(&m, above_chance(c->accuracy, c->ways), exp(-far));
    }
    return m;
}

/* Two standard deviations of other situations, and never narrower than ten points. */
static void predict(struct precedent *p, const struct situation *s, const struct mean *m)
{
    int ways = classes_of(s);
    double mean = m->sum / m->weight, chance = 1.0 / ways;
    double sd = sqrt(fmax(0, m->squares / m->weight - mean * mean)) * sqrt(1 + 1.0 / m->n);
    double half = fmax(1.645 * sd, 0.1);
    p->situations = m->n;
    p->accuracy = p->lo = p->hi = NAN;
    if (ways < 2)
        return;
    p->accuracy = chance + mean * (1 - chance);
    p->lo = fmax(0, chance + (mean - half) * (1 - chance));
    p->hi = fmin(1, chance + (mean + half) * (1 - chance));
}

/* A quarter of the labels, from which a curve can be trusted up to all. */
static void plan_pilot(struct precedent *p, const struct situation *s)
{
    int people = s->users ? s->data->users : 1;
    p->pilot = (s->labels + 3) / 4;
    p->pilot = p->pilot < 40 ? 40 : p->pilot;
    p->pilot = p->pilot > s->labels ? s->labels : p->pilot;
    p->pilot_each = (int)((p->pilot + people - 1) / people);
    p->pilot_each = p->pilot_each < 4 ? 4 : p->pilot_each;
}

int prior_make(struct precedent *p, const struct situation *s)
{
    struct cell *all = NULL;
    struct mean best = {0};
    int n = read_cells(&all);
    *p = (struct precedent){.recipe = -1};
    for (int i = 0; plan_recipes[i].method; i++)
        for (int e = 0; e < s->n_each && situation_has(s, &plan_recipes[i]); e++) {
            if (plan_recipes[i].variant || plan_recipes[i].fixed)
                continue;
            struct mean m = over_situations(all, n, s, plan_recipes[i].method, s->each[e]);
            if (m.n == 0 || (p->recipe >= 0 && m.sum / m.weight <= best.sum / best.weight))
                continue;
            best = m;
            p->recipe = i;
            p->each = s->each[e];
        }
    free(all);
    if (p->recipe < 0)
        return fail(METE_EINVAL,
                    "%s has no labels to simulate with, and nothing like it was measured before: "
                    "label some items first (mete label next)",
                    s->bench.dataset);
    predict(p, s, &best);
    p->people = situation_tasks(s, s->labels, p->each);
    p->labels = p->people * p->each;
    plan_pilot(p, s);
    return 0;
}

/* ---- in words ---- */

static void add_command(struct text *out, const struct precedent *p, const struct situation *s)
{
    text_print(out, "  mete label next %s%s --n %d --labels-left %" PRId64 " -o ask.csv\n",
               s->bench.dataset, s->users ? " --user all" : "", p->pilot_each, p->pilot);
    text_print(out, "  mete label import %s ask.csv\n", s->bench.dataset);
    text_print(out, "  mete plan %s --labels %" PRId64 "\n", s->o->data, s->labels);
}

char *prior_text(const struct precedent *p, const struct situation *s)
{
    struct text out = {0};
    char *words, expected[160] = "", known[80] = "No label is known";
    if (!isnan(p->accuracy))
        snprintf(expected, sizeof expected, ": about %.0f %% right, 90 %% interval %.0f to %.0f %%",
                 100 * p->accuracy, 100 * p->lo, 100 * p->hi);
    text_print(&out, "%s: a plan for %" PRId64 " labels, from a prior\n\n", s->o->data, s->labels);
    if (s->known)
        snprintf(known, sizeof known, "Only %" PRId64 " labels are known, too few to simulate with",
                 s->known);
    words =
        mem_print("%s. So this rests on %d other situations (the built-in generators, and tables "
                  "and images that were measured), not on these data.",
                  known, p->situations);
    text_wrap(&out, words, 80);
    free(words);
    words = mem_print("\nThere %s with %d labels each of %" PRId64 " %s did best%s.",
                      plan_recipes[p->recipe].method, p->each, p->people,
                      s->users ? "people" : "tasks", expected);
    text_add(&out, "\n");
    text_wrap(&out, words + 1, 80);
    free(words);
    if (isnan(p->accuracy))
        text_wrap(&out, "How accurate that will be cannot be said before the classes are known.",
                  80);
    words =
        mem_print("Buy %" PRId64 " labels first, then ask again: from a quarter of the labels a "
                  "curve can be trusted. Planning itself used no label.",
                  p->pilot);
    text_add(&out, "\n");
    text_wrap(&out, words, 80);
    free(words);
    text_add(&out, "\nTo carry it out\n");
    add_command(&out, p, s);
    return text_take(&out);
}

char *prior_json(const struct precedent *p, const struct situation *s)
{
    struct jsonw w = {.lines = 2};
    struct text command = {0};
    add_command(&command, p, s);
    jsonw_object(&w, NULL);
    jsonw_string(&w, "format", "mete-plan");
    jsonw_int(&w, "version", 1);
    jsonw_string(&w, "bench", s->o->data);
    jsonw_int(&w, "labels", s->labels);
    jsonw_string(&w, "case", "prior");
    jsonw_object(&w, "recommended");
    jsonw_string(&w, "method", plan_recipes[p->recipe].method);
    jsonw_string(&w, "strategy", "random");
    jsonw_object(&w, "spend");
    jsonw_int(&w, "labels", p->labels);
    jsonw_int(&w, "people", p->people);
    jsonw_int(&w, "each", p->each);
    jsonw_real(&w, "accuracy", p->accuracy);
    jsonw_real(&w, "low", p->lo);
    jsonw_real(&w, "high", p->hi);
    jsonw_bool(&w, "trusted", false);
    jsonw_close(&w);
    jsonw_close(&w);
    jsonw_int(&w, "situations", p->situations);
    jsonw_int(&w, "pilot", p->pilot);
    jsonw_string(&w, "command", command.at);
    jsonw_close(&w);
    char *out = mem_print("%s\n", w.text);
    jsonw_release(&w);
    text_release(&command);
    return out;
}
