/* cpu_choose.c - the instruction sets these kernels were compiled for, by name.
 *
 * This file is compiled for any machine: it decides what may run on this one.
 */
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

/* What each compilation of cpu_table.c and cpu_roof.c defines. */
#define SET(isa)                                                                                   \
    extern const struct kernels cpu_table_##isa;                                                   \
    double cpu_roof_##isa(double seconds);                                                         \
    bool cpu_usable_##isa(char *why, size_t size);

SET(portable)
#ifdef CPU_X86
SET(avx2)
SET(avx512)
#endif

static const struct {
    const struct kernels *table;
    double (*roof)(double seconds);
} sets[] = {
#ifdef CPU_X86
    {&cpu_table_avx512, cpu_roof_avx512},
    {&cpu_table_avx2, cpu_roof_avx2},
#endif
    {&cpu_table_portable, cpu_roof_portable},
};
enum { SETS = sizeof sets / sizeof *sets };

bool cpu_usable_portable(char *why, size_t size)
{
    (void)why;
    (void)size;
    return true;
}

#ifdef CPU_X86
bool cpu_usable_avx2(char *why, size_t size)
{
    bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!has)
        snprintf(why, size, "this processor has no AVX2 with FMA");
    return has;
}

bool cpu_usable_avx512(char *why, size_t size)
{
    bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("fma");
    if (!has)
        snprintf(why, size, "this processor has no AVX-512 (F, DQ, BW, VL)");
    return has;
}
#endif

const struct kernels *kernels_cpu(const char *isa)
{
    for (int i = 0; i < SETS; i++)
        if (strcmp(sets[i].table->name, isa) == 0)
            return sets[i].table;
    return NULL;
}

double kernels_cpu_roof(const struct kernels *k, double seconds)
{
    for (int i = 0; i < SETS; i++)
        if (sets[i].table == k)
            return sets[i].roof(seconds);
    return 0;
}
