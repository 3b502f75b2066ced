/* job.c - finding out whether a launcher started many copies of this program. */
#include "job.h"
#include "cli.h"

#include <signal.h>
#include <stdlib.h>

/* A number that a launcher left in the environment; -1: it did not. */
static int number_of(const char *const *names)
{
    for (; *names; names++)
        if (getenv(*names))
            return atoi(getenv(*names));
    return -1;
}

/* How many ranks were started; which this is.  Without one of these MPI is not started at all: that
 * takes a third of a second. */
static int launched(int *rank)
{
    /* Open MPI; MPICH, Intel MPI and Slurm's PMI-2; PMIx under Slurm */
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
    static const char *const steps[] = {"SLURM_STEP_NUM_TASKS", NULL};
    *rank = number_of(ranks);
    int size = number_of(sizes);
    return size < 0 && getenv("PMIX_RANK") ? number_of(steps) : size;
}

static int refuse(int rank, int ranks)
{
    if (rank > 0)
        return EXIT_USAGE;
    if (!job_mpi_name())
        return cli_usage("%d copies were started by an MPI launcher, and this mete was built "
                         "without MPI; build it with -DMETE_MPI=ON, or start it by itself",
                         ranks);
    return cli_usage("%d copies were started by the launcher of another MPI than %s, which this "
                     "mete was built with; use that one's mpirun",
                     ranks, job_mpi_name());
}

/* Of a rank that is not the first.  Rank 0 decides when a signal ends the job. */
static int serve(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    int err = mete_ranks_serve();
    return err ? cli_failed(err) : EXIT_DONE;
}

int job_run(int argc, char **argv, int (*run)(int argc, char **argv))
{
    struct mete_transport t = {.size = sizeof t};
    bool lost = false;
    int rank, ranks = launched(&rank);
    if (ranks < 2)
        return run(argc, argv);
    if (!job_mpi_name() || job_mpi_open(&t) || t.ranks != ranks)
        return refuse(rank, ranks);
    int status = EXIT_FAILED, err = mete_ranks_to(&t);
    if (err && t.rank == 0)
        cli_failed(err); /* all know, and one says it */
    else if (!err && t.rank == 0) {
        status = run(argc, argv);
        mete_ranks_end(&lost);
    } else if (!err) {
        status = serve();
        lost = status != EXIT_DONE;
    }
    job_mpi_close(status, lost);
    return status;
}
