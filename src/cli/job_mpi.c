/* job_mpi.c - the ranks of an MPI job as the library's transport, and a guard for each.
 *
 * The process that the launcher started forks before MPI starts: its child computes, and it waits.
 * A launcher's words about a rank that died are its own, many lines, and differ; the guard says one
 * sentence with host and rank, and ends with 1.  Where the job goes on without that rank (a suite,
 * whose runs others take over) the guard stays, so that the launcher does not end the job.
 */
#include "job.h"

#ifdef METE_HAVE_MPI
#include "cli.h"

#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(struct mete_request), "a request fits");

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *job_mpi_name(void)
{
#if defined(OPEN_MPI)
    return "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(
        OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
    return "MPICH " MPICH_VERSION;
#else
    return "MPI " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION);
#endif
}

/* ---- the guard ---- */

/* A launcher may let the others wait for ever for a rank that died before it had started MPI. */
enum { START_SECONDS = 600 };

/* What the two processes of a rank share. */
static struct guarded {
    volatile int rank, goes_on, started;
} * guarded;
static volatile pid_t child;

static void pass_on(int signal_number)
{
    if (child > 0)
        kill(child, signal_number);
}

static void on_alarm(int signal_number)
{
    static const char sentence[] = "mete: MPI has not started on all ranks for 600 s; is one of "
                                   "them dead, or a host out of reach?\n";
    (void)signal_number;
    if (guarded->started)
        return;
    kill(child, SIGKILL);
    if (write(STDERR_FILENO, sentence, sizeof sentence - 1) < 0)
        _exit(EXIT_FAILED);
    _exit(EXIT_FAILED);
}

/* How the child ended, in the words and by the status of this process. */
_Noreturn static void end_as(int how)
{
    char host[64] = "?";
    int by = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (!by && WEXITSTATUS(how) != 0 && guarded->goes_on) /* it has said why */
        for (;;)
            pause();
    if (!by)
        _exit(WEXITSTATUS(how));
    if (by == SIGTERM || by == SIGINT)
        _exit(128 + by);
    gethostname(host, sizeof host - 1);
    fprintf(stderr, "mete: rank %d on %s was ended by signal %d (%s)%s\n", guarded->rank, host, by,
            strsignal(by), guarded->goes_on ? "; the others go on" : "");
    while (guarded->goes_on)
        pause();
    _exit(EXIT_FAILED);
}

_Noreturn static void watch(void)
{
    int how;
    while (waitpid(child, &how, 0) != child)
        ;
    child = 0; /* its number may be another's soon */
    end_as(how);
}

/* Returns in the child. */
static int fork_guarded(void)
{
    static const int passed[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT};
    pid_t parent = getpid();
    guarded =
        mmap(NULL, sizeof *guarded, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (guarded == MAP_FAILED)
        return -1;
    child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        setpgid(0, 0); /* a launcher's signals come by way of the guard, once */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EXIT_FAILED);
        return 0;
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        signal(passed[i], pass_on);
    signal(SIGALRM, on_alarm);
    alarm(START_SECONDS);
    watch();
}

/* ---- the transport ---- */

static int mpi_send(void *user, int32_t to, const void *data, size_t bytes, struct mete_request *r)
{
    (void)user;
    return MPI_Isend(data, (int)bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD, (MPI_Request *)r->at);
}

static int mpi_receive(void *user, int32_t from, void *data, size_t bytes, struct mete_request *r)
{
    (void)user;
    return MPI_Irecv(data, (int)bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, (MPI_Request *)r->at);
}

static int mpi_done(void *user, struct mete_request *r, int32_t *done)
{
    int flag = 0;
    (void)user;
    int err = MPI_Test((MPI_Request *)r->at, &flag, MPI_STATUS_IGNORE);
    *done = flag;
    return err;
}

/* A message that has begun to come cannot be stopped, only waited for. */
static void mpi_forget(void *user, struct mete_request *r)
{
    enum { TRIES = 100 };
    MPI_Request q;
    int flag = 0;
    (void)user;
    memcpy(&q, r->at, sizeof q);
    if (q == MPI_REQUEST_NULL || MPI_Cancel(&q))
        return;
    for (int i = 0; i < TRIES && !flag; i++) {
        if (MPI_Test(&q, &flag, MPI_STATUS_IGNORE))
            return;
        usleep(1000);
    }
}

static void mpi_goes_on(void *user, int32_t goes_on)
{
    (void)user;
    guarded->goes_on = goes_on;
}

int job_mpi_open(struct mete_transport *out)
{
    int given, rank, ranks, on_host, of_host;
    char name[16];
    MPI_Comm host;
    if (fork_guarded())
        return EXIT_FAILED;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given))
        return EXIT_FAILED;
    if (given < MPI_THREAD_SERIALIZED) {
        fprintf(stderr, "mete: %s was built without threads\n", job_mpi_name());
        exit(EXIT_FAILED);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &on_host);
    MPI_Comm_size(host, &of_host);
    MPI_Comm_free(&host);
    guarded->rank = rank;
    guarded->started = true;
    snprintf(name, sizeof name, "mete-rank-%d", rank);
    prctl(PR_SET_NAME, name); /* for top and ps */
    *out = (struct mete_transport){.size = sizeof *out,
                                   .name = job_mpi_name(),
                                   .rank = rank,
                                   .ranks = ranks,
                                   .on_host = on_host,
                                   .of_host = of_host,
                                   .send = mpi_send,
                                   .receive = mpi_receive,
                                   .done = mpi_done,
                                   .goes_on = mpi_goes_on,
                                   .forget = mpi_forget};
    return 0;
}

static int last_status;

static void end_now(int signal_number)
{
    (void)signal_number;
    _exit(last_status);
}

/* Both functions of MPI wait for the launcher's part on this host, which may wait for that on
 * another: for ever, where the link is cut. */
void job_mpi_close(int status, bool lost)
{
    enum { ABORT_SECONDS = 5, FINALIZE_SECONDS = 60 };
    fflush(NULL);
    last_status = status;
    signal(SIGALRM, end_now);
    alarm(lost ? ABORT_SECONDS : FINALIZE_SECONDS);
    if (lost && guarded->goes_on)
        _exit(status); /* without this rank, which was given up */
    if (lost)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
}

#else

const char *job_mpi_name(void)
{
    return NULL;
}

int job_mpi_open(struct mete_transport *out)
{
    (void)out;
    return -1;
}

void job_mpi_close(int status, bool lost)
{
    (void)status;
    (void)lost;
}
#endif
