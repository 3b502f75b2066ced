/* label_set.c - a hash table with open addresses, at most half full. */
#include "task/label_set.h"
#include "base/memory.h"

#include <stdlib.h>

/* Where the pair is, or would be. */
static struct label_pair *place(const struct label_set *s, int64_t task, int32_t item)
{
    uint64_t hash = ((uint64_t)task * UINT64_C(0x9e3779b97f4a7c15) + (uint32_t)item) *
                    UINT64_C(0xbf58476d1ce4e5b9);
    for (uint64_t i = hash ^ hash >> 31;; i++) {
        struct label_pair *p = &s->at[i & (uint64_t)(s->room - 1)];
        if (!p->used || (p->task == task && p->item == item))
            return p;
    }
}

bool label_set_has(const struct label_set *s, int64_t task, int32_t item)
{
    return s->n > 0 && place(s, task, item)->used;
}

static void grow(struct label_set *s)
{
    struct label_set larger = {.n = s->n, .room = s->room ? 2 * s->room : 256};
    larger.at = mem_array((size_t)larger.room, sizeof *larger.at);
    for (int64_t i = 0; i < s->room; i++)
        if (s->at[i].used)
            *place(&larger, s->at[i].task, s->at[i].item) = s->at[i];
    free(s->at);
    *s = larger;
}

bool label_set_add(struct label_set *s, int64_t task, int32_t item)
{
    if (2 * s->n >= s->room)
        grow(s);
    struct label_pair *p = place(s, task, item);
    if (p->used)
        return false;
    *p = (struct label_pair){task, item, true};
    s->n++;
    return true;
}

void label_set_release(struct label_set *s)
{
    free(s->at);
    *s = (struct label_set){0};
}
