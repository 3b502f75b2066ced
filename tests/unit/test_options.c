/* test_options.c - option structs begin with their size, and what is missing is said. */
#include "mete.h"
#include "mete_learner.h"
#include "mete_personal.h"
#include "mete_plan.h"
#include "test.h"

#include <stddef.h>

enum { ROOM = 4096 }; /* more than any of the structs */

static struct mete_speed speed_out;
static struct mete_questions questions_out;
static struct mete_answers answers_out;
static struct mete_predictions predictions_out;
static char *text_out;

/* One for each function that takes a struct of options. */
static int import(const void *o)
{
    return mete_data_import(o);
}
static int sheet(const void *o)
{
    return mete_data_sheet(o);
}
static int fetch(const void *o)
{
    return mete_data_fetch(o);
}
static int tasks(const void *o)
{
    return mete_tasks(o, NULL, NULL);
}
static int grad(const void *o)
{
    return mete_grad(o);
}
static int speed(const void *o)
{
    return mete_speed(o, &speed_out);
}
static int train(const void *o)
{
    return mete_train(o);
}
static int fit(const void *o)
{
    return mete_fit(o, NULL);
}
static int eval(const void *o)
{
    return mete_eval(o);
}
static int run(const void *o)
{
    return mete_run(o);
}
static int results(const void *o)
{
    return mete_results(o, &text_out);
}
static int report(const void *o)
{
    return mete_report(o);
}
static int serve(const void *o)
{
    return mete_serve(o);
}
static int questions(const void *o)
{
    return mete_questions(o, &questions_out);
}
static int answers(const void *o)
{
    return mete_answers_import(o, &answers_out);
}
static int adapt(const void *o)
{
    return mete_adapt_person(o, NULL);
}
static int predictions(const void *o)
{
    return mete_predictions(o, &predictions_out);
}
static int plan(const void *o)
{
    return mete_plan(o, "text", &text_out);
}
static int data(const void *o)
{
    struct mete_data *d = NULL;
    return mete_data_make(&d, o);
}

static const struct {
    int (*call)(const void *options);
    size_t size;
} calls[] = {
    {import, sizeof(struct mete_import_options)},
    {sheet, sizeof(struct mete_sheet_options)},
    {fetch, sizeof(struct mete_fetch_options)},
    {tasks, sizeof(struct mete_tasks_options)},
    {grad, sizeof(struct mete_grad_options)},
    {speed, sizeof(struct mete_speed_options)},
    {train, sizeof(struct mete_train_options)},
    {fit, sizeof(struct mete_fit_options)},
    {eval, sizeof(struct mete_eval_options)},
    {run, sizeof(struct mete_run_options)},
    {results, sizeof(struct mete_results_options)},
    {report, sizeof(struct mete_report_options)},
    {serve, sizeof(struct mete_serve_options)},
    {questions, sizeof(struct mete_questions_options)},
    {answers, sizeof(struct mete_answers_options)},
    {adapt, sizeof(struct mete_adapt_options)},
    {predictions, sizeof(struct mete_predictions_options)},
    {plan, sizeof(struct mete_plan_options)},
    {data, sizeof(struct mete_data_parts)},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* Some of these need a library that a build may lack; that is said first, and is as good. */
static int refused(int err)
{
    return (err == METE_EINVAL || err == METE_EMISSING) && *mete_errmsg();
}

TEST(options_may_be_missing_or_empty)
{
    for (int i = 0; i < CALLS; i++) {
        char none[ROOM] = {0};
        CHECK(refused(calls[i].call(NULL)));
        memcpy(none, &calls[i].size, sizeof calls[i].size);
        CHECK(refused(calls[i].call(none)));
    }
}

TEST(a_size_that_was_forgotten_is_named)
{
    for (int i = 0; i < CALLS; i++) {
        char none[ROOM] = {0};
        int err = calls[i].call(none);
        CHECK(refused(err));
        if (err == METE_EINVAL)
            CHECK_HAS(mete_errmsg(), ".size is 0; set it to sizeof(struct mete_");
    }
}

TEST(fields_of_a_later_version_are_refused_unless_zero)
{
    for (int i = 0; i < CALLS; i++) {
        char later[ROOM] = {0};
        size_t size = calls[i].size + 16;
        memcpy(later, &size, sizeof size);
        CHECK(refused(calls[i].call(later)));
        CHECK(!strstr(mete_errmsg(), "later mete"));
        later[calls[i].size + 8] = 1;
        int err = calls[i].call(later);
        CHECK(refused(err));
        if (err == METE_EINVAL)
            CHECK_HAS(mete_errmsg(), "has fields of a later mete than");
    }
}

TEST(an_earlier_version_of_a_description_is_filled_as_far_as_it_goes)
{
    struct mete_data_info info, before;
    memset(&info, 0x55, sizeof info);
    before = info;
    info.size = 0;
    CHECK_EQ(mete_data_info("glyphs", &info), METE_EINVAL);
    info.size = offsetof(struct mete_data_info, users);
    CHECK_EQ(mete_data_info("glyphs", &info), 0);
    CHECK_STR(info.name, "glyphs");
    CHECK(info.classes > 0);
    CHECK_EQ(info.users, before.users);
    CHECK_EQ(info.unlabelled, before.unlabelled);
}

TEST(nowhere_to_put_it_is_said)
{
    struct mete_data_parts parts = {.size = sizeof parts};
    CHECK_EQ(mete_model_load(NULL, "x", NULL), METE_EINVAL);
    CHECK_EQ(mete_model_load_bytes(NULL, "x", 1, NULL), METE_EINVAL);
    CHECK_EQ(mete_data_make(NULL, &parts), METE_EINVAL);
    CHECK_EQ(mete_data_open(NULL, "glyphs"), METE_EINVAL);
    CHECK_EQ(mete_data_info("glyphs", NULL), METE_EINVAL);
    CHECK_EQ(mete_data_info(NULL, NULL), METE_EINVAL);
    CHECK_EQ(mete_data_verify(NULL), METE_EINVAL);
    CHECK_EQ(mete_show(NULL, NULL, NULL, NULL), METE_EINVAL);
    CHECK_EQ(mete_learner_add(NULL, NULL), METE_EINVAL);
    CHECK_EQ(mete_learner_remove(NULL), METE_EINVAL);
    CHECK_EQ(mete_strategy_add(NULL, NULL), METE_EINVAL);
    CHECK_EQ(mete_strategy_remove(NULL), METE_EINVAL);
}

TEST(threads_below_zero_are_refused)
{
    struct mete_fit_options o = {
        .size = sizeof o, .bench = "glyphs:5w-1s@200", .threads = -4, .no_folder = 1};
    CHECK_EQ(mete_fit(&o, NULL), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "-4 threads");
}

TESTS(T(options_may_be_missing_or_empty), T(a_size_that_was_forgotten_is_named),
      T(fields_of_a_later_version_are_refused_unless_zero),
      T(an_earlier_version_of_a_description_is_filled_as_far_as_it_goes),
      T(nowhere_to_put_it_is_said), T(threads_below_zero_are_refused))
