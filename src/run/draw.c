/* draw.c - a benchmark's tasks, for `mete tasks`. */
#include "label/label.h"
#include "task/task_file.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <inttypes.h>
#include <stdlib.h>

struct drawing_tasks {
    struct dataset *d;
    struct tasks *tasks;
    struct ledger *ledger;
    struct labeller labeller;
    struct task_settings settings;
    struct task_file file;
};

static void release(struct drawing_tasks *w)
{
    task_file_release(&w->file);
    labeller_close(&w->labeller);
    ledger_close(w->ledger);
    tasks_close(w->tasks);
    dataset_close(w->d);
}

static int open_all(struct drawing_tasks *w, const struct mete_tasks_options *o)
{
    struct param_set set = {0};
    struct budget_settings plain; /* nobody pays for looking: counted, without a cap */
    struct bench bench;
    const char *labels = o->labels ? o->labels : "stratified";
    int err = labeller_open(&w->labeller, labels);
    if (err)
        return err;
    if (w->labeller.ops->needs & LABEL_LEARNER)
        return fail(METE_EINVAL,
                    "the strategy '%s' chooses by a learner's view, which tasks alone do not "
                    "provide; use random or stratified",
                    labels);
    param_defaults(budget_params, &plain);
    param_set_add(&set, "", task_params, &w->settings);
    labeller_params(&w->labeller, &set);
    err = o->set ? param_set_all(&set, o->set) : 0;
    if (!err)
        err = split_part_find(o->part ? o->part : "test", &w->file.part);
    if (!err)
        err = bench_parse(&bench, o->bench);
    if (!err)
        err = dataset_find(&w->d, bench.dataset);
    if (!err)
        dataset_tell_unlabelled(w->d);
    if (!err)
        err = tasks_open(&w->tasks, w->d, &bench, &w->settings, (uint64_t)o->seed);
    if (!err)
        err = tasks_check(w->tasks, w->file.part);
    if (!err)
        err = ledger_open(&w->ledger, w->tasks, &plain, 0, false);
    w->file.support = mem_string(labels);
    return err;
}

static int buy_all(struct drawing_tasks *w, const struct mete_tasks_options *o)
{
    int64_t count = tasks_count(w->tasks, w->file.part), n = o->n;
    if (n > count)
        return fail(METE_EINVAL, "--n %" PRId64 ": the %s part has %" PRId64 " users, a task each",
                    n, split_part_name(w->file.part), count);
    if (n == 0)
        n = tasks_are_users(w->tasks) ? count : 600;
    struct label_request q = {
        .tasks = w->tasks, .part = w->file.part, .n = (int)n, .ledger = w->ledger};
    w->file.episodes = mem_array((size_t)n, sizeof *w->file.episodes);
    w->file.seed = o->seed;
    w->file.ways = tasks_ways(w->tasks);
    w->file.shots = tasks_shots(w->tasks);
    return labeller_buy(&w->labeller, &q, w->file.episodes, &w->file.n);
}

static int covered(const struct episode *e)
{
    uint8_t *seen = mem_array((size_t)e->ways + 1, 1);
    int n = 0;
    for (int i = 0; i < e->n_support; i++)
        n += !seen[e->support_label[i]]++;
    free(seen);
    return n;
}

static int summarise(const struct drawing_tasks *w, struct mete_tasks *out)
{
    struct task task = {0};
    int err = 0;
    *out = (struct mete_tasks){
        .n = w->file.n,
        .ways = w->file.ways,
        .shots = w->file.shots,
        .groups = tasks_split(w->tasks)->n[w->file.part],
        .users = tasks_are_users(w->tasks),
    };
    for (int i = 0; i < w->file.n && !err; i++) {
        const struct episode *e = &w->file.episodes[i];
        err = task_draw(w->tasks, w->file.part, e->task, &task);
        out->pool += (double)task.n_pool / out->n;
        out->support += (double)e->n_support / out->n;
        out->query += (double)e->n_query / out->n;
        out->covered += (double)covered(e) / out->n;
    }
    task_release(&task);
    return err;
}

int mete_tasks(const struct mete_tasks_options *given, struct mete_tasks *out, char **json)
{
    NUMBER_LOCALE;
    struct mete_tasks_options own, *o = &own;
    struct drawing_tasks w = {0};
    struct mete_tasks summary;
    int err = options_take(o, sizeof own, given, "mete_tasks_options");
    if (!err)
        err = o->n < 0 || o->seed < 0
                  ? fail(METE_EINVAL, "tasks: the number and the seed may not be negative")
                  : open_all(&w, o);
    if (!err)
        err = buy_all(&w, o);
    if (!err)
        err = summarise(&w, &summary);
    if (!err && o->out)
        err = task_file_write(o->out, &w.file, w.d);
    if (!err) {
        if (out)
            *out = summary;
        if (json)
            *json = task_file_text(&w.file, w.d);
    }
    release(&w);
    return err;
}
