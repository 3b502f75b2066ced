/* hidden.h - the labels of a task, for the ledger and for the oracle strategy.
 *
 * Nothing else includes this file: whoever wants a label buys it.
 */
#ifndef TASK_HIDDEN_H
#define TASK_HIDDEN_H

#include "task/task.h"

/* The label (0..ways-1) of an item of the task's pool or query. */
int32_t hidden_label(const struct task *task, int32_t item);

#endif
