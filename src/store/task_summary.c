/* task_summary.c - the mean over test tasks, and its interval: over users where tasks are theirs.
 */
#include "store/store.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static int by_user(const void *a, const void *b)
{
    const struct store_task *x = *(const struct store_task *const *)a;
    const struct store_task *y = *(const struct store_task *const *)b;
    int order = strcmp(x->user, y->user);
    return order ? order : x->number - y->number;
}

static double value_of(const struct store_task *t, bool before)
{
    return before ? t->accuracy_before : t->accuracy;
}

/* The mean of each user's tasks into out (n); how many users. */
static size_t user_means(const struct store_task *tasks, size_t n, bool before, double *out)
{
    const struct store_task **sorted = mem_array(n, sizeof *sorted);
    size_t users = 0;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &tasks[i];
    qsort(sorted, n, sizeof *sorted, by_user);
    for (size_t i = 0, end; i < n; i = end) {
        double sum = 0;
        for (end = i; end < n && strcmp(sorted[end]->user, sorted[i]->user) == 0; end++)
            sum += value_of(sorted[end], before);
        out[users++] = sum / (double)(end - i);
    }
    free(sorted);
    return users;
}

struct summary task_summary(const struct store_task *tasks, int n, bool before)
{
    double *x = mem_array((size_t)n + 1, sizeof *x);
    bool users = n > 0;
    size_t many = (size_t)n;
    for (int i = 0; i < n; i++) {
        x[i] = value_of(&tasks[i], before);
        users = users && tasks[i].user;
    }
    if (users)
        many = user_means(tasks, many, before, x);
    struct summary s = summary_of(x, many);
    free(x);
    return s;
}
