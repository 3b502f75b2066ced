/* memory.h - small host allocations, which end the program when memory is gone
 * (mete_out_of_memory_to); those whose size input decides, and the arena, whose
 * exhaustion is an ordinary error.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t bytes);                        /* zeroed; free() it */
void *mem_array(size_t count, size_t size);           /* the same, checked for overflow */
void *mem_grow(void *old, size_t count, size_t size); /* realloc; new bytes not zeroed */
char *mem_string(const char *s);                      /* strdup */
char *mem_vprint(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
char *mem_print(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* asprintf */

/* Zeroed memory for what a file or a setting says is so large: METE_ENOMEM, with `what`
 * in the sentence, when there is no such memory.  free() *out. */
int mem_try(void *out, size_t count, size_t size, const char *what);
/* The same for a list that grows: realloc of *list, a pointer to anything; new bytes are not
 * zeroed, and *list stays as it was where it cannot grow. */
int mem_extend(void *list, size_t count, size_t size, const char *what);

/* One block of memory on large pages, handed out from the front and given back
 * all at once.  Planning and use are the same code: an arena opened with
 * `bytes` 0 only measures, its pointers are NULL and arena_used() is the plan.
 */
struct arena {
    char *base;
    size_t size, used, peak;
};

int arena_open(struct arena *a, size_t bytes);   /* 0 bytes: measure only */
void arena_close(struct arena *a);               /* a closed or zeroed arena is fine */
void *arena_take(struct arena *a, size_t bytes); /* 64-byte aligned, not zeroed; asserts it fits */
void arena_reset(struct arena *a);
size_t arena_peak(const struct arena *a);

#endif
