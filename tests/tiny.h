/* tiny.h - small datasets for tests of tasks and labels: pixels of no account, but
 * classes, users and parts as wanted.
 */
#ifndef TINY_H
#define TINY_H

#include "base/memory.h"
#include "base/rng.h"
#include "data/dataset.h"

#include <stdio.h>
#include <stdlib.h>

/* `each` items of every class, shuffled over the item numbers; users 0: none, else
 * item i belongs to user i % users and every fourth of a user's items is test. */
static struct dataset *tiny_dataset(int classes, int each, int users)
{
    int n = classes * each;
    struct dataset d = {.name = "tiny",
                        .items = n,
                        .classes = classes,
                        .users = users,
                        .h = 1,
                        .w = 1,
                        .c = 1,
                        .scale = 1};
    int32_t *y = mem_array((size_t)n, sizeof *y), *user = mem_array((size_t)n, sizeof *user);
    uint8_t *part = mem_array((size_t)n, 1);
    for (int i = 0; i < n; i++) {
        y[i] = i % classes;
        user[i] = users ? i % users : 0;
        part[i] = users && i / users % 4 == 3 ? PART_TEST : PART_TRAIN;
    }
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    rng_shuffle(&r, y, (uint32_t)n);
    d.x = mem_alloc((size_t)n);
    d.y = y;
    d.class_names = mem_array((size_t)classes, sizeof *d.class_names);
    for (int c = 0; c < classes; c++)
        d.class_names[c] = mem_print("class%d", c);
    if (users) {
        d.user = user;
        d.part = part;
    } else {
        free(user);
        free(part);
    }
    struct dataset *out = NULL;
    if (dataset_from_memory(&out, &d) != 0)
        fprintf(stderr, "tiny_dataset: %s\n", mete_errmsg());
    return out;
}

#endif
