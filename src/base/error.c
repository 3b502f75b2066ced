/* error.c - error codes and the per-thread sentence. */
#include "base/error.h"
#include "mete_learner.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char sentence[1024];

/* A sentence is one line, whatever names of files it quotes, and steers no terminal. */
static void tame(void)
{
    for (char *c = sentence; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

int fail(int code, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    tame();
    return code;
}

int fail_within(int code, const char *fmt, ...)
{
    char inner[sizeof sentence];
    memcpy(inner, sentence, sizeof inner);
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    if (n >= 0 && (size_t)n < sizeof sentence)
        snprintf(sentence + n, sizeof sentence - (size_t)n, ": %.800s", inner);
    tame();
    return code;
}

int mete_fail(int code, const char *text)
{
    return fail(code, "%s", text);
}

const char *mete_errmsg(void)
{
    return sentence;
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {
#define METE_X(name, code, text) {code, #name, text},
    METE_X(OK, 0, "done") METE_ERRORS(METE_X)
#undef METE_X
};

const char *mete_errname(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return errors[i].name;
    return "unknown";
}

const char *mete_errtext(int code)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == code)
            return errors[i].text;
    return "unknown error";
}

const char *mete_version(void)
{
    return METE_VERSION;
}

static const char *commit = "";

void mete_commit_is(const char *text)
{
    commit = text;
}

const char *mete_commit(void)
{
    return commit;
}
