/* train.c - Algorithm 1, and the classical regime (a fresh task every time). */
#include "run/train.h"
#include "base/clock.h"
#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Tasks asked for in one call: few, since a strategy may embed hundreds of images of each, and only
 * between calls progress shows and a run can be stopped. */
enum { BUY_AT_ONCE = 32 };

void trainer_release(struct trainer *t)
{
    collection_release(&t->bought);
    remix_release(&t->remix);
    redraw_release(&t->redraw);
    free(t->history);
    tensors_release(&t->best);
    free(t->labels);
    free(t->items);
    t->labels = t->items = NULL;
    t->history = NULL;
}

static bool classical(const struct trainer *t)
{
    return ledger_cap(t->ledger) == 0;
}

/* Buys up to `want` tasks with the current learner; *got is how many. */
static int buy(struct trainer *t, int want, struct episode *episodes, int *got)
{
    struct label_request q = {.tasks = t->tasks,
                              .part = SPLIT_TRAIN,
                              .first = t->asked,
                              .n = want,
                              .ledger = t->ledger,
                              .learner = t->learner,
                              .threads = t->learner->is.threads};
    int err = labeller_buy(&t->setup->labeller, &q, episodes, got);
    if (!err)
        t->asked += *got;
    return err;
}

/* How many more users to ask in vain before all they have is bought: a budget larger than that
 * is not spent. */
static int64_t patience_with_users(const struct trainer *t)
{
    const struct ledger_row *rows;
    int64_t users = tasks_count(t->tasks, SPLIT_TRAIN), paid = 0;
    for (int64_t i = ledger_rows(t->ledger, &rows) - 1; i >= 0 && paid == 0; i--)
        if (rows[i].cost > 0 && rows[i].kind != KIND_VALIDATION)
            paid = rows[i].task + 1;
    return users - (t->asked - paid);
}

/* Grows the collection by what is due before this step (Algorithm 1, lines 3-11). */
static int grow(struct trainer *t)
{
    int64_t due = t->spent ? 0 : budget_due(&t->setup->budget, t->step, t->asked);
    struct episode *episodes = mem_array(BUY_AT_ONCE, sizeof *episodes);
    int err = 0;
    while (due > 0 && !err && !t->spent) {
        int64_t most = patience_with_users(t);
        int want = due < BUY_AT_ONCE ? (int)due : BUY_AT_ONCE, got = 0;
        want = most < want ? (int)most : want;
        err = buy(t, want, episodes, &got);
        if (err)
            break;
        collection_add(&t->bought, episodes, got);
        t->spent = got < want || patience_with_users(t) <= 0;
        due -= got;
        if (got > 0)
            err = meter_add(t->meter, 0);
    }
    free(episodes);
    if (!err && t->bought.n == 0)
        err = fail(METE_EBUDGET, "the budget does not pay for a single task");
    return err;
}

/* One meta-update over tasks of the collection, or over fresh ones. */
static int update(struct trainer *t, struct labelled_task *labelled, struct episode *fresh)
{
    int batch = t->setup->train.meta_batch, n = 0, err = 0;
    if (classical(t)) {
        err = buy(t, batch, fresh, &n);
        for (int i = 0; i < n && !err; i++)
            labelled[i] = labelled_task_of(&fresh[i], t->step);
    } else if (t->setup->train.remix) {
        err = remix_draw(&t->remix, &t->bought, t->tasks, t->seed, t->step, batch, labelled, &n);
    }
    if (!err && n == 0) {
        n = collection_draw(&t->bought, (enum reuse)t->setup->train.reuse, t->seed, t->step, batch,
                            labelled);
    }
    if (!err && t->setup->train.redraw)
        err = redraw_items(&t->redraw, &t->bought, t->tasks, t->seed, labelled, n);
    if (!err && t->setup->train.relabel)
        tasks_relabel(labelled, n, tasks_ways(t->tasks), t->seed, &t->labels);
    if (!err && t->setup->train.resplit == RESPLIT_YES)
        tasks_resplit(labelled, n, tasks_ways(t->tasks), t->seed, &t->items);
    else if (!err && t->setup->train.resplit == RESPLIT_ANY)
        tasks_split_anyhow(labelled, n, t->seed, &t->items);
    if (!err)
        err = learner_step(t->learner, labelled, n);
    for (int i = 0; classical(t) && i < n; i++)
        episode_release(&fresh[i]);
    return err;
}

static int diverged(const struct trainer *t, double loss)
{
    return fail(
        METE_EDIVERGE,
        "training diverged by step %lld: the loss is %g; try a smaller outer.lr or inner.lr",
        (long long)t->step, loss);
}

/* A checkpoint, where the last one is long ago as against the time it took: where a disk is
 * slower than the training, saving should not be what a run does (on an H200 a third of a
 * ProtoNets run was). */
static int save(struct trainer *t)
{
    enum { APART = 20 }; /* so it is a twentieth at most */
    double start = seconds_now();
    bool last_chance = t->meter && t->meter->stop_at_checkpoint;
    if (!last_chance && t->saved_at > 0 && start - t->saved_at < APART * t->save_took)
        return 0;
    int err = checkpoint_write(t);
    t->saved_at = seconds_now();
    t->save_took = t->saved_at - start;
    return err;
}

/* The mean loss of the updates since the last call, and whether they went well. */
static int training_loss(struct trainer *t, double *loss)
{
    int err = learner_loss(t->learner, true, loss);
    if (!err && !isfinite(*loss))
        err = diverged(t, *loss);
    if (!err && !learner_finite(t->learner))
        err = diverged(t, NAN);
    return err;
}

static void note_validation(const struct trainer *t, const struct score *score,
                            const struct ledger_totals *totals, double loss)
{
    struct meter *m = t->meter;
    m->accuracy = score->accuracy;
    m->half = score->half;
    m->loss = loss;
    m->valid_step = t->step;
    m->tasks = totals->tasks;
    m->labels = totals->labels;
    m->validations++;
}

/* Also before the first update: how far training brings a model needs a start. */
static int validate(struct trainer *t)
{
    struct score score;
    struct ledger_totals totals = ledger_totals(t->ledger);
    double loss = NAN;
    int err = t->step > 0 ? training_loss(t, &loss) : 0;
    if (!err)
        err = evaluate(t->learner, &t->validation, &score);
    if (err)
        return err;
    t->history = mem_grow(t->history, (size_t)t->n_history + 1, sizeof *t->history);
    t->history[t->n_history++] = (struct store_checkpoint){.step = t->step,
                                                           .shots = t->setup->train.val_shots,
                                                           .tasks = totals.tasks,
                                                           .labels = totals.labels,
                                                           .train_loss = loss,
                                                           .accuracy = score.accuracy,
                                                           .half = score.half,
                                                           .loss = score.loss};
    if (t->n_history == 1 || score.accuracy > t->best_accuracy || t->learner->is.last_is_best) {
        tensors_release(&t->best);
        err = learner_save(t->learner, LEARNER_MODEL, &t->best);
        t->best_step = t->step;
        t->best_accuracy = score.accuracy;
    }
    if (t->meter)
        note_validation(t, &score, &totals, loss);
    score_release(&score);
    return !err && t->folder && t->step > 0 ? save(t) : err;
}

/* The loss is looked at now and then: a run that has diverged should not go on for long, and
 * what has been asked of a GPU should not be far ahead of what it has done. */
static int look(struct trainer *t)
{
    double loss;
    int err = learner_loss(t->learner, false, &loss);
    return !err && !isfinite(loss) ? diverged(t, loss) : err;
}

/* Whether enough validations in a row have brought no better model.  They count from when the
 * budget was spent, so that no label that was paid for goes unused; what a checkpoint keeps says
 * which they are. */
static bool out_of_patience(const struct trainer *t)
{
    int patience = t->setup->train.patience, waited = 0;
    int64_t labels = ledger_totals(t->ledger).labels;
    for (int i = t->n_history - 1; i >= 0 && t->history[i].step > t->best_step; i--)
        waited += classical(t) || (t->spent && t->history[i].labels == labels);
    return patience > 0 && waited >= patience;
}

/* A run that is asked to stop at a checkpoint has just written one. */
static int stop_if_asked(const struct trainer *t)
{
    bool asked = t->folder && t->meter && t->meter->stop_at_checkpoint;
    return asked ? fail(METE_ESTOPPED, "stopped at step %lld", (long long)t->step) : 0;
}

/* What is told of a run that goes on from a checkpoint. */
static void restore_meter(const struct trainer *t)
{
    const struct train_settings *s = &t->setup->train;
    struct meter *m = t->meter;
    if (!m || t->step == 0)
        return;
    m->step = t->step;
    m->accuracy = t->n_history ? t->history[t->n_history - 1].accuracy : NAN;
    m->restored = (double)(METER_UPDATE * s->meta_batch) * (double)t->step +
                  (double)t->n_history * t->validation.n;
    m->done += m->restored;
}

static int train_steps(struct trainer *t, struct labelled_task *labelled, struct episode *fresh)
{
    const struct train_settings *s = &t->setup->train;
    bool enough = out_of_patience(t); /* before it was killed */
    while (t->step < s->steps && !enough) {
        int err = classical(t) ? 0 : grow(t);
        if (!err)
            err = update(t, labelled, fresh);
        if (err)
            return err;
        t->step++;
        if (t->meter)
            t->meter->step = t->step;
        if (t->step % s->validate_every == 0 || t->step == s->steps) {
            err = validate(t);
            enough = out_of_patience(t);
            if (!err && !enough && t->step < s->steps)
                err = stop_if_asked(t);
        } else if (t->step % LEARNER_AHEAD == 0) {
            err = look(t);
        }
        if (!err)
            err = meter_add(t->meter, METER_UPDATE * s->meta_batch);
        if (err)
            return err;
    }
    return 0;
}

int train(struct trainer *t)
{
    int batch = t->setup->train.meta_batch;
    int err = t->folder ? checkpoint_read(t) : 0;
    if (err)
        return err;
    struct labelled_task *labelled = mem_array((size_t)batch, sizeof *labelled);
    struct episode *fresh = mem_array((size_t)batch, sizeof *fresh);
    restore_meter(t);
    if (t->step == 0)
        err = validate(t);
    if (!err)
        err = train_steps(t, labelled, fresh);
    learner_leave(t->learner);
    free(labelled);
    free(fresh);
    return err;
}
