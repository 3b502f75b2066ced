/* settings.c - resolving a run: names first, then the tables they bring. */
#include "config/assign.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BENCH, NAME_METHOD, NAME_LABELS, NAME_NET, NAME_SEED, NAMES };
static const char *const name_keys[NAMES] = {"bench", "method", "labels", "net", "seed"};

bool is_name_key(const char *key)
{
    for (int i = 0; i < NAMES; i++)
        if (strcmp(key, name_keys[i]) == 0)
            return true;
    return false;
}

const char *settings_get(const struct settings *s, const char *key)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->at[i].key, key) == 0)
            return s->at[i].value;
    return NULL;
}

const char *setting_before(const char *key)
{
    static const char *const later[][2] = {
        {"method.absent", "origin"},
        {"method.prior_count", "5"},
        {"train.relabel", "no"},
        {"train.resplit", "no"},
        {"train.remix", "no"},
        {"train.redraw", "no"},
        {"task.query_items", "drawn"},
        {"train.patience", "0"},
        {"data.folds", "0"},
        {"data.fold", "0"},
        {"inner.prox", "0"},
        {"inner.batch", "0"},
        {"inner.optimiser", "sgd"},
        {"inner.beta1", "0"},
        {"inner.eps", "1e-08"},
        {"test.labels", ""},
        {"test.repeats", "1"},
        {"test.holdout", "0.2"},
        {"test.keep", "always"},
        {"method.objective", "heldout"},
        {"method.blend_labels", "100"},
        {"train.groups", "16"},
        {"task.labels", "0"},
        {"task.train_ways", "0"},
        {"test.part", "test"},
    };
    for (size_t i = 0; i < sizeof later / sizeof *later; i++)
        if (strcmp(key, later[i][0]) == 0)
            return later[i][1];
    return NULL;
}

void settings_release(struct settings *s)
{
    for (int i = 0; i < s->n; i++) {
        free(s->at[i].key);
        free(s->at[i].value);
        free(s->at[i].origin);
    }
    free(s->at);
    *s = (struct settings){0};
}

bool is_content_key(const char *key)
{
    size_t n = strlen(key), tail = strlen(CONTENT_KEY);
    return n > tail && strcmp(key + n - tail, CONTENT_KEY) == 0;
}

void settings_put(struct settings *s, const char *key, const char *value, const char *origin)
{
    s->at = mem_grow(s->at, (size_t)s->n + 1, sizeof *s->at);
    s->at[s->n++] = (struct setting){mem_string(key), mem_string(value), mem_string(origin)};
}

struct settings settings_copy(const struct settings *s)
{
    struct settings out = {0};
    for (int i = 0; i < s->n; i++)
        settings_put(&out, s->at[i].key, s->at[i].value, s->at[i].origin);
    return out;
}

void settings_change(struct settings *s, const char *key, const char *value)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->at[i].key, key) == 0) {
            free(s->at[i].value);
            s->at[i].value = mem_string(value);
        }
}

int settings_folds(const struct settings *s)
{
    const char *folds = settings_get(s, "data.folds"), *fold = settings_get(s, "data.fold");
    bool all = folds && fold && strcmp(fold, "0") == 0 && atoi(folds) > 1;
    return all ? atoi(folds) : 1;
}

struct settings settings_fold(const struct settings *s, int fold)
{
    struct settings out = settings_copy(s);
    char text[16];
    snprintf(text, sizeof text, "%d", fold);
    if (settings_folds(s) > 1)
        settings_change(&out, "data.fold", text);
    return out;
}

char *settings_print(const struct settings *s)
{
    int key_width = 0, value_width = 0;
    for (int i = 0; i < s->n; i++) {
        int k = (int)strlen(s->at[i].key), v = (int)strlen(s->at[i].value);
        key_width = k > key_width ? k : key_width;
        value_width = v > value_width ? v : value_width;
    }
    char *text = mem_string("");
    for (int i = 0; i < s->n; i++) {
        char *longer = mem_print("%s%-*s = %-*s  # %s\n", text, key_width, s->at[i].key,
                                 value_width, s->at[i].value, s->at[i].origin);
        free(text);
        text = longer;
    }
    return text;
}

/* "PLACE: " before the sentence of failure `err`, where there is a place to name. */
static int at_place(int err, const char *place)
{
    return *place ? fail_within(err, "%s", place) : err;
}

/* Puts the place that set `key` before the sentence of failure `err`. */
static int blame(int err, const struct assignments *a, const char *key, const char *whole)
{
    const struct assignment *set = key ? assignments_last(a, key) : NULL;
    if (set)
        return at_place(err, set->place);
    return whole ? fail_within(err, "%s", whole) : err;
}

static int read_seed(const struct assignment *set, uint64_t *seed)
{
    char *end;
    errno = 0;
    long long value = strtoll(set->value, &end, 10);
    if (end == set->value || *end || errno || value < 0)
        return fail(METE_EINVAL, "%s: seed: expected a whole number of 0 or more, got '%s'",
                    set->place, set->value);
    *seed = (uint64_t)value;
    return 0;
}

static int read_names(struct config_names *names, const struct assignments *a)
{
    const struct assignment *set[NAMES];
    for (int i = 0; i < NAMES; i++)
        set[i] = assignments_last(a, name_keys[i]);
    *names = (struct config_names){
        .bench = set[NAME_BENCH] ? set[NAME_BENCH]->value : NULL,
        .method = set[NAME_METHOD] ? set[NAME_METHOD]->value : NULL,
        .labels = set[NAME_LABELS] ? set[NAME_LABELS]->value : NULL,
        .net = set[NAME_NET] ? set[NAME_NET]->value : NULL,
        .seed = 1,
    };
    return set[NAME_SEED] ? read_seed(set[NAME_SEED], &names->seed) : 0;
}

/* The assignment that gave each row its value, by section and row. */
struct origins {
    const char **place[PARAM_SECTIONS];
};

static void origins_open(struct origins *o, const struct param_set *set)
{
    *o = (struct origins){0};
    for (int s = 0; s < set->sections; s++) {
        size_t rows = 0;
        while (set->section[s].table[rows].name)
            rows++;
        o->place[s] = mem_array(rows + 1, sizeof *o->place[s]);
    }
}

static void origins_close(struct origins *o)
{
    for (int s = 0; s < PARAM_SECTIONS; s++)
        free(o->place[s]);
}

static int assign_all(struct param_set *set, struct assignments *a, struct origins *o, bool lenient)
{
    for (int i = 0; i < a->n; i++) {
        struct assignment *one = &a->at[i];
        one->known = true;
        if (is_name_key(one->key) || is_content_key(one->key))
            continue;
        int section = 0;
        const struct param *row = param_find(set, one->key, &section);
        one->known = row != NULL;
        if (!row && lenient && strcmp(one->place, "--set") == 0)
            continue;
        if (!row)
            return at_place(METE_EINVAL, one->key_place);
        char key[128];
        param_key(&set->section[section], row, key, sizeof key);
        int err = param_store(row, set->section[section].state, key, one->value);
        if (err)
            return at_place(err, one->place);
        o->place[section][row - set->section[section].table] = one->place;
    }
    return 0;
}

/* As blame(), for a key that may have been spelled another way. */
static int blame_row(int err, const struct param_set *set, const struct origins *o,
                     const struct assignments *a, const char *key, const char *whole)
{
    char *sentence = mem_string(mete_errmsg()); /* param_find may replace it */
    int section = 0;
    const struct param *row = key && !is_name_key(key) ? param_find(set, key, &section) : NULL;
    const char *place = row ? o->place[section][row - set->section[section].table] : NULL;
    fail(err, "%s", sentence);
    free(sentence);
    return place ? at_place(err, place) : blame(err, a, key, whole);
}

static void collect(struct settings *out, const struct config_names *names,
                    const struct assignments *a, const struct param_set *set,
                    const struct origins *o)
{
    char seed[24];
    snprintf(seed, sizeof seed, "%" PRIu64, names->seed);
    const char *value[NAMES] = {names->bench, names->method, names->labels, names->net, seed};
    for (int i = 0; i < NAMES; i++) {
        const struct assignment *set_by = assignments_last(a, name_keys[i]);
        if (value[i])
            settings_put(out, name_keys[i], value[i],
                         !set_by          ? "default"
                         : *set_by->place ? set_by->place
                                          : "command line");
    }
    for (int s = 0; s < set->sections; s++) {
        const struct param_section *section = &set->section[s];
        for (int i = 0; section->table[i].name; i++) {
            char key[128], text[PARAM_TEXT_SIZE + 16];
            param_key(section, &section->table[i], key, sizeof key);
            param_text(&section->table[i], section->state, text, sizeof text);
            settings_put(out, key, text, o->place[s][i] ? o->place[s][i] : "default");
        }
    }
}

/* Content that was asked for must be the content there is. */
static int check_content(const struct settings *s, const struct assignments *a)
{
    for (int i = 0; i < a->n; i++) {
        const struct assignment *asked = &a->at[i];
        if (!is_content_key(asked->key))
            continue;
        const char *there = settings_get(s, asked->key);
        if (!there || strcmp(there, asked->value) != 0)
            return fail(METE_EINVAL, "%s: %s: asked for is %s, and there is %s", asked->place,
                        asked->key, asked->value, there ? there : "none");
    }
    return 0;
}

int resolve_run(struct settings *out, struct assignments *a, const struct config_rules *rules,
                const char *whole, bool lenient)
{
    struct config_names names;
    struct param_set set = {0};
    struct origins origins;
    const char *key = NULL;
    int err = read_names(&names, a);
    if (err)
        return err;
    err = rules->open(rules->user, &names, &set, &key);
    if (err)
        return blame(err, a, key, whole);
    origins_open(&origins, &set);
    err = assign_all(&set, a, &origins, lenient);
    if (!err && rules->check) {
        err = rules->check(rules->user, &names, &set, &key);
        if (err)
            err = blame_row(err, &set, &origins, a, key, whole);
    }
    if (!err)
        collect(out, &names, a, &set, &origins);
    if (!err && rules->identify)
        err = rules->identify(rules->user, out);
    if (!err)
        err = check_content(out, a);
    if (err)
        settings_release(out);
    origins_close(&origins);
    rules->close(rules->user, &set);
    return err;
}

int config_resolve_given(struct settings *out, const struct config_given *given, int n,
                         const char *const *assignments, const struct config_rules *rules)
{
    struct assignments a = {0};
    struct settings settings = {0};
    for (int i = 0; i < n; i++)
        if (given[i].value)
            assignments_add(&a, given[i].key, given[i].value, given[i].place);
    int err = assignments_add_texts(&a, assignments);
    if (!err)
        err = resolve_run(&settings, &a, rules, NULL, false);
    assignments_release(&a);
    if (!err)
        *out = settings;
    return err;
}

int config_resolve(struct settings *out, const char *const *assignments,
                   const struct config_rules *rules)
{
    return config_resolve_given(out, NULL, 0, assignments, rules);
}

int config_apply(const struct settings *s, struct param_set *set)
{
    for (int i = 0; i < s->n; i++) {
        if (is_name_key(s->at[i].key) || is_content_key(s->at[i].key))
            continue;
        int err = param_set_text(set, s->at[i].key, s->at[i].value);
        if (err)
            return fail_within(err, "%s", s->at[i].origin);
    }
    return 0;
}
