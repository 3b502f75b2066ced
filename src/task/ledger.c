/* ledger.c - charging, revealing and recording. */
#include "task/ledger.h"
#include "task/cost.h"
#include "task/hidden.h"
#include "task/label_set.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is known of an item: paid for (with UNIT_UNIQUE), met in training, met in validation. */
enum { PAID = 1, TRAINED = 2, VALIDATED = 4 };

struct ledger {
    const struct tasks *tasks;
    const struct dataset *d;
    struct cost cost;
    int charge, unit;
    millionths cap;  /* 0: none */
    millionths held; /* set aside by open purchases */
    struct ledger_totals totals;
    uint8_t *item; /* (items) PAID, … */
    bool keep;
    struct ledger_row *row;
    int64_t rows, room;
    struct label_set validated; /* labels of validation tasks */
};

const char *ledger_kind_name(int kind)
{
    static const char *const names[LEDGER_KINDS] = {"support", "query", "validation"};
    return names[kind];
}

/* The training items and what they cost together. */
static void price_of_all(const struct ledger *l, int64_t *items, millionths *cost)
{
    const struct split *split = tasks_split(l->tasks);
    const int32_t *key = split->users ? l->d->user : l->d->y;
    int groups = split->users ? l->d->users : l->d->classes;
    uint8_t *train = mem_array((size_t)groups, 1);
    *items = 0;
    *cost = 0;
    for (int i = 0; i < split->n[SPLIT_TRAIN]; i++)
        train[split->group[SPLIT_TRAIN][i]] = 1;
    for (int64_t i = 0; i < l->d->items; i++)
        if (l->d->y[i] != NO_LABEL && train[key[i]]) {
            ++*items;
            *cost = money_add(*cost, cost_of(&l->cost, l->d, (int32_t)i));
        }
    free(train);
}

/* A cap that is never reached would have the run buy for ever: where labels are free or nearly
 * so, or where all the training items together do not cost as much.  Of users everything can be
 * bought, and the run goes on with that (run/train.c). */
static int check_reachable(const struct ledger *l)
{
    enum { LABELS_MAX = INT32_MAX };
    int64_t items;
    millionths all;
    price_of_all(l, &items, &all);
    bool users = tasks_are_users(l->tasks);
    if (all == 0 && users)
        return 0;
    if (all == 0)
        return fail(METE_EINVAL,
                    "budget.cost: no training label of %s costs anything, so that a budget of %g "
                    "would never be spent; give a price, or no budget",
                    l->d->name, money_labels(l->cap));
    double labels = (double)l->cap / ((double)all / (double)items);
    if (l->unit == UNIT_UNIQUE && l->cap >= all && !users)
        return fail(METE_EINVAL,
                    "budget.unit=unique: the cap of %g is not below %g, what all training items "
                    "of %s cost together; lower it or count draws",
                    money_labels(l->cap), money_labels(all), l->d->name);
    if (l->unit == UNIT_DRAWS && labels > LABELS_MAX)
        return fail(METE_EINVAL,
                    "a budget of %g buys some %.3g labels at a mean price of %.3g; a run holds at "
                    "most %d: lower the budget",
                    money_labels(l->cap), labels, (double)l->cap / labels / MILLIONTHS, LABELS_MAX);
    return 0;
}

int ledger_open(struct ledger **out, const struct tasks *t, const struct budget_settings *s,
                double cap, bool rows)
{
    if (!(cap >= 0 && cap <= (double)MONEY_MAX / MILLIONTHS))
        return fail(METE_EINVAL, "a budget is a number from 0 to %g, got %g",
                    (double)MONEY_MAX / MILLIONTHS, cap);
    struct ledger *l = mem_alloc(sizeof *l);
    l->tasks = t;
    l->d = tasks_dataset(t);
    l->charge = s->charge;
    l->unit = s->unit != UNIT_AUTO         ? s->unit
              : tasks_are_users(t) && rows ? UNIT_UNIQUE
                                           : UNIT_DRAWS;
    l->cap = llround(cap * MILLIONTHS);
    l->keep = rows;
    l->item = mem_array((size_t)l->d->items, 1);
    int err = cost_open(&l->cost, l->d, s->cost);
    if (!err && l->cap > 0)
        err = check_reachable(l);
    if (err) {
        ledger_close(l);
        return err;
    }
    *out = l;
    return 0;
}

void ledger_close(struct ledger *l)
{
    if (!l)
        return;
    cost_release(&l->cost);
    label_set_release(&l->validated);
    free(l->item);
    free(l->row);
    free(l);
}

double ledger_cap(const struct ledger *l)
{
    return money_labels(l->cap);
}

struct ledger_totals ledger_totals(const struct ledger *l)
{
    return l->totals;
}

int64_t ledger_unique(const struct ledger *l)
{
    return l->totals.unique;
}

int64_t ledger_rows(const struct ledger *l, const struct ledger_row **rows)
{
    *rows = l->row;
    return l->rows;
}

const uint8_t *ledger_seen(const struct ledger *l, int64_t *items)
{
    *items = l->keep ? 0 : l->d->items;
    return l->keep ? NULL : l->item;
}

static int kind_of(const struct task *task, int round)
{
    return task->part == SPLIT_VAL ? KIND_VALIDATION : round < 0 ? KIND_QUERY : KIND_SUPPORT;
}

static bool is_charged(const struct ledger *l, int kind)
{
    return kind == KIND_VALIDATION ? l->charge == CHARGE_ALL
           : kind == KIND_QUERY    ? l->charge != CHARGE_SUPPORT
                                   : true;
}

/* What buying `item` would cost now. */
static millionths price(const struct ledger *l, const struct task *task, int32_t item, int round)
{
    int kind = kind_of(task, round);
    if (!is_charged(l, kind) || (l->unit == UNIT_UNIQUE && l->item[item] & PAID) ||
        (kind == KIND_VALIDATION && label_set_has(&l->validated, task->number, item)))
        return 0;
    return cost_of(&l->cost, l->d, item);
}

static void push(struct ledger *l, struct ledger_row row)
{
    if (l->rows == l->room) {
        l->room = l->room ? 2 * l->room : 1024;
        l->row = mem_grow(l->row, (size_t)l->room, sizeof *l->row);
    }
    l->row[l->rows++] = row;
}

/* Notes that a label of `item` is known; whether it is paid for from now on. */
static bool count_label(struct ledger *l, int32_t item, int kind)
{
    bool validation = kind == KIND_VALIDATION;
    uint8_t met = validation ? VALIDATED : TRAINED, *known = &l->item[item];
    bool paid = l->unit == UNIT_UNIQUE && !(*known & PAID) && is_charged(l, kind);
    int64_t *unique = validation ? &l->totals.unique_validation : &l->totals.unique;
    l->totals.kinds[kind] += l->totals.kinds[kind] >= 0;
    l->totals.labels += !validation;
    *unique += *unique >= 0 && !(*known & met);
    *known |= (uint8_t)(met | (paid ? PAID : 0));
    return paid;
}

/* Charges one label, then reveals it. */
static int32_t reveal(struct purchase *p, int32_t item, int round, millionths cost)
{
    struct ledger *l = p->ledger;
    int kind = kind_of(p->task, round);
    if (kind == KIND_VALIDATION && !label_set_add(&l->validated, p->task->number, item))
        return hidden_label(p->task, item); /* known since the first time */
    millionths from_held = cost < p->held ? cost : p->held;
    p->held -= from_held;
    l->held -= from_held;
    l->totals.spent += cost;
    bool paid = count_label(l, item, kind);
    if (l->keep || paid || kind == KIND_VALIDATION)
        push(l, (struct ledger_row){
                    .task = p->task->number,
                    .item = item,
                    .klass = l->d->y[item],
                    .round = round,
                    .kind = kind,
                    .cost = cost,
                    .total = l->totals.spent,
                });
    return hidden_label(p->task, item);
}

static int descending(const void *a, const void *b)
{
    millionths x = *(const millionths *)a, y = *(const millionths *)b;
    return (x < y) - (x > y);
}

/* The most that `labels` labels of the pool and the query can cost. */
static millionths worst_case(const struct ledger *l, const struct task *task, int labels)
{
    bool query = is_charged(l, KIND_QUERY);
    if (l->unit == UNIT_DRAWS && !l->cost.of_class && !l->cost.of_item)
        return money_times(l->cost.constant, (int64_t)labels + (query ? task->n_query : 0));
    millionths *prices = mem_array((size_t)task->n_pool + 1, sizeof *prices), sum = 0;
    for (int i = 0; i < task->n_pool; i++)
        prices[i] = price(l, task, task->pool[i], 0);
    qsort(prices, (size_t)task->n_pool, sizeof *prices, descending);
    for (int i = 0; i < labels; i++)
        sum = money_add(sum, prices[i]);
    for (int i = 0; i < task->n_query; i++)
        sum = money_add(sum, price(l, task, task->query[i], ROUND_QUERY));
    free(prices);
    return sum;
}

/* Nothing is set aside for validation, which is met again when the budget is spent, and whose
 * labels are known by then. */
int purchase_open(struct purchase *p, struct ledger *l, const struct task *task, int labels)
{
    assert(labels <= task->n_pool && tasks_dataset(task->from) == l->d);
    bool ahead = l->cap > 0 && task->part != SPLIT_VAL;
    millionths most = ahead ? worst_case(l, task, labels) : 0;
    millionths left = l->cap - l->totals.spent - l->held;
    if (ahead && most > left)
        return fail(METE_EBUDGET, "task %" PRId64 " can cost %g and %g of the budget of %g is left",
                    task->number, money_labels(most), money_labels(left), money_labels(l->cap));
    *p = (struct purchase){.ledger = l, .task = task, .held = most};
    l->held += most;
    return 0;
}

/* Whether `cost` is covered by what is held or, beyond that, by what is free. */
static int afford(const struct purchase *p, millionths cost)
{
    const struct ledger *l = p->ledger;
    millionths left = l->cap - l->totals.spent - l->held + p->held;
    if (l->cap > 0 && cost > left)
        return fail(METE_EBUDGET, "%g is asked for task %" PRId64 " and %g is left of %g",
                    money_labels(cost), p->task->number, money_labels(left), money_labels(l->cap));
    if (money_add(l->totals.spent, cost) == INT64_MAX)
        return fail(METE_EBUDGET,
                    "the labels of this run cost more than %g together: lower "
                    "budget.cost",
                    money_labels(INT64_MAX));
    return 0;
}

int purchase_support(struct purchase *p, int round, const int32_t *positions, int n,
                     int32_t *labels)
{
    millionths cost = 0;
    for (int i = 0; i < n; i++) {
        if (positions[i] < 0 || positions[i] >= p->task->n_pool)
            return fail(METE_EINVAL, "position %d is not in a pool of %d", positions[i],
                        p->task->n_pool);
        cost = money_add(cost, price(p->ledger, p->task, p->task->pool[positions[i]], round));
    }
    int err = afford(p, cost);
    for (int i = 0; !err && i < n; i++) {
        int32_t item = p->task->pool[positions[i]];
        labels[i] = reveal(p, item, round, price(p->ledger, p->task, item, round));
    }
    return err;
}

int purchase_query(struct purchase *p, int32_t *labels)
{
    millionths cost = 0;
    for (int i = 0; i < p->task->n_query; i++)
        cost = money_add(cost, price(p->ledger, p->task, p->task->query[i], ROUND_QUERY));
    int err = afford(p, cost);
    for (int i = 0; !err && i < p->task->n_query; i++) {
        int32_t item = p->task->query[i];
        labels[i] = reveal(p, item, ROUND_QUERY, price(p->ledger, p->task, item, ROUND_QUERY));
    }
    return err;
}

void purchase_drop(struct purchase *p)
{
    p->ledger->held -= p->held;
    p->held = 0;
}

void purchase_close(struct purchase *p)
{
    purchase_drop(p);
    p->ledger->totals.tasks += p->task->part != SPLIT_VAL;
}

static int check_rows(const struct ledger *l, const struct ledger_totals *totals,
                      const struct ledger_row *rows, int64_t n)
{
    millionths spent = 0;
    int64_t training = 0;
    for (int64_t i = 0; i < n; i++) {
        const struct ledger_row *r = &rows[i];
        if (r->item < 0 || r->item >= l->d->items || r->klass != l->d->y[r->item])
            return fail(METE_EFORMAT, "ledger row %" PRId64 ": no item %d of class %d", i, r->item,
                        r->klass);
        if (r->kind < 0 || r->kind >= LEDGER_KINDS)
            return fail(METE_EFORMAT, "ledger row %" PRId64 ": %d is no kind of label", i, r->kind);
        /* without all rows the totals grow, by what is not there, too */
        if (r->cost < 0 || r->total < money_add(spent, r->cost) ||
            (l->keep && r->total != money_add(spent, r->cost)))
            return fail(METE_EFORMAT, "ledger row %" PRId64 ": a total of %g does not add up", i,
                        money_labels(r->total));
        spent = r->total;
        training += r->kind != KIND_VALIDATION;
    }
    if (l->keep && (training != totals->labels || spent != totals->spent))
        return fail(METE_EFORMAT,
                    "the ledger's %" PRId64 " rows add up to %g, not to %" PRId64 " and %g",
                    training, money_labels(spent), totals->labels, money_labels(totals->spent));
    if (l->cap > 0 && totals->spent > l->cap)
        return fail(METE_EBUDGET, "the ledger has spent %g of a budget of %g",
                    money_labels(totals->spent), money_labels(l->cap));
    return 0;
}

/* What rows say of items is counted again; what only sums said is taken over. */
int ledger_restore(struct ledger *l, struct ledger_totals totals, const struct ledger_row *rows,
                   int64_t n, const uint8_t *seen)
{
    int err = check_rows(l, &totals, rows, n);
    if (err)
        return err;
    bool sums = !l->keep;
    l->rows = 0;
    l->held = 0;
    l->totals = (struct ledger_totals){0};
    label_set_release(&l->validated);
    memset(l->item, 0, (size_t)l->d->items);
    for (int64_t i = 0; i < n; i++) {
        push(l, rows[i]);
        count_label(l, rows[i].item, rows[i].kind);
        if (rows[i].kind == KIND_VALIDATION)
            label_set_add(&l->validated, rows[i].task, rows[i].item);
    }
    struct ledger_totals counted = l->totals;
    for (int64_t i = 0; sums && seen && i < l->d->items; i++)
        l->item[i] |= seen[i] & (PAID | TRAINED | VALIDATED);
    l->totals = totals;
    l->totals.kinds[KIND_VALIDATION] = counted.kinds[KIND_VALIDATION];
    l->totals.unique_validation = counted.unique_validation;
    if (!sums) {
        memcpy(l->totals.kinds, counted.kinds, sizeof counted.kinds);
        l->totals.unique = counted.unique;
    } else if (!seen && totals.labels > 0) {
        l->totals.unique = -1;
    }
    return 0;
}

int ledger_write_csv(const struct ledger *l, const char *run, const char *path)
{
    static const char header[] = "run,task,item,class,round,cost,total,kind\n";
    struct file_out out;
    int err = file_out_open(&out, path);
    if (err)
        return err;
    file_out_write(&out, header, sizeof header - 1);
    for (int64_t i = 0; i < l->rows; i++) {
        const struct ledger_row *r = &l->row[i];
        char line[512], cost[MONEY_TEXT_SIZE], total[MONEY_TEXT_SIZE];
        money_text(r->cost, cost);
        money_text(r->total, total);
        int n = snprintf(line, sizeof line, "%.200s,%" PRId64 ",%d,%d,%d,%s,%s,%s\n", run, r->task,
                         r->item, r->klass, r->round, cost, total, ledger_kind_name(r->kind));
        file_out_write(&out, line, (size_t)n);
    }
    return file_out_commit(&out);
}
