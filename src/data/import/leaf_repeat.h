/* leaf_repeat.h - which images have been seen: a hash table from (user, pixels) to
 * the item, 64 bits of hash each.
 */
#ifndef DATA_LEAF_REPEAT_H
#define DATA_LEAF_REPEAT_H

#include "mete.h"

enum { HAS_REPEAT = 4 }; /* bit of a user one repeat of whom was dropped */

struct repeats { /* zeroed is empty */
    struct {
        uint64_t key; /* 0: empty */
        int64_t item;
    } * slot;
    size_t n, slots;
};

uint64_t repeats_key(int user, const void *data, size_t size);  /* never 0 */
int64_t repeats_find(const struct repeats *r, uint64_t key);    /* the item, or -1 */
int repeats_add(struct repeats *r, uint64_t key, int64_t item); /* not there yet */
void repeats_release(struct repeats *r);

#endif
