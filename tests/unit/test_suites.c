/* test_suites.c - every suite that is shipped resolves: each key is a setting of its
 * runs.  Data sets are not looked at. */
#include "test.h"
#include "run/experiment.h"

#include <unistd.h>

static int count_runs(const char *name)
{
    char path[64];
    struct run_rules own;
    struct config_rules rules = run_rules(&own, NULL);
    struct suite *s = NULL;
    rules.check = NULL;
    snprintf(path, sizeof path, "suites/%s.yaml", name);
    if (suite_open(&s, path, NULL, 0, &rules) != 0) {
        fprintf(stderr, "%s\n", mete_errmsg());
        return -1;
    }
    int runs = strcmp(s->name, name) == 0 && s->n_drawings > 0 ? s->n_runs : -1;
    suite_close(s);
    return runs;
}

TEST(every_suite_resolves_to_the_papers_grid)
{
#ifndef METE_HAVE_YAML
    SKIP("built without libyaml");
#endif
    CHECK_EQ(count_runs("quick"), 3 * 2 * 5);
    CHECK_EQ(count_runs("omniglot-first"), 7 * 2);
    CHECK_EQ(count_runs("table1-omniglot"),
             4 * 3 * 3 * 2 * 3); /* budgets shots methods R/A seeds */
    CHECK_EQ(count_runs("table1-miniimagenet"), 2 * 3 * 3 * 2 * 3);
    CHECK_EQ(count_runs("recipe-omniglot"), 4 * 3 * 3 * 2 * 3);
    CHECK_EQ(count_runs("recipe-miniimagenet"), 2 * 2 * 2 * 5 * 3); /* budgets R/A shots learners */
    CHECK_EQ(count_runs("recipe-femnist"), 3 * 3 * 2 * 3 * 5 + 3 * 3 * 3 * 5);
    CHECK_EQ(count_runs("table1-femnist"), 3 * 3 * 3 * 2 * 3);
    CHECK_EQ(count_runs("table2"), 3 * 2 * 2 * 3);
    CHECK_EQ(count_runs("table3"), 6 * 3 * 3);
    CHECK_EQ(count_runs("relabel"), 3 * 2 * 2 * 2 * 3); /* shots methods R/A no/yes seeds */
    CHECK_EQ(count_runs("resplit"), 2 * 3 * 2 * 2 * 3);
    CHECK_EQ(count_runs("appendix-b"), 2 * 3 * 3);
    CHECK_EQ(count_runs("figure1"), 14 * 2 * 3);
    CHECK_EQ(count_runs("figure2"), 2 * 3 * 2 * 3 * 3);
    CHECK_EQ(count_runs("figure3"), 3 * 4 * 3 * 3);
}

TESTS(T(every_suite_resolves_to_the_papers_grid))
