/* cpu_roof.c - what one core could do at most: multiply-adds on registers alone. */
#include "cpu.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not while others run */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* As many independent sums as hide the latency, kept alive without being stored. */
enum { SUMS = 12 };
#if defined(__x86_64__)
#define KEEP(v) __asm__ volatile("" : "+v"(v))
#else
#define KEEP(v) __asm__ volatile("" : "+w"(v))
#endif

static void multiply_add(long turns)
{
    vf sum[SUMS], a = {0}, b = {0};
    UNROLL for (int i = 0; i < SUMS; i++) sum[i] = (vf){0};
    KEEP(a);
    KEEP(b);
    for (long t = 0; t < turns; t++)
        UNROLL for (int i = 0; i < SUMS; i++)
        {
            sum[i] += a * b;
            KEEP(sum[i]);
        }
}

/* FLOP/s of one thread, the best of the stretches of about 2 ms that fit in `seconds`. */
double cpu_roof(double seconds)
{
    const long turns = 500000;
    double best = 0, end = now() + seconds;
    do {
        double start = now();
        multiply_add(turns);
        double rate = (double)turns * SUMS * LANES * 2 / (now() - start);
        best = rate > best ? rate : best;
    } while (now() < end);
    return best;
}
