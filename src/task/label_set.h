/* label_set.h - which labels of which tasks are known: pairs of a task's number and an item. */
#ifndef TASK_LABEL_SET_H
#define TASK_LABEL_SET_H

#include "mete.h"

struct label_set { /* a zeroed one is empty */
    struct label_pair {
        int64_t task;
        int32_t item;
        bool used;
    } * at; /* (room) */
    int64_t n, room;
};

bool label_set_has(const struct label_set *s, int64_t task, int32_t item);
bool label_set_add(struct label_set *s, int64_t task, int32_t item); /* false: it was there */
void label_set_release(struct label_set *s);

#endif
