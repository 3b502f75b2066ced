/* options.c - structs that begin with their size. */
#include "base/options.h"
#include "base/error.h"

#include <string.h>

static int check_size(size_t given, const char *what)
{
    enum { LARGEST = 1 << 16 };
    if (given < sizeof(size_t) || given > LARGEST)
        return fail(METE_EINVAL, "%s.size is %zu; set it to sizeof(struct %s)", what, given, what);
    return 0;
}

int options_take(void *to, size_t size, const void *from, const char *what)
{
    size_t given = size;
    memset(to, 0, size);
    if (!from)
        return 0;
    memcpy(&given, from, sizeof given);
    int err = check_size(given, what);
    for (size_t i = size; i < given && !err; i++)
        if (((const char *)from)[i])
            err = fail(METE_EINVAL, "%s has fields of a later mete than %s", what, mete_version());
    if (!err)
        memcpy(to, from, given < size ? given : size);
    return err;
}

int options_give(void *to, const void *from, size_t size, const char *what)
{
    size_t given, head = sizeof given;
    if (!to)
        return fail(METE_EINVAL, "%s: there is nowhere to put it", what);
    memcpy(&given, to, head);
    int err = check_size(given, what);
    if (!err)
        memcpy((char *)to + head, (const char *)from + head, (given < size ? given : size) - head);
    return err;
}
