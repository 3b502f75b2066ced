/* ledger.h - the label budget, and the record of every label bought.
 *
 * A label is charged before it is revealed, and what would pass the cap is
 * refused (METE_EBUDGET).  A purchase is one task being bought: opening it sets
 * aside the most the task can cost, so that a task once begun can be finished,
 * and the run ends within one task of the cap.
 */
#ifndef TASK_LEDGER_H
#define TASK_LEDGER_H

#include "base/param.h"
#include "task/task.h"

enum budget_charge { CHARGE_SUPPORT_QUERY, CHARGE_SUPPORT };
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

enum { ROUND_QUERY = -1 };
struct ledger_row { /* 40 bytes, no holes: an array of them is written as it is */
    int64_t task;
    int32_t item, klass; /* of the dataset */
    int32_t round;       /* 0, 1, … of the support; ROUND_QUERY for the query set */
    int32_t reserved;    /* 0 */
    double cost;         /* 0 where it was paid for before, or is not charged */
    double total;        /* spent so far, this row included */
};

struct ledger;

/* `cap` in labels times their cost; 0: no cap, labels are still counted.  Keeps
 * `t`.  Without `rows` only sums are kept, and with budget.unit=unique the rows that
 * were paid (the classical regime draws millions). */
int ledger_open(struct ledger **out, const struct tasks *t, const struct budget_settings *s,
                double cap, bool rows);
void ledger_close(struct ledger *l); /* NULL is fine */

double ledger_cap(const struct ledger *l); /* 0: none */

struct ledger_totals {
    double spent;
    int64_t labels; /* revealed, whether paid or free */
    int64_t tasks;  /* bought whole */
};
struct ledger_totals ledger_totals(const struct ledger *l);
/* How many different items are among the labels; counted where rows are kept. */
int64_t ledger_unique(const struct ledger *l);

/* The record so far, in the order bought.  Rows and totals are all the state there
 * is: a checkpoint keeps both, and ledger_restore checks that they add up. */
int64_t ledger_rows(const struct ledger *l, const struct ledger_row **rows);
int ledger_restore(struct ledger *l, struct ledger_totals totals, const struct ledger_row *rows,
                   int64_t n);
/* Writes run,task,item,class,round,cost,total lines to a new file. */
int ledger_write_csv(const struct ledger *l, const char *run, const char *path);

struct purchase {
    struct ledger *ledger;
    const struct task *task;
    int64_t held; /* set aside and not yet spent, in millionths */
};
/* Keeps `task`.  METE_EBUDGET when `labels` labels and the query may cost more
 * than is left. */
int purchase_open(struct purchase *p, struct ledger *l, const struct task *task, int labels);
/* Buys the labels of n positions of the pool, all or none. */
int purchase_support(struct purchase *p, int round, const int32_t *positions, int n,
                     int32_t *labels);
/* The labels of the whole query set; free where budget.charge is support. */
int purchase_query(struct purchase *p, int32_t *labels);
/* The task is bought: gives back what was held and not needed. */
void purchase_close(struct purchase *p);
/* The same without counting a task: for one that was not finished. */
void purchase_drop(struct purchase *p);

#endif
