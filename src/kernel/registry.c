/* registry.c - the kernel sets, and which one a device name means. */
#include "kernel/kernel.h"
#include "base/error.h"
#include "base/param.h"

#include <stdlib.h>
#include <string.h>

static const char *const cpu_sets[] = {"avx512", "avx2", "portable"}; /* best first */
enum { CPU_SETS = sizeof cpu_sets / sizeof *cpu_sets };

const struct kernels *kernels_at(int i)
{
    const struct kernels *all[CPU_SETS + 3];
    int n = 0;
#ifdef METE_CUDA
    all[n++] = &kernels_cuda;
#endif
    for (int c = 0; c < CPU_SETS; c++)
        if (kernels_cpu(cpu_sets[c]))
            all[n++] = kernels_cpu(cpu_sets[c]);
    all[n++] = &kernels_ref;
    all[n++] = &kernels_ref64;
    return i < n ? all[i] : NULL;
}

static int best_cpu(const struct kernels **out)
{
    char why[256];
    for (int i = 0; i < CPU_SETS; i++) {
        const struct kernels *k = kernels_cpu(cpu_sets[i]);
        if (k && k->usable(why, sizeof why)) {
            *out = k;
            return 0;
        }
    }
    *out = &kernels_ref;
    return 0;
}

int kernels_find(const struct kernels **out, const char *name)
{
    const char *forced = getenv("METE_CPU");
    if (strcmp(name, "cpu") == 0) {
        if (!forced || !*forced)
            return best_cpu(out);
        name = forced;
    }
    for (int i = 0; kernels_at(i); i++) {
        const struct kernels *k = kernels_at(i);
        char why[256] = "";
        if (strcmp(k->name, name) != 0)
            continue;
        if (!k->usable(why, sizeof why))
            return fail(METE_EDEVICE, "the kernel set '%s' does not run here: %s", name, why);
        *out = k;
        return 0;
    }
    if (strcmp(name, "cuda") == 0)
        return fail(METE_EDEVICE, "this mete was built without CUDA; build it with -DMETE_CUDA=ON, "
                                  "or leave out --device cuda");
    const char *names[16] = {"cpu"};
    int n = 1;
    for (int i = 0; kernels_at(i) && n < 16; i++)
        names[n++] = kernels_at(i)->name;
    const char *near = nearest_word(name, names, n);
    if (near)
        return fail(METE_EINVAL, "no device or kernel set named '%s'; did you mean '%s'?", name,
                    near);
    return fail(METE_EINVAL, "no device or kernel set named '%s'; 'mete list devices' shows them",
                name);
}
