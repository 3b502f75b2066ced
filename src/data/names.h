/* names.h - a list of different words, each found by its number or by itself. */
#ifndef DATA_NAMES_H
#define DATA_NAMES_H

#include "mete.h"

struct names { /* zeroed is empty */
    char **at;
    int n, room;
    int32_t *slots; /* open addressing: number + 1, or 0 */
    int n_slots;
};

int names_find(const struct names *names, const char *word); /* its number, or -1 */
/* Its number, old or new, or METE_ENOMEM. */
int names_add(struct names *names, const char *word);
/* Sorts the words, as numbers if all of them are, else by their bytes, and gives the
 * new number of each old one in to (n): free() it; `to` may be NULL. */
int names_sort(struct names *names, int32_t **to);
char **names_take(struct names *names); /* the words, now the caller's; leaves it empty */
void names_release(struct names *names);

#endif
