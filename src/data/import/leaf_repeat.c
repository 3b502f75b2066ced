/* leaf_repeat.c - open addressing, at most 7/10 full. */
#include "data/import/leaf_repeat.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x) /* the finaliser of SplitMix64 */
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t repeats_key(int user, const void *data, size_t size)
{
    uint64_t h = mix((uint64_t)user + 1), word;
    const char *p = data;
    for (; size >= sizeof word; p += sizeof word, size -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = mix(h ^ word) + 0x9e3779b97f4a7c15u;
    }
    word = 0;
    memcpy(&word, p, size);
    h = mix(h ^ word);
    return h ? h : 1;
}

static size_t place(const struct repeats *r, uint64_t key)
{
    size_t i = key & (r->slots - 1);
    while (r->slot[i].key && r->slot[i].key != key)
        i = (i + 1) & (r->slots - 1);
    return i;
}

int64_t repeats_find(const struct repeats *r, uint64_t key)
{
    if (!r->slots)
        return -1;
    size_t i = place(r, key);
    return r->slot[i].key ? r->slot[i].item : -1;
}

static int grow(struct repeats *r)
{
    struct repeats old = *r, new = *r;
    new.slots = old.slots ? 2 * old.slots : 4096;
    int err = mem_try(&new.slot, new.slots, sizeof *new.slot, "leaf");
    if (err)
        return err;
    *r = new;
    for (size_t i = 0; i < old.slots; i++)
        if (old.slot[i].key)
            r->slot[place(r, old.slot[i].key)] = old.slot[i];
    free(old.slot);
    return 0;
}

int repeats_add(struct repeats *r, uint64_t key, int64_t item)
{
    int err = 0;
    if (10 * (r->n + 1) > 7 * r->slots)
        err = grow(r);
    if (err)
        return err;
    size_t i = place(r, key);
    r->slot[i].key = key;
    r->slot[i].item = item;
    r->n++;
    return 0;
}

void repeats_release(struct repeats *r)
{
    free(r->slot);
    *r = (struct repeats){0};
}
