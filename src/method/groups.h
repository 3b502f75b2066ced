/* groups.h - how the groups of a meta-batch are added up: along one binary tree, whoever has them.
 *
 * Group g + gap is added to group g, for gap 1, 2, 4, … and every g that 2 gap divides.  Ranks have
 * contiguous groups each, and rank 0 has group 0, which gets the sum.  Where the two of a pair are
 * on two ranks, the sum of the second crosses over.  So the sum is bitwise the same for any number
 * of ranks.
 */
#ifndef METHOD_GROUPS_H
#define METHOD_GROUPS_H

struct groups {
    int n;           /* of the meta-batch */
    int first, last; /* those of this rank: first..last-1 */
};
struct groups groups_of_rank(int groups, int rank, int ranks);

/* Tasks from..to-1 of `tasks` are those of a group. */
struct task_range {
    int from, to;
};
struct task_range group_tasks(int groups, int tasks, int group);

/* What a rank has to do, in order. */
struct merge {
    enum merge_kind { MERGE_HERE, MERGE_RECEIVE, MERGE_SEND } kind;
    int to, from; /* groups: `from` is added to `to` */
    int rank;     /* that has the other */
};
/* Fills out (groups) and returns how many.  Every rank that takes part in its order gets done. */
int group_merges(int groups, int rank, int ranks, struct merge *out);

#endif
