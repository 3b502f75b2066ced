/* ledger.h - the label budget, and the record of every label bought.
 *
 * A label is charged before it is revealed, and what would pass the cap is
 * refused (METE_EBUDGET).  A purchase is one task being bought: opening it sets
 * aside the most the task can cost, so that a task once begun can be finished,
 * and the run ends within one task of the cap.
 *
 * Labels are of three kinds: support and query of training tasks, and all labels of
 * validation tasks, which choose the model and the shots.  A validation task is the same each
 * time it is met: its labels are counted, charged and recorded once.
 */
#ifndef TASK_LEDGER_H
#define TASK_LEDGER_H

#include "base/param.h"
#include "base/money.h"
#include "task/task.h"

enum budget_charge { CHARGE_SUPPORT_QUERY, CHARGE_SUPPORT, CHARGE_ALL };
enum budget_unit { UNIT_DRAWS, UNIT_UNIQUE, UNIT_AUTO };
enum budget_grow { GROW_ONCE, GROW_SCHEDULE };

struct budget_settings {
    int charge, unit, grow;     /* the enums above */
    char cost[PARAM_TEXT_SIZE]; /* "1", "class:FILE" or "item:FILE" */
    double labels;              /* the cap; 0: that of the benchmark's name */
    int grow_first, grow_tasks, grow_every;
};
extern const struct param budget_params[]; /* for a section named "budget" */

/* How many tasks to ask for before meta-step `step`, when `asked` have been asked
 * for before: all at the start, or so many every so many steps. */
int64_t budget_due(const struct budget_settings *s, int64_t step, int64_t asked);

enum ledger_kind { KIND_SUPPORT, KIND_QUERY, KIND_VALIDATION, LEDGER_KINDS };
const char *ledger_kind_name(int kind); /* "support", "query", "validation" */

enum { ROUND_QUERY = -1 };
struct ledger_row { /* 40 bytes, no holes: an array of them is written as it is */
    int64_t task;
    int32_t item, klass; /* of the dataset */
    int32_t round;       /* 0, 1, … of the support; ROUND_QUERY for the query set */
    int32_t kind;        /* enum ledger_kind */
    millionths cost;     /* 0 where it was paid for before, or is not charged */
    millionths total;    /* spent so far, this row included */
};

struct ledger;

/* `cap` in labels times their cost; 0: no cap, labels are still counted.  Keeps
 * `t`, and sells labels of any tasks of its dataset.  Without `rows` only sums are kept, the
 * rows of validation, and with budget.unit=unique the rows that were paid (the classical
 * regime draws millions).  A cap that could never be spent is refused. */
int ledger_open(struct ledger **out, const struct tasks *t, const struct budget_settings *s,
                double cap, bool rows);
void ledger_close(struct ledger *l); /* NULL is fine */

double ledger_cap(const struct ledger *l); /* 0: none */

struct ledger_totals {
    millionths spent;
    int64_t labels;              /* of training, whether paid or free */
    int64_t tasks;               /* of training, bought whole */
    int64_t kinds[LEDGER_KINDS]; /* labels of each kind; -1: not known */
    int64_t unique;              /* different items among `labels`; -1: not known */
    int64_t unique_validation;   /* and among those of validation */
};
struct ledger_totals ledger_totals(const struct ledger *l);
/* How many different items are among the labels; counted where rows are kept. */
int64_t ledger_unique(const struct ledger *l);

/* The record so far, in the order bought.  Rows, totals and, of a ledger without rows, which
 * items were seen (a byte each) are all the state there is: a checkpoint keeps them, and
 * ledger_restore checks that they add up.  `seen` may be NULL: `unique` is then not known. */
int64_t ledger_rows(const struct ledger *l, const struct ledger_row **rows);
const uint8_t *ledger_seen(const struct ledger *l, int64_t *items); /* NULL: rows say it */
int ledger_restore(struct ledger *l, struct ledger_totals totals, const struct ledger_row *rows,
                   int64_t n, const uint8_t *seen);
/* Writes run,task,item,class,round,cost,total,kind lines to a new file. */
int ledger_write_csv(const struct ledger *l, const char *run, const char *path);

struct purchase {
    struct ledger *ledger;
    const struct task *task;
    millionths held; /* set aside and not yet spent */
};
/* Keeps `task`.  METE_EBUDGET when `labels` labels and the query may cost more
 * than is left. */
int purchase_open(struct purchase *p, struct ledger *l, const struct task *task, int labels);
/* Buys the labels of n positions of the pool, all or none. */
int purchase_support(struct purchase *p, int round, const int32_t *positions, int n,
                     int32_t *labels);
/* The labels of the whole query set; free where budget.charge is support.  Of validation tasks
 * all are free unless it is support+query+validation. */
int purchase_query(struct purchase *p, int32_t *labels);
/* The task is bought: gives back what was held and not needed. */
void purchase_close(struct purchase *p);
/* The same without counting a task: for one that was not finished. */
void purchase_drop(struct purchase *p);

#endif
