/* budget.c - the settings of a budget, and when tasks are bought. */
#include "task/cost.h"
#include "task/ledger.h"

#define S struct budget_settings
const struct param budget_params[] = {
    PARAM_CHOICE_ROW(S, charge, "charge", "support+query|support|support+query+validation",
                     CHARGE_SUPPORT_QUERY, "which labels of a task are charged"),
    PARAM_CHOICE_ROW(S, unit, "unit", "draws|unique|auto", UNIT_AUTO,
                     "charge an item every time it is drawn, or once; auto: once where tasks are "
                     "users"),
    PARAM_FORM_ROW(
        S, cost, "cost", "1", cost_canonical,
        "cost of a label: a number, class:FILE (name,cost lines) or item:FILE (a number per item)"),
    PARAM_REAL_ROW(S, labels, "labels", 0, 0, 1e12,
                   "the cap on the sum of costs; 0: as the benchmark's name says"),
    PARAM_CHOICE_ROW(S, grow, "grow", "once|schedule", GROW_ONCE,
                     "buy all tasks before the first step, or on a schedule"),
    PARAM_INT_ROW(S, grow_first, "grow_first", 0, 0, 1e9,
                  "schedule: tasks bought before the first step; 0: grow_tasks"),
    PARAM_INT_ROW(S, grow_tasks, "grow_tasks", 100, 1, 1e9, "schedule: tasks per purchase"),
    PARAM_INT_ROW(S, grow_every, "grow_every", 100, 1, 1e9,
                  "schedule: meta-steps between purchases"),
    {0},
};
#undef S

int64_t budget_due(const struct budget_settings *s, int64_t step, int64_t asked)
{
    if (s->grow == GROW_ONCE)
        return asked ? 0 : INT64_MAX;
    int64_t first = s->grow_first ? s->grow_first : s->grow_tasks;
    int64_t due = first + step / s->grow_every * s->grow_tasks;
    return due > asked ? due - asked : 0;
}
