/* ranks.h - the processes that compute together: a team of a job's ranks.
 *
 * Nothing here knows MPI: messages go through a struct mete_transport (mete_ranks.h).  A team is
 * ranks first..first+n-1 of the job; within it they are numbered from 0, the root.  Of two ranks
 * at most one thread each talks to the other at a time, so messages need no marks.
 *
 * Broadcasts and gatherings go along a binary tree: with a distance of 1, 2, 4, … rank i hears from
 * i + distance, or tells i - distance.
 *
 * A wait is given up after the timeout, counted while this process runs: one that was suspended
 * does not blame the others.  Whoever waits longer for somebody has a longer timeout, by its rank,
 * so that the one next to the silent rank is the one to name it.
 */
#ifndef BASE_RANKS_H
#define BASE_RANKS_H

#include "mete_ranks.h"
#include "base/message.h"

struct ranks;

/* Starts the job: what must be the same of all ranks, and its value here; else METE_EDEVICE. */
enum { RANKS_TRAITS = 3 };
int ranks_open(const struct mete_transport *t, const char *const what[RANKS_TRAITS],
               const char *const trait[RANKS_TRAITS]);

/* All ranks of the job; NULL where this process is alone. */
struct ranks *ranks_world(void);
/* Of each process's own making: they must agree.  Free with ranks_close. */
struct ranks *ranks_team(int first, int n);
void ranks_close(struct ranks *r); /* NULL is fine */

int ranks_count(const struct ranks *r);   /* NULL: 1 */
int ranks_me(const struct ranks *r);      /* NULL: 0 */
bool ranks_shared(const struct ranks *r); /* there is more than one */
int ranks_on_host(void);                  /* this rank among those of its host, from 0 */
const char *ranks_transport(void);        /* "Open MPI 4.1.4"; "" alone */
/* Threads of a rank where nobody says: its share of the cores it may use. */
int ranks_threads(void);

/* "rank 3 on HOST", of the team's rank i, by its number in the job. */
const char *ranks_name(const struct ranks *r, int i, char out[160]);
/* Whether a rank of the job was given up, and the sentence of it. */
bool ranks_lost(void);
void ranks_abandon(void); /* others compute in vain: they are not waited for */

double ranks_timeout(void); /* seconds; 0: none */
void ranks_set_timeout(double seconds);
void ranks_goes_on(bool goes_on); /* whether the job goes on if this rank dies, unless it is 0 */

/* `bytes` to or from the team's rank i; METE_EIO where it is given up. */
int ranks_send(struct ranks *r, int to, const void *data, size_t bytes);
int ranks_receive(struct ranks *r, int from, void *data, size_t bytes);
/* How to wait for a message of any size. */
enum ranks_wait {
    RANKS_ANSWER, /* the other is at it: eagerly, and not longer than the timeout */
    RANKS_REPORT, /* it speaks now and then: without haste, which leaves the core to others */
    RANKS_EVER,   /* it has nothing to say until it does */
};
int ranks_send_message(struct ranks *r, int to, const struct message *m);
int ranks_receive_message(struct ranks *r, int from, struct message *m, enum ranks_wait how);

/* What this rank has sent since the job began. */
struct ranks_sent {
    int64_t bytes, messages;
};
struct ranks_sent ranks_sent(void);

/* From the root to all, along a binary tree. */
int ranks_broadcast(struct ranks *r, void *data, size_t bytes);
int ranks_broadcast_message(struct ranks *r, struct message *m, enum ranks_wait how);

/* What became of a rank's part of the work. */
struct verdict {
    int code; /* 0, or a failure */
    char sentence[512];
};
struct verdict verdict_of(int code); /* with mete_errmsg(), if it is a failure */
int verdict_fail(const struct verdict *v);
/* Every rank's at the root, which gets the first failure with the rank's name; the others get
 * their own. */
int ranks_gather_verdicts(struct ranks *r, int code);
/* Rank i's part of `data`, bytes at[i]..at[i + 1] - 1, at the root. */
int ranks_gather_parts(struct ranks *r, void *data, const size_t *at);

#endif
