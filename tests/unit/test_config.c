/* test_config.c - suites: what they expand to, and how bad ones are refused. */
#include "test.h"
#include "files.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "config/config.h"

#include <unistd.h>

/* Two methods and two strategies, each with a setting of its own. */
struct test_method {
    double lr;
    bool first_order;
};
struct test_train {
    int steps, shots;
    char test_shots[PARAM_TEXT_SIZE];
    int bn;
};
static const struct param climb_params[] = {
    PARAM_REAL_ROW(struct test_method, lr, "inner.lr", 0.4, 0, 10, ""),
    PARAM_BOOL_ROW(struct test_method, first_order, "first_order", 1, ""),
    {0},
};
static const struct param plain_params[] = {{0}};
static const struct param train_params[] = {
    PARAM_INT_ROW(struct test_train, steps, "train.steps", 100, 1, 1e6, ""),
    PARAM_INT_ROW(struct test_train, shots, "shots", 1, 1, 100, ""),
    PARAM_TEXT_ROW(struct test_train, test_shots, "test.shots", "1", ""),
    PARAM_CHOICE_ROW(struct test_train, bn, "net.bn", "batch|running", 0, ""),
    {0},
};

struct test_rules {
    struct test_method method;
    struct test_train train;
};

static int rules_open(void *user, struct config_names *names, struct param_set *set,
                      const char **key)
{
    struct test_rules *r = user;
    if (!names->bench) {
        *key = "bench";
        return fail(METE_EINVAL, "a run needs a bench");
    }
    if (!names->method)
        names->method = "climb";
    if (strcmp(names->method, "climb") != 0 && strcmp(names->method, "plain") != 0) {
        *key = "method";
        return fail(METE_EINVAL, "no method named '%s'", names->method);
    }
    param_set_add(set, "", train_params, &r->train);
    param_set_add(set, "method", *names->method == 'c' ? climb_params : plain_params, &r->method);
    return 0;
}

static int rules_check(void *user, const struct config_names *names, const struct param_set *set,
                       const char **key)
{
    (void)set;
    struct test_rules *r = user;
    if (r->train.shots > 20) {
        *key = "shots";
        return fail(METE_EINVAL, "%d shots, but a class has 20 items", r->train.shots);
    }
    if (strncmp(names->bench, "nowhere", 7) == 0) {
        *key = "bench";
        return fail(METE_EINVAL, "no dataset 'nowhere'; mete data import gets it");
    }
    return 0;
}

static void rules_close(void *user, struct param_set *set)
{
    (void)user;
    set->sections = 0;
}

static int rules_identify(void *user, struct settings *out)
{
    (void)user;
    if (strncmp(settings_get(out, "bench"), "files", 5) == 0)
        settings_put(out, "data.content", "abc", "content of files");
    return 0;
}

static struct test_rules state;
static const struct config_rules rules = {&state,      rules_open,     rules_check,
                                          rules_close, rules_identify, NULL};

TEST(assignments_alone_resolve_with_every_default_and_origin)
{
    const char *const set[] = {"bench=glyphs:5w-1s@2K", "inner_lr=0.1", "seed=7", NULL};
    struct settings s = {0};
    CHECK_OK(config_resolve(&s, set, &rules));
    char *text = settings_print(&s);
    CHECK_STR(text, "bench              = glyphs:5w-1s@2K  # --set\n"
                    "method             = climb            # default\n"
                    "seed               = 7                # --set\n"
                    "train.steps        = 100              # default\n"
                    "shots              = 1                # default\n"
                    "test.shots         = 1                # default\n"
                    "net.bn             = batch            # default\n"
                    "inner.lr           = 0.1              # --set\n"
                    "method.first_order = yes              # default\n");
    free(text);
    struct param_set again = {0};
    struct test_method method;
    struct test_train train;
    param_set_add(&again, "", train_params, &train);
    param_set_add(&again, "method", climb_params, &method);
    CHECK_OK(config_apply(&s, &again));
    CHECK_NEAR(method.lr, 0.1, 0);
    settings_release(&s);
}

TEST(content_that_is_asked_for_must_be_there)
{
    const char *set[] = {"bench=files:5w-1s@2K", "data.content=abc", NULL};
    struct settings s = {0};
    CHECK_OK(config_resolve(&s, set, &rules));
    CHECK_STR(settings_get(&s, "data.content"), "abc");
    struct param_set none = {0};
    struct test_method method;
    struct test_train train;
    param_set_add(&none, "", train_params, &train);
    param_set_add(&none, "method", climb_params, &method);
    CHECK_OK(config_apply(&s, &none)); /* it is no setting */
    settings_release(&s);
    set[1] = "data.content=abd";
    CHECK_EQ(config_resolve(&s, set, &rules), METE_EINVAL);
    CHECK_STR(mete_errmsg(), "--set: data.content: asked for is abd, and there is abc");
    set[0] = "bench=glyphs:5w-1s@2K";
    CHECK_EQ(config_resolve(&s, set, &rules), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "there is none");
}

static const char *write_suite(const char *text)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", scratch("suite.yaml"));
    if (file_write(path, text, strlen(text)) != 0)
        abort();
    return path;
}

#ifdef METE_HAVE_YAML
static const char good[] =
    "name: quick\n"
    "base:\n"
    "  train.steps: 600\n"
    "  test: {shots: [1, 5]}\n"
    "axes:\n"
    "  bench: [glyphs:5w-1s@2K, glyphs:5w-5s@2K]\n"
    "  method: [climb, plain]\n"
    "  size:\n"
    "    - {net.bn: batch}\n"
    "    - {net.bn: running, shots: 3}\n"
    "when:\n"
    "  - {method: climb, set: {first_order: no}}\n"
    "  - {method: climb, bench: '*-5s*', set: {inner.lr: 0.25}}\n"
    "seeds: 2\n"
    "tables:\n"
    "  - {title: All, rows: [dataset, test_shots, budget], columns: [method, labels]}\n"
    "figures:\n"
    "  - {title: Shots, x: shots, lines: method, panels: [net.bn]}\n";

TEST(a_suite_is_the_product_of_its_axes)
{
    struct suite *s = NULL;
    const char *path = write_suite(good);
    CHECK_OK(suite_open(&s, path, NULL, 0, &rules));
    CHECK_STR(s->name, "quick");
    CHECK_EQ(s->n_runs, 16);
    CHECK_STR(s->text, good);
    CHECK_STR(settings_get(&s->runs[0], "bench"), "glyphs:5w-1s@2K");
    CHECK_STR(settings_get(&s->runs[0], "seed"), "1"); /* the seed turns fastest */
    CHECK_STR(settings_get(&s->runs[1], "seed"), "2");
    CHECK_STR(settings_get(&s->runs[0], "test.shots"), "1,5");
    CHECK_STR(settings_get(&s->runs[2], "net.bn"), "running");
    CHECK_STR(settings_get(&s->runs[2], "shots"), "3");
    CHECK_STR(settings_get(&s->runs[0], "method.first_order"), "no");
    CHECK_STR(settings_get(&s->runs[0], "inner.lr"), "0.4");
    CHECK_STR(settings_get(&s->runs[8], "inner.lr"), "0.25");
    CHECK(settings_get(&s->runs[4], "inner.lr") == NULL); /* plain has no such setting */
    CHECK_EQ(s->n_drawings, 2);
    CHECK(!s->drawings[0].figure && s->drawings[1].figure);
    CHECK_STR(s->drawings[0].rows, "dataset,test_shots,budget");
    CHECK_STR(s->drawings[1].columns, "method");
    char *text = settings_print(&s->runs[8]),
         *origin = mem_print("= 0.25             # %s:13:", path);
    CHECK_HAS(text, origin);
    free(text);
    free(origin);
    suite_close(s);
}

TEST(set_wins_over_the_file_and_seeds_can_be_replaced)
{
    struct suite *s = NULL;
    const char *const set[] = {"train.steps=7", "inner.lr=0.5", NULL};
    CHECK_OK(suite_open(&s, write_suite(good), set, 5, &rules));
    CHECK_EQ(s->n_runs, 40);
    CHECK_STR(settings_get(&s->runs[0], "train.steps"), "7");
    CHECK_STR(settings_get(&s->runs[20], "inner.lr"), "0.5");
    CHECK_STR(settings_get(&s->runs[4], "seed"), "5");
    suite_close(s);
}

/* The suite is refused with this sentence after the path. */
static bool refused(const char *text, const char *const *set, const char *sentence)
{
    struct suite *s = NULL;
    const char *path = write_suite(text);
    int err = suite_open(&s, path, set, 0, &rules);
    if (!err)
        suite_close(s);
    char *expected = mem_print("%s%s%s", sentence[0] == ':' ? path : "", sentence, "");
    bool same = err == METE_EINVAL && strcmp(mete_errmsg(), expected) == 0;
    if (!same)
        fprintf(stderr, "said: %s\nnot:  %s\n", mete_errmsg(), expected);
    free(expected);
    return same;
}

TEST(bad_suites_are_refused_with_line_and_column)
{
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"name: x\nbase: {bench: g, trian.steps: 3}\n",
         ":2:18: no setting named 'trian.steps'; did you mean 'train.steps'?"},
        {"name: x\nbase: {bench: g, train.steps: five}\n",
         ":2:31: train.steps: expected a whole number, got 'five'"},
        {"name: x\nbase: {bench: g, net.bn: both}\n",
         ":2:26: net.bn: expected batch|running, got 'both'"},
        {"name: x\nbase: {bench: g}\naxes:\n  method: [climb, plane]\n",
         ":4:19: no method named 'plane'"},
        {"name: x\nbase: {bench: g, shots: 50}\n", ":2:25: 50 shots, but a class has 20 items"},
        {"name: x\nbase: {bench: nowhere:5w-1s}\n",
         ":2:15: no dataset 'nowhere'; mete data import gets it"},
        {"name: x\nbase: {method: plain, bench: g, first_order: 1}\n",
         ":2:33: no setting named 'first_order'; 'mete show NAME' lists those of a plug-in"},
        {"name: x\nbase: {method: climb}\n", ": a run needs a bench"},
        {"name: x\nbsae: {}\n", ":2:1: a suite has no 'bsae'; did you mean 'base'?"},
        {"base: {bench: g}\n", ":1:1: a suite needs a name"},
        {"name: a b\nbase: {bench: g}\n", ":1:7: name: only letters, digits and -_. are allowed"},
        {"name: x\nbase: [1]\n", ":2:8: expected settings (key: value), got a list"},
        {"name: x\nbase: {bench: g, seed: -1}\n",
         ":2:24: seed: expected a whole number of 0 or more, got '-1'"},
        {"name: x\nbase: {bench: }\n", ":2:8: bench has no value"},
        {"name: x\nbase: {bench: g, net: {bnn: batch}}\n",
         ":2:24: no setting named 'net.bnn'; did you mean 'net.bn'?"},
        {"name: x\nbase: {bench: \xff}\n", ":2:15: not plain text in UTF-8"},
        {"%YAML 1.2\n---\nname: x\n", ":1:1: directives (%) are not read here"},
        {"name: x\nbase: {bench: g}\naxes: {method: climb}\n",
         ":3:8: axis method: expected a list of values, got a text"},
        {"name: x\nbase: {bench: g}\naxes: {method: []}\n",
         ":3:8: axis method: expected a list of values, got an empty one"},
        {"name: x\nbase: {bench: g}\nseeds: none\n",
         ":3:8: seeds: expected a number of seeds, or a list of them"},
        {"name: x\nbase: {bench: g}\naxes: {shots: [1, 1]}\n",
         ": runs 1 and 2 are the same (g climb - seed 1): an axis or --set repeats a value"},
        {"name: x\nbase: {bench: g}\nwhen: [{method: plain, set: {shots: 2}}]\n",
         ":3:9: when: no run of this suite matches"},
        {"name: x\nbase: {bench: g}\nwhen: [{method: climb, set: {method: plain}}]\n",
         ":3:30: when: method cannot depend on other settings; use an axis"},
        {"name: x\nbase: {bench: g}\nwhen: [{method: climb}]\n",
         ":3:9: when: expected {key: pattern, ..., set: {key: value, ...}}"},
        {"name: x\nbase: {bench: g}\ntables:\n  - {title: t, rows: [metod], columns: [labels]}\n",
         ":4:23: results have no field 'metod'; did you mean 'method'?"},
        {"name: x\nbase: {bench: g}\ntables: [{title: t, rwos: [method]}]\n",
         ":3:21: no 'rwos' here; did you mean 'rows'?"},
        {"name: x\nbase: {bench: g}\nfigures: [{title: t, lines: [method]}]\n",
         ":3:12: expected {title: ..., x: field, lines: [fields], panels: [fields]}"},
        {"name: x\nbase: {bench: g\n", ":3:1: did not find expected ',' or '}'"},
        {"name: x\nname: y\n", ":2:1: 'name' is here twice"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(refused(bad[i].text, NULL, bad[i].sentence));
}

TEST(bad_set_is_refused_when_no_run_has_it)
{
    const char *const unknown[] = {"inner.lrr=1", NULL};
    const char *const wrong[] = {"train.steps=x", NULL};
    const char *const no_value[] = {"train.steps", NULL};
    CHECK(refused(good, unknown, "--set: no setting named 'inner.lrr'; did you mean 'inner.lr'?"));
    CHECK(refused(good, wrong, "--set: train.steps: expected a whole number, got 'x'"));
    CHECK(refused(good, no_value, "--set: expected key=value, got 'train.steps'"));
}

TEST(a_missing_file_is_named)
{
    struct suite *s = NULL;
    CHECK_EQ(suite_open(&s, "/nowhere/x.yaml", NULL, 0, &rules), METE_EIO);
    CHECK_HAS(mete_errmsg(), "/nowhere/x.yaml");
}

TESTS(T(assignments_alone_resolve_with_every_default_and_origin),
      T(content_that_is_asked_for_must_be_there), T(a_suite_is_the_product_of_its_axes),
      T(set_wins_over_the_file_and_seeds_can_be_replaced),
      T(bad_suites_are_refused_with_line_and_column), T(bad_set_is_refused_when_no_run_has_it),
      T(a_missing_file_is_named))
#else
TEST(without_libyaml_the_package_is_named)
{
    struct suite *s = NULL;
    CHECK_EQ(suite_open(&s, write_suite("name: x\n"), NULL, 0, &rules), METE_EMISSING);
    CHECK_HAS(mete_errmsg(), "libyaml-dev");
}
TESTS(T(assignments_alone_resolve_with_every_default_and_origin),
      T(content_that_is_asked_for_must_be_there), T(without_libyaml_the_package_is_named))
#endif
