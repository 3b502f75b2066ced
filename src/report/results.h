/* results.h - what a database says, one row for every variant (a run without its
 * seed) and test: the material of tables and figures.
 */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include "mete.h"

struct store;

/* The fields that every result has, by their names in suites. */
#define RESULT_FIELDS(X)                                                                           \
    X(DATASET, "dataset")                                                                          \
    X(WAYS, "ways")                                                                                \
    X(SHOTS, "shots") /* of training */                                                            \
    X(BUDGET, "budget")                                                                            \
    X(METHOD, "method")                                                                            \
    X(LABELS, "labels")                                                                            \
    X(NET, "net")                                                                                  \
    X(BENCH, "bench")                                                                              \
    X(TEST_SHOTS, "test_shots")                                                                    \
    X(SUPPORT, "support")                                                                          \
    X(BN, "bn")                                                                                    \
    X(MODEL, "model")                                                                              \
    X(TASKS, "tasks") /* training tasks bought */
enum result_field {
#define X(id, name) FIELD_##id,
    RESULT_FIELDS(X)
#undef X
        FIELDS
};

struct result {
    char *field[FIELDS]; /* as text; "" where there is none, such as a budget */
    char variant[17];
    int64_t first_run; /* a run of this variant, for its settings */
    int seeds, test_tasks;
    bool users; /* tasks are users', and half_tasks is over users */
    double accuracy;
    double half_seeds, half_tasks; /* NaN where there is none */
    double accuracy_before, ece;
    double valid_accuracy; /* what the choice among variants goes by */
    double labels_used;
    double worse_share; /* of test tasks that adaptation made worse */
    double kept_share, adapted_accuracy, adapted_worse_share; /* of test.keep=by-support; or NaN */
};

struct result_list {
    struct store *store; /* borrowed; settings are looked up on demand */
    struct result *at;
    int n;
    int done, planned, running, failed; /* runs */
    struct result *missing;             /* (n_missing) runs that are not done: what is known of */
    int n_missing;                      /* them, "" for the test and what it came to */
};

/* Results of the suite `suite` (NULL: of every run), of the model "best" or "last";
 * in the order of the runs. */
int result_list_read(struct result_list *out, struct store *s, const char *suite,
                     const char *model);
void result_list_release(struct result_list *r);

/* The value of a field or setting, as text; free() it.  "" where it has none. */
char *result_get(const struct result_list *all, const struct result *r, const char *name);
/* The same, as people write it: 30K, 5-way, no cap.  free() it. */
char *result_show(const char *name, const char *value);
/* The same where the name does not stand beside it: a setting's value has its name. */
char *result_head(const char *name, const char *value);
const char *field_title(const char *name); /* "test shots" */
/* Numbers by size, texts as they come: <0, 0, >0. */
int result_compare(const char *a, const char *b);

#endif
