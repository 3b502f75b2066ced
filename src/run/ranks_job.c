/* ranks_job.c - a job of many ranks: its start, what all but the first do, and its end. */
#include "run/ranks_job.h"
#include "run/ranks_calls.h"
#include "run/ranks_learner.h"
#include "run/ranks_speed.h"
#include "run/ranks_teams.h"
#include "base/error.h"
#include "base/number.h"
#include "base/sha256.h"
#include "kernel/kernel.h"

#include <gnu/libc-version.h>
#include <stdio.h>

/* The program itself: two builds of one commit may round differently. */
static void this_program(char out[96])
{
    char hex[SHA256_HEX] = "unknown";
    sha256_file("/proc/self/exe", hex);
    snprintf(out, 96, "%s %s %.16s", mete_version(), mete_commit(), hex);
}

int mete_ranks_to(const struct mete_transport *t)
{
    static const char *const what[RANKS_TRAITS] = {"build", "instruction set", "C library"};
    const struct kernels *k;
    char program[96];
    int err = kernels_find(&k, "cpu");
    if (err)
        return err;
    this_program(program);
    const char *const trait[RANKS_TRAITS] = {program, k->name, gnu_get_libc_version()};
    return ranks_open(t, what, trait);
}

int32_t mete_ranks(void)
{
    return ranks_world() ? ranks_count(ranks_world()) : 0;
}

const char *mete_ranks_name(void)
{
    static char name[160];
    struct ranks *world = ranks_world();
    return world ? ranks_name(world, ranks_me(world), name) : "";
}

void mete_ranks_timeout(double seconds)
{
    ranks_set_timeout(seconds);
}

/* What the world's root asks for, until it ends the job. */
static int serve(struct shelf *shelf, const struct ranks_server *server)
{
    struct ranks *world = ranks_world();
    struct message m = {0};
    int err = 0;
    while (!err) {
        err = ranks_broadcast_message(world, &m, RANKS_EVER);
        enum ranks_call call = err ? CALL_END : (enum ranks_call)message_get_int(&m);
        if (call == CALL_END)
            break;
        if (call == CALL_OPEN)
            err = ranks_learner_serve(world, &m, shelf);
        else if (call == CALL_TEAMS)
            err = ranks_teams_serve(&m, shelf, server->find_kind);
        else if (call == CALL_STUDY)
            err = server->study(&m);
        else if (call == CALL_SPEED)
            err = ranks_speed_serve(&m);
        else
            err = fail(METE_EFORMAT, "the first rank asked for something unknown (%d)", call);
    }
    message_release(&m);
    return err;
}

int ranks_serve(const struct ranks_server *server)
{
    NUMBER_LOCALE;
    struct shelf *shelf = NULL;
    int err = shelf_open(&shelf);
    if (!err)
        err = serve(shelf, server);
    shelf_close(shelf);
    return err;
}

void mete_ranks_end(bool *lost)
{
    struct message m = {0};
    message_put_int(&m, CALL_END);
    if (ranks_world())
        ranks_broadcast_message(ranks_world(), &m, RANKS_ANSWER);
    *lost = ranks_lost();
    message_release(&m);
}
