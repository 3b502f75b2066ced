/* groups.c - who has which group, and the order in which they are added. */
#include "method/groups.h"

#include <stdint.h>

/* Rounded up, so that rank 0 has group 0, where the sum ends, also where groups are fewer. */
static int first_group(int groups, int rank, int ranks)
{
    return (int)(((int64_t)groups * rank + ranks - 1) / ranks);
}

struct groups groups_of_rank(int groups, int rank, int ranks)
{
    return (struct groups){groups, first_group(groups, rank, ranks),
                           first_group(groups, rank + 1, ranks)};
}

struct task_range group_tasks(int groups, int tasks, int group)
{
    return (struct task_range){(int)((int64_t)tasks * group / groups),
                               (int)((int64_t)tasks * (group + 1) / groups)};
}

/* The rank r with groups * r / ranks <= group < groups * (r + 1) / ranks. */
static int rank_of(int groups, int ranks, int group)
{
    return (int)((int64_t)group * ranks / groups);
}

int group_merges(int groups, int rank, int ranks, struct merge *out)
{
    int n = 0;
    for (int gap = 1; gap < groups; gap *= 2)
        for (int g = 0; g + gap < groups; g += 2 * gap) {
            int to = rank_of(groups, ranks, g), from = rank_of(groups, ranks, g + gap);
            if (to == rank && from == rank)
                out[n++] = (struct merge){MERGE_HERE, g, g + gap, rank};
            else if (to == rank)
                out[n++] = (struct merge){MERGE_RECEIVE, g, g + gap, from};
            else if (from == rank)
                out[n++] = (struct merge){MERGE_SEND, g, g + gap, to};
        }
    return n;
}
