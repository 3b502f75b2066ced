/* names.c - words in a growing array, found through a hash table. */
#include "data/names.h"
#include "base/memory.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash(const char *word) /* FNV-1a */
{
    uint32_t h = 2166136261u;
    for (; *word; word++)
        h = (h ^ (unsigned char)*word) * 16777619u;
    return h;
}

/* The slot that holds `word`, or the empty one where it belongs. */
static int32_t *slot_of(const struct names *names, const char *word)
{
    uint32_t mask = (uint32_t)names->n_slots - 1, i = hash(word) & mask;
    while (names->slots[i] && strcmp(names->at[names->slots[i] - 1], word) != 0)
        i = (i + 1) & mask;
    return &names->slots[i];
}

static void index_all(struct names *names)
{
    memset(names->slots, 0, (size_t)names->n_slots * sizeof *names->slots);
    for (int i = 0; i < names->n; i++)
        *slot_of(names, names->at[i]) = i + 1;
}

static int make_room(struct names *names)
{
    if (2 * (names->n + 1) > names->n_slots) {
        int n_slots = names->n_slots ? 2 * names->n_slots : 64;
        int err = mem_extend(&names->slots, (size_t)n_slots, sizeof *names->slots, "names");
        if (err)
            return err;
        names->n_slots = n_slots;
        index_all(names);
    }
    if (names->n < names->room)
        return 0;
    int room = names->room ? 2 * names->room : 64;
    int err = mem_extend(&names->at, (size_t)room, sizeof *names->at, "names");
    names->room = err ? names->room : room;
    return err;
}

int names_find(const struct names *names, const char *word)
{
    return names->n_slots ? *slot_of(names, word) - 1 : -1;
}

int names_add(struct names *names, const char *word)
{
    int err = make_room(names);
    if (err)
        return err;
    int32_t *slot = slot_of(names, word);
    if (*slot)
        return *slot - 1;
    names->at[names->n++] = mem_string(word);
    *slot = names->n;
    return names->n - 1;
}

struct ranked {
    char *word;
    double number;
    int old;
};

static int by_bytes(const void *a, const void *b)
{
    return strcmp(((const struct ranked *)a)->word, ((const struct ranked *)b)->word);
}

static int by_number(const void *a, const void *b)
{
    double x = ((const struct ranked *)a)->number, y = ((const struct ranked *)b)->number;
    return x < y ? -1 : x > y ? 1 : by_bytes(a, b);
}

int names_sort(struct names *names, int32_t **to)
{
    struct ranked *ranked = NULL;
    bool numbers = true;
    int err = mem_try(&ranked, (size_t)names->n, sizeof *ranked, "names");
    if (!err && to)
        err = mem_try(to, (size_t)names->n, sizeof **to, "names");
    if (err) {
        free(ranked);
        return err;
    }
    for (int i = 0; i < names->n; i++) {
        char *end;
        double number = number_read(names->at[i], &end);
        numbers = numbers && *names->at[i] && !*end && number == number;
        ranked[i] = (struct ranked){names->at[i], number, i};
    }
    qsort(ranked, (size_t)names->n, sizeof *ranked, numbers ? by_number : by_bytes);
    for (int i = 0; i < names->n; i++) {
        names->at[i] = ranked[i].word;
        if (to)
            (*to)[ranked[i].old] = i;
    }
    free(ranked);
    if (names->n)
        index_all(names);
    return 0;
}

char **names_take(struct names *names)
{
    char **at = names->at;
    free(names->slots);
    *names = (struct names){0};
    return at;
}

void names_release(struct names *names)
{
    for (int i = 0; i < names->n; i++)
        free(names->at[i]);
    free(names->at);
    free(names->slots);
    *names = (struct names){0};
}
