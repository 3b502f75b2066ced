/* job.h - mete as one of many ranks that a launcher (mpirun, srun) started. */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "mete_ranks.h"

/* Runs a command as the launcher meant it: alone, on rank 0, or, on the other ranks, serving that
 * one.  Returns the exit status. */
int job_run(int argc, char **argv, int (*run)(int argc, char **argv));

/* ---- MPI (job_mpi.c) ---- */

const char *job_mpi_name(void); /* "Open MPI 4.1.4"; NULL: this mete was built without MPI */
/* Becomes the rank that the launcher meant.  The process that it started stays behind, waits for
 * this one, and says how it ended. */
int job_mpi_open(struct mete_transport *out);
/* lost: some rank does not answer, and is not waited for.  Then it does not return. */
void job_mpi_close(int status, bool lost);

#endif
