/* mete.h - meta-learning on a label budget.
 *
 * The public C interface: plain structs, opaque handles, fixed-width integers.
 * A function that can fail returns 0 or a negative METE_E* code, and leaves its
 * outputs untouched when it fails; mete_errmsg() then gives a sentence for the
 * person at the keyboard.  The library never prints and never exits: messages
 * go through the log callback.
 *
 * Settings are passed as an array of "key=value" strings that ends with NULL;
 * `mete show NAME` lists the keys, with their defaults and ranges.
 */
#ifndef METE_H
#define METE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

#define METE_ERRORS(X)                                                                             \
    X(EINVAL, -1, "invalid argument or setting")                                                   \
    X(ENOMEM, -2, "out of memory")                                                                 \
    X(EIO, -3, "a file could not be read or written")                                              \
    X(EFORMAT, -4, "a file does not hold what it should")                                          \
    X(EDEVICE, -5, "a device failed or is missing")                                                \
    X(EDIVERGE, -6, "training diverged")                                                           \
    X(EBUDGET, -7, "the label budget does not allow it")                                           \
    X(EMISSING, -8, "built without the library that does this")                                    \
    X(ESTOPPED, -9, "stopped on request")

enum mete_error {
    METE_OK = 0,
#define METE_X(name, code, text) METE_##name = code,
    METE_ERRORS(METE_X)
#undef METE_X
};

const char *mete_version(void);
const char *mete_errmsg(void);         /* the last failure of this thread, one sentence */
const char *mete_errname(int code);    /* "EINVAL" */
const char *mete_errtext(int code);    /* "invalid argument or setting" */

/* ---- log and progress ---- */

enum mete_log_level { METE_LOG_DEBUG, METE_LOG_INFO, METE_LOG_WARN };

/* Called from any thread, one call at a time.  NULL silences the library. */
typedef void mete_log_fn(void *user, enum mete_log_level level, const char *message);
void mete_log_to(mete_log_fn *fn, void *user);

/* Long work reports how far it is; a non-zero return asks it to stop (METE_ESTOPPED). */
typedef int mete_progress_fn(void *user, const char *what, double done, double total);
void mete_progress_to(mete_progress_fn *fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
