/* test_callbacks.c - the public functions with callbacks that are missing, that call back, that
 * stop the work late, and in a program that has a locale of its own. */
#include <string.h>
#include "test.h"
#include "files.h"
#include "tiny.h"
#include "base/file.h"
#include "base/log.h"
#include "mete.h"

#include <locale.h>

static const char *const settings[] = {"net.hidden=4",      "train.steps=4",  "train.meta_batch=2",
                                       "train.val_tasks=4", "test.tasks=300", NULL};

static const char *benchmark(void)
{
    static char name[600];
    if (!*name) {
        struct dataset *d = tiny_dataset(24, 12, 0);
        snprintf(name, sizeof name, "%s:2w-1s@50", scratch("data"));
        if (dataset_write(scratch("data"), d, false) != 0)
            abort();
        dataset_close(d);
    }
    return name;
}

static struct mete_train_options training(const char *folder)
{
    return (struct mete_train_options){.size = sizeof(struct mete_train_options),
                                       .bench = benchmark(),
                                       .method = "protonet",
                                       .net = "mlp",
                                       .folder = folder,
                                       .set = settings,
                                       .seed = 1,
                                       .threads = 1};
}

TEST(missing_callbacks_are_not_called)
{
    const char *summary;
    struct mete_train_options train = training(scratch("null"));
    CHECK_OK(mete_list(NULL, NULL, NULL));
    CHECK_OK(mete_show("maml", &summary, NULL, NULL));
    CHECK_OK(mete_show("run", NULL, NULL, NULL));
    CHECK(mete_data_importer(0, NULL, NULL, NULL));
    CHECK_OK(mete_train(&train));
    train.print_config = true;
    CHECK_OK(mete_train(&train));
    char *model = mem_print("%s/best.safetensors", scratch("null"));
    struct mete_eval_options eval = {.size = sizeof eval, .model = model, .threads = 1};
    CHECK_OK(mete_eval(&eval));
    free(model);
}

static int calls;

static void log_again(void *user, enum mete_log_level level, const char *message)
{
    (void)user, (void)level, (void)message;
    calls++;
    mete_log_to(NULL, NULL); /* would wait for ever for itself */
    log_info("said while saying something");
}

static int asks_again(void *user, const struct mete_progress *p)
{
    (void)user, (void)p;
    calls++;
    mete_log_to(log_again, NULL);
    mete_progress_to(NULL, NULL);
    log_info("said while telling progress");
    return 0;
}

TEST(a_callback_may_give_other_callbacks)
{
    calls = 0;
    mete_log_to(log_again, NULL);
    log_info("something");
    CHECK_EQ(calls, 1);
    mete_progress_to(asks_again, NULL);
    CHECK_EQ(progress("work", 1, 2), 0);
    CHECK_EQ(calls, 3);
    CHECK_EQ(progress("work", 2, 2), 0);
    CHECK_EQ(calls, 3);
}

static int stop_when_trained(void *user, const struct mete_progress *p)
{
    int *seen = user;
    return strncmp(p->detail, "testing", 7) == 0 && ++*seen >= 3;
}

TEST(tests_can_be_stopped)
{
    int seen = 0;
    struct mete_train_options train = training(scratch("stopped"));
    mete_progress_to(stop_when_trained, &seen);
    int err = mete_train(&train);
    mete_progress_to(NULL, NULL);
    CHECK_EQ(err, METE_ESTOPPED);
    CHECK_EQ(seen, 3); /* and at once */
}

static void keep(void *user, const struct mete_test *t)
{
    *(double *)user = t->accuracy;
}

static char *config_of(void)
{
    size_t size;
    char *text = NULL, *path = mem_print("%s/config.yaml", scratch("run"));
    if (file_read(path, 1 << 20, &text, &size) != 0)
        abort();
    free(path);
    return text;
}

/* The numbers of a locale as glibc has them on the disk: offsets of six values (the decimal point,
 * the separator of thousands, groups, both as wide characters, the character set), and these. */
static void write_locale(void)
{
    const uint32_t head[] = {0x20031115 ^ 1, 6, 32, 34, 36, 40, 44, 48}, wide[] = {',', '.'};
    char values[22] = ",\0.\0\3\3";
    memcpy(values + 8, wide, sizeof wide);
    memcpy(values + 16, "UTF-8", 6);
    shell("mkdir -p '%s'", scratch("comma"), "");
    FILE *f = fopen(scratch("comma/LC_NUMERIC"), "w");
    if (!f || fwrite(head, sizeof head, 1, f) != 1 || fwrite(values, sizeof values, 1, f) != 1 ||
        fclose(f) != 0)
        abort();
}

/* A decimal comma in the program's locale changes no number that is read or written. */
TEST(a_program_with_a_locale_gets_the_same)
{
    static const char *const set[] = {
        "net.hidden=4",  "train.steps=4",   "train.meta_batch=2", "train.val_tasks=4",
        "test.tasks=20", "outer.lr=0.0125", "budget.cost=1.5",    NULL};
    double here = 0, there = -1;
    struct mete_train_options train = training(scratch("run"));
    train.set = set;
    train.user = &here;
    train.test = keep;
    CHECK_OK(mete_train(&train));
    char *config = config_of(), *again = NULL;
    shell("rm -rf '%s'", scratch("run"), "");
    write_locale();
    setenv("LOCPATH", scratch_dir, 1);
    if (!setlocale(LC_NUMERIC, "comma") || localeconv()->decimal_point[0] != ',') {
        free(config);
        SKIP("the C library does not read locales as glibc does");
    }
    train.user = &there;
    int err = mete_train(&train);
    bool kept = localeconv()->decimal_point[0] == ',';
    setlocale(LC_ALL, "C");
    CHECK_EQ(err, 0);
    CHECK(kept);
    CHECK_NEAR(there, here, 0);
    again = config_of();
    CHECK_STR(again, config);
    free(config);
    free(again);
}

TESTS(T(missing_callbacks_are_not_called), T(a_callback_may_give_other_callbacks),
      T(tests_can_be_stopped), T(a_program_with_a_locale_gets_the_same))
