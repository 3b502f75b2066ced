/* ranks_job.h - a job of ranks without MPI: forked processes that talk over sockets.
 *
 * The caller is rank 0.  Each other rank runs `work` and ends with what that returns.
 */
#ifndef RANKS_JOB_H
#define RANKS_JOB_H

#include "base/ranks.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOB_MOST = 8 };
struct ranks_job {
    int ranks, me, socket[JOB_MOST][JOB_MOST]; /* socket[a][b]: a's end of the pair with b */
    pid_t child[JOB_MOST];
};

struct job_request {
    char *at;
    size_t left;
    int fd, sends;
};

static struct ranks_job the_job;

static int job_done(void *user, struct mete_request *r, int32_t *done)
{
    struct job_request *q = (struct job_request *)r->at;
    (void)user;
    while (q->left > 0) {
        ssize_t n = q->sends ? send(q->fd, q->at, q->left, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : recv(q->fd, q->at, q->left, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0)
            return -1;
        q->at += n;
        q->left -= (size_t)n;
    }
    *done = q->left == 0;
    return 0;
}

static int job_begin(int peer, void *data, size_t bytes, struct mete_request *r, int sends)
{
    struct job_request q = {data, bytes, the_job.socket[the_job.me][peer], sends};
    memcpy(r->at, &q, sizeof q);
    return 0;
}

static int job_send(void *user, int32_t to, const void *data, size_t bytes, struct mete_request *r)
{
    (void)user;
    return job_begin(to, (void *)data, bytes, r, 1);
}

static int job_receive(void *user, int32_t from, void *data, size_t bytes, struct mete_request *r)
{
    (void)user;
    return job_begin(from, data, bytes, r, 0);
}

static int job_forgotten; /* receives that were given up */
static void job_forget(void *user, struct mete_request *r)
{
    (void)user;
    (void)r;
    job_forgotten++;
}

/* Becomes a rank; the third trait of rank `other` differs. */
static int job_enter(int rank, int other)
{
    static const char *const what[RANKS_TRAITS] = {"build", "instruction set", "C library"};
    const char *const trait[RANKS_TRAITS] = {"1", "avx2", rank == other ? "2.35" : "2.36"};
    struct mete_transport t = {.size = sizeof t,
                               .name = "sockets",
                               .rank = rank,
                               .ranks = the_job.ranks,
                               .on_host = rank,
                               .of_host = the_job.ranks,
                               .send = job_send,
                               .receive = job_receive,
                               .done = job_done,
                               .forget = job_forget};
    the_job.me = rank;
    for (int a = 0; a < the_job.ranks; a++)
        for (int b = 0; b < the_job.ranks; b++)
            if (a != b && a != rank)
                close(the_job.socket[a][b]);
    return ranks_open(&t, what, trait);
}

static int job_start(int ranks, int other, int (*work)(struct ranks *world))
{
    memset(&the_job, 0, sizeof the_job);
    the_job.ranks = ranks;
    for (int a = 0; a < ranks; a++)
        for (int b = 0; b < a; b++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
                return -1;
            the_job.socket[a][b] = pair[0];
            the_job.socket[b][a] = pair[1];
        }
    for (int rank = 1; rank < ranks; rank++) {
        the_job.child[rank] = fork();
        if (the_job.child[rank] == 0) {
            int err = job_enter(rank, other);
            _exit(err ? 99 : work(ranks_world()));
        }
    }
    return job_enter(0, other);
}

/* The sum of the others' exit statuses. */
static int job_end(void)
{
    int sum = 0, how;
    for (int b = 1; b < the_job.ranks; b++)
        close(the_job.socket[0][b]);
    for (int rank = 1; rank < the_job.ranks; rank++)
        if (the_job.child[rank] > 0 && waitpid(the_job.child[rank], &how, 0) > 0)
            sum += WIFEXITED(how) ? WEXITSTATUS(how) : 0;
    return sum;
}

#endif
