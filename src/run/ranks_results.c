/* ranks_results.c - results as a message.  Rows of numbers go as they are: ranks are of one build.
 */
#include "run/ranks_results.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

static void put_test(struct message *m, const struct store_test *t)
{
    message_put(m, t, sizeof *t);
    message_put_text(m, t->model);
    message_put_text(m, t->support);
    message_put_text(m, t->bn);
    message_put(m, t->tasks, (size_t)t->n_tasks * sizeof *t->tasks);
    for (int i = 0; i < t->n_tasks; i++)
        message_put_text(m, t->tasks[i].user);
}

void put_results(struct message *m, const struct results *r)
{
    message_put(m, &r->all, sizeof r->all);
    for (int i = 0; i < r->all.n_tests; i++)
        put_test(m, &r->tests[i]);
    message_put(m, r->checkpoints, (size_t)r->all.n_checkpoints * sizeof *r->checkpoints);
    message_put(m, r->ledger, (size_t)r->all.n_ledger * sizeof *r->ledger);
    for (int i = 0; i < r->all.n_measures; i++) {
        message_put_text(m, r->measures[i].name);
        message_put_real(m, r->measures[i].value);
        message_put_real(m, r->measures[i].half);
    }
    message_put_text(m, r->env);
}

/* An array of n; NULL, and a message that is too short, where it does not hold so many. */
static void *get_rows(struct message *m, int64_t n, size_t size)
{
    size_t left = m->size - m->got;
    if (n < 0 || (uint64_t)n > left / size) {
        m->short_ = true;
        return NULL;
    }
    void *rows = mem_array((size_t)n + 1, size);
    message_get(m, rows, (size_t)n * size);
    return rows;
}

static void get_test(struct message *m, struct store_test *t)
{
    message_get(m, t, sizeof *t);
    t->model = message_get_text(m);
    t->support = message_get_text(m);
    t->bn = message_get_text(m);
    struct store_task *tasks = get_rows(m, t->n_tasks, sizeof *tasks);
    for (int i = 0; tasks && i < t->n_tasks; i++)
        tasks[i].user = message_get_text(m);
    t->tasks = tasks;
}

static void get_all(struct message *m, struct results *out)
{
    struct store_results *r = &out->all;
    int n_tests;
    message_get(m, r, sizeof *r);
    n_tests = r->n_tests <= 2 * TEST_SHOTS_MAX ? r->n_tests : 0;
    m->short_ = m->short_ || n_tests != r->n_tests;
    r->n_tests = 0;
    for (; r->n_tests < n_tests && !m->short_; r->n_tests++)
        get_test(m, &out->tests[r->n_tests]);
    r->tests = out->tests;
    r->checkpoints = out->checkpoints = get_rows(m, r->n_checkpoints, sizeof *out->checkpoints);
    r->ledger = out->ledger = get_rows(m, r->n_ledger, sizeof *out->ledger);
    r->measures = out->measures = mem_array((size_t)r->n_measures + 1, sizeof *out->measures);
    for (int i = 0; i < r->n_measures && !m->short_; i++) {
        out->measures[i].name = message_get_text(m);
        out->measures[i].value = message_get_real(m);
        out->measures[i].half = message_get_real(m);
    }
    const char *env = message_get_text(m);
    r->env = out->env = env ? mem_string(env) : NULL;
}

int get_results(struct message *m, struct results *out)
{
    *out = (struct results){0};
    get_all(m, out);
    out->texts = m->at;
    int err = message_check(m);
    *m = (struct message){0};
    if (err)
        results_release(out);
    return err;
}
