/* mete_ranks.h - one work over many processes: what a program lends the library.
 *
 * The library knows how to share work between the ranks of a job, and knows no MPI.  A program
 * that was started as one of many ranks fills in a struct mete_transport and hands it over with
 * mete_ranks_to.  Rank 0 then calls the library as ever; every other rank calls
 * mete_ranks_serve, which returns when rank 0 says mete_ranks_end.  mete itself does so with MPI
 * (src/cli/job_mpi.c).
 */
#ifndef METE_RANKS_H
#define METE_RANKS_H

#include "mete.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for what a transport needs to know of a message under way. */
struct mete_request {
    uint64_t at[8];
};

/* Messages between two ranks arrive in the order they were sent, and have the size that the other
 * side expects.  A function returns 0, or not 0 where the other rank cannot be reached.  The
 * library calls from several threads, one at a time. */
struct mete_transport {
    size_t size;      /* of this struct */
    const char *name; /* "Open MPI 4.1.4": for the record; kept, not copied */
    int32_t rank, ranks;
    int32_t on_host, of_host; /* this rank among those of its host, and how many those are */
    void *user;
    /* Begin to send, or to receive; the data stay where they are until it is done. */
    int (*send)(void *user, int32_t to, const void *data, size_t bytes, struct mete_request *r);
    int (*receive)(void *user, int32_t from, void *data, size_t bytes, struct mete_request *r);
    /* Whether that is done; does not wait. */
    int (*done)(void *user, struct mete_request *r, int32_t *done);
    /* The job goes on if this rank dies, or does not; may be NULL. */
    void (*goes_on)(void *user, int32_t goes_on);
    /* Ends a receive that is not waited for any more: nothing may be written to its data later.
     * May be NULL. */
    void (*forget)(void *user, struct mete_request *r);
};

/* Every rank calls it, before anything else; copies *t.  Ranks of another build, instruction set
 * or C library are refused, by a sentence of rank 0. */
int mete_ranks_to(const struct mete_transport *t);
/* 0 where the program is alone, else how many ranks the job has. */
int32_t mete_ranks(void);
/* "rank 3 on HOST"; "" where the program is alone. */
const char *mete_ranks_name(void);
/* Seconds without a sign of another rank after which it is given up; 0: never.  Before that: 600.
 * For rank 0. */
void mete_ranks_timeout(double seconds);

/* Of all ranks but 0: works for rank 0 until the job ends. */
int mete_ranks_serve(void);
/* Of rank 0: lets the others go.  *lost: some did not answer, so that the program should not wait
 * for them. */
void mete_ranks_end(bool *lost);

#ifdef __cplusplus
}
#endif
#endif
