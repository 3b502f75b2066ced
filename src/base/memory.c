/* memory.c - host memory: checked small allocations and the large-page arena. */
#include "base/memory.h"
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, LARGE_PAGE = 2 << 20 };

static _Atomic(mete_out_of_memory_fn *) out_of_memory;

void mete_out_of_memory_to(mete_out_of_memory_fn *fn)
{
    out_of_memory = fn;
}

static void *checked(void *p, size_t bytes)
{
    if (p)
        return p;
    mete_out_of_memory_fn *fn = out_of_memory;
    if (fn)
        fn(bytes);
    abort();
}

void *mem_alloc(size_t bytes)
{
    return checked(calloc(1, bytes ? bytes : 1), bytes);
}

void *mem_array(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *mem_grow(void *old, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return checked(NULL, SIZE_MAX);
    size_t bytes = count * size;
    return checked(realloc(old, bytes ? bytes : 1), bytes);
}

char *mem_string(const char *s)
{
    return checked(strdup(s), strlen(s));
}

char *mem_vprint(const char *fmt, va_list args)
{
    char *out = NULL;
    int n = vasprintf(&out, fmt, args);
    return checked(n < 0 ? NULL : out, 0);
}

char *mem_print(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *out = mem_vprint(fmt, args);
    va_end(args);
    return out;
}

int mem_try(void *out, size_t count, size_t size, const char *what)
{
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p)
        return fail(METE_ENOMEM, "%s: there is no memory for %zu times %zu bytes", what, count,
                    size);
    *(void **)out = p;
    return 0;
}

int mem_extend(void *list, size_t count, size_t size, const char *what)
{
    bool fits = !size || count <= SIZE_MAX / size;
    size_t bytes = count * size;
    void *p = fits ? realloc(*(void **)list, bytes ? bytes : 1) : NULL;
    if (!p)
        return fail(METE_ENOMEM, "%s: there is no memory for %zu times %zu bytes", what, count,
                    size);
    *(void **)list = p;
    return 0;
}

static size_t round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

int arena_open(struct arena *a, size_t bytes)
{
    *a = (struct arena){0};
    if (bytes == 0)
        return 0;
    size_t size = round_up(bytes, LARGE_PAGE);
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return fail(METE_ENOMEM, "cannot reserve %.1f MB of working memory", (double)size / 1e6);
    madvise(p, size, MADV_HUGEPAGE); /* a hint: smaller pages only cost speed */
    a->base = p;
    a->size = size;
    return 0;
}

void arena_close(struct arena *a)
{
    if (a->base)
        munmap(a->base, a->size);
    *a = (struct arena){0};
}

void *arena_take(struct arena *a, size_t bytes)
{
    size_t at = round_up(a->used, ALIGN);
    a->used = at + bytes;
    if (a->used > a->peak)
        a->peak = a->used;
    if (!a->base)
        return NULL; /* measuring */
    assert(a->used <= a->size);
    return a->base + at;
}

void arena_reset(struct arena *a)
{
    a->used = 0;
}

size_t arena_peak(const struct arena *a)
{
    return round_up(a->peak, ALIGN);
}
