/* ledger.c - charging, revealing and recording. */
#include "task/ledger.h"
#include "task/cost.h"
#include "task/hidden.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ledger {
    const struct tasks *tasks;
    const struct dataset *d;
    struct cost cost;
    int charge, unit;
    int64_t cap;  /* millionths; 0: none */
    int64_t held; /* set aside by open purchases */
    int64_t spent;
    struct ledger_totals totals;
    uint8_t *paid; /* (items), with UNIT_UNIQUE */
    uint8_t *seen; /* (items) revealed before, where rows are kept */
    int64_t unique;
    bool keep;
    struct ledger_row *row;
    int64_t rows, room;
};

/* A cap that all the training items together do not reach would have the run buy
 * free tasks for ever. */
static int check_reachable(const struct ledger *l)
{
    const struct split *split = tasks_split(l->tasks);
    const int32_t *key = split->users ? l->d->user : l->d->y;
    int groups = split->users ? l->d->users : l->d->classes;
    uint8_t *train = mem_array((size_t)groups, 1);
    int64_t all = 0;
    for (int i = 0; i < split->n[SPLIT_TRAIN]; i++)
        train[split->group[SPLIT_TRAIN][i]] = 1;
    for (int64_t i = 0; i < l->d->items; i++)
        if (train[key[i]])
            all += cost_of(&l->cost, l->d, (int32_t)i);
    free(train);
    if (l->cap >= all)
        return fail(METE_EINVAL,
                    "budget.unit=unique: the cap of %g is not below %g, what all training items "
                    "of %s cost together; lower it or count draws",
                    money_labels(l->cap), money_labels(all), l->d->name);
    return 0;
}

int ledger_open(struct ledger **out, const struct tasks *t, const struct budget_settings *s,
                double cap, bool rows)
{
    struct ledger *l = mem_alloc(sizeof *l);
    l->tasks = t;
    l->d = tasks_dataset(t);
    l->charge = s->charge;
    l->unit = s->unit != UNIT_AUTO         ? s->unit
              : tasks_are_users(t) && rows ? UNIT_UNIQUE
                                           : UNIT_DRAWS;
    l->cap = llround(cap * MILLIONTHS);
    l->keep = rows;
    int err = cost_open(&l->cost, l->d, s->cost);
    if (rows)
        l->seen = mem_array((size_t)l->d->items, 1);
    if (!err && l->unit == UNIT_UNIQUE) {
        l->paid = mem_array((size_t)l->d->items, 1);
        if (cap > 0 && !tasks_are_users(t)) /* users run out by themselves */
            err = check_reachable(l);
    }
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
    free(l->paid);
    free(l->seen);
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
    return l->unique;
}

int64_t ledger_rows(const struct ledger *l, const struct ledger_row **rows)
{
    *rows = l->row;
    return l->rows;
}

/* What buying `item` would cost now. */
static int64_t price(const struct ledger *l, int32_t item, bool charged)
{
    if (!charged || (l->paid && l->paid[item]))
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

static void note_seen(struct ledger *l, int32_t item)
{
    if (!l->seen)
        return;
    l->unique += !l->seen[item];
    l->seen[item] = 1;
}

/* Charges one label, then reveals it. */
static int32_t reveal(struct purchase *p, int32_t item, int round, int64_t cost)
{
    struct ledger *l = p->ledger;
    bool first = l->paid && !l->paid[item] && (round >= 0 || l->charge == CHARGE_SUPPORT_QUERY);
    int64_t from_held = cost < p->held ? cost : p->held;
    p->held -= from_held;
    l->held -= from_held;
    l->spent += cost;
    l->totals.spent = money_labels(l->spent);
    l->totals.labels++;
    if (first)
        l->paid[item] = 1;
    note_seen(l, item);
    if (l->keep || first)
        push(l, (struct ledger_row){
                    .task = p->task->number,
                    .item = item,
                    .klass = l->d->y[item],
                    .round = round,
                    .cost = money_labels(cost),
                    .total = l->totals.spent,
                });
    return hidden_label(p->task, item);
}

static int descending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

/* The most that `labels` labels of the pool and the query can cost. */
static int64_t worst_case(const struct ledger *l, const struct task *task, int labels)
{
    bool query = l->charge == CHARGE_SUPPORT_QUERY;
    if (!l->paid && !l->cost.of_class && !l->cost.of_item)
        return l->cost.constant * (labels + (query ? task->n_query : 0));
    int64_t *prices = mem_array((size_t)task->n_pool + 1, sizeof *prices), sum = 0;
    for (int i = 0; i < task->n_pool; i++)
        prices[i] = price(l, task->pool[i], true);
    qsort(prices, (size_t)task->n_pool, sizeof *prices, descending);
    for (int i = 0; i < labels; i++)
        sum += prices[i];
    for (int i = 0; i < task->n_query; i++)
        sum += price(l, task->query[i], query);
    free(prices);
    return sum;
}

int purchase_open(struct purchase *p, struct ledger *l, const struct task *task, int labels)
{
    assert(labels <= task->n_pool && task->from == l->tasks);
    int64_t most = worst_case(l, task, labels), left = l->cap - l->spent - l->held;
    if (l->cap > 0 && most > left)
        return fail(METE_EBUDGET, "task %" PRId64 " can cost %g and %g of the budget of %g is left",
                    task->number, money_labels(most), money_labels(left), money_labels(l->cap));
    *p = (struct purchase){.ledger = l, .task = task, .held = most};
    l->held += most;
    return 0;
}

/* Whether `cost` is covered by what is held or, beyond that, by what is free. */
static int afford(const struct purchase *p, int64_t cost)
{
    const struct ledger *l = p->ledger;
    int64_t left = l->cap - l->spent - l->held + p->held;
    if (l->cap > 0 && cost > left)
        return fail(METE_EBUDGET, "%g is asked for task %" PRId64 " and %g is left of %g",
                    money_labels(cost), p->task->number, money_labels(left), money_labels(l->cap));
    return 0;
}

int purchase_support(struct purchase *p, int round, const int32_t *positions, int n,
                     int32_t *labels)
{
    int64_t cost = 0;
    for (int i = 0; i < n; i++) {
        if (positions[i] < 0 || positions[i] >= p->task->n_pool)
            return fail(METE_EINVAL, "position %d is not in a pool of %d", positions[i],
                        p->task->n_pool);
        cost += price(p->ledger, p->task->pool[positions[i]], true);
    }
    int err = afford(p, cost);
    for (int i = 0; !err && i < n; i++) {
        int32_t item = p->task->pool[positions[i]];
        labels[i] = reveal(p, item, round, price(p->ledger, item, true));
    }
    return err;
}

int purchase_query(struct purchase *p, int32_t *labels)
{
    bool charged = p->ledger->charge == CHARGE_SUPPORT_QUERY;
    int64_t cost = 0;
    for (int i = 0; i < p->task->n_query; i++)
        cost += price(p->ledger, p->task->query[i], charged);
    int err = afford(p, cost);
    for (int i = 0; !err && i < p->task->n_query; i++) {
        int32_t item = p->task->query[i];
        labels[i] = reveal(p, item, ROUND_QUERY, price(p->ledger, item, charged));
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
    p->ledger->totals.tasks++;
}

static int check_rows(const struct ledger *l, struct ledger_totals totals,
                      const struct ledger_row *rows, int64_t n)
{
    int64_t spent = 0;
    for (int64_t i = 0; i < n; i++) {
        if (rows[i].item < 0 || rows[i].item >= l->d->items ||
            rows[i].klass != l->d->y[rows[i].item])
            return fail(METE_EFORMAT, "ledger row %" PRId64 ": no item %d of class %d", i,
                        rows[i].item, rows[i].klass);
        bool fits = rows[i].cost >= 0 && rows[i].cost <= (double)(INT64_MAX / 2) / MILLIONTHS &&
                    !__builtin_add_overflow(spent, llround(rows[i].cost * MILLIONTHS), &spent);
        if (!fits || rows[i].total != money_labels(spent))
            return fail(METE_EFORMAT, "ledger row %" PRId64 ": the total is %g, not %g", i,
                        rows[i].total, money_labels(spent));
    }
    if (l->keep && (n != totals.labels || money_labels(spent) != totals.spent))
        return fail(METE_EFORMAT,
                    "the ledger's %" PRId64 " rows add up to %g, not to %" PRId64 " and %g", n,
                    money_labels(spent), totals.labels, totals.spent);
    if (l->cap > 0 && totals.spent > money_labels(l->cap))
        return fail(METE_EBUDGET, "the ledger has spent %g of a budget of %g", totals.spent,
                    money_labels(l->cap));
    return 0;
}

int ledger_restore(struct ledger *l, struct ledger_totals totals, const struct ledger_row *rows,
                   int64_t n)
{
    int err = check_rows(l, totals, rows, n);
    if (err)
        return err;
    l->rows = 0;
    if (l->paid)
        memset(l->paid, 0, (size_t)l->d->items);
    if (l->seen)
        memset(l->seen, 0, (size_t)l->d->items);
    l->unique = 0;
    for (int64_t i = 0; i < n; i++) {
        push(l, rows[i]);
        if (l->paid && (rows[i].round >= 0 || l->charge == CHARGE_SUPPORT_QUERY))
            l->paid[rows[i].item] = 1;
        note_seen(l, rows[i].item);
    }
    l->totals = totals;
    l->spent = llround(totals.spent * MILLIONTHS);
    l->held = 0;
    return 0;
}

int ledger_write_csv(const struct ledger *l, const char *run, const char *path)
{
    static const char header[] = "run,task,item,class,round,cost,total\n";
    struct file_out out;
    int err = file_out_open(&out, path);
    if (err)
        return err;
    file_out_write(&out, header, sizeof header - 1);
    for (int64_t i = 0; i < l->rows; i++) {
        const struct ledger_row *r = &l->row[i];
        char line[512];
        int n = snprintf(line, sizeof line, "%.200s,%" PRId64 ",%d,%d,%d,%.10g,%.10g\n", run,
                         r->task, r->item, r->klass, r->round, r->cost, r->total);
        file_out_write(&out, line, (size_t)n);
    }
    return file_out_commit(&out);
}
