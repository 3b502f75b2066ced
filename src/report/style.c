/* style.c - colours, dashes and markers by name. */
#include "report/style.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *title;
} methods[] = {
    {"reptile", "Reptile"}, {"maml", "MAML"}, {"protonet", "ProtoNets"}, {"fedavg", "FedAvg"}};
enum { METHODS = sizeof methods / sizeof *methods };

/* Also what else tells the lines of a figure apart by dashes. */
static const struct {
    const char *name, *dashes;
    enum marker marker;
} strategies[] = {
    {"random", "", MARK_CIRCLE},         {"active", "7 3", MARK_SQUARE},
    {"stratified", "2 3", MARK_DIAMOND}, {"entropy", "9 3 2 3", MARK_TRIANGLE},
    {"margin", "4 5", MARK_DOWN},        {"kmeans", "1 3", MARK_CROSS},
    {"kcenter", "12 4", MARK_TRIANGLE},  {"badge", "6 2 1 2 1 2", MARK_DOWN},
    {"fitted", "6 4", MARK_CROSS},       {"within", "6 4", MARK_SQUARE},
    {"appendix", "6 4", MARK_SQUARE},
};
enum { STRATEGIES = sizeof strategies / sizeof *strategies, LABELS = 8 };

/* `name` is "active" or begins with it: "active, train.resplit=yes". */
static bool is(const char *name, const char *word)
{
    size_t n = strlen(word);
    return strncmp(name, word, n) == 0 && (!name[n] || name[n] == ',');
}

/* The number of a name among those met; as many as there is room for are remembered. */
static int remember(char **names, int *n, const char *name)
{
    int i = 0;
    while (i < *n && strcmp(names[i], name) != 0)
        i++;
    if (i == *n && i < STYLE_NAMES)
        names[(*n)++] = mem_string(name);
    return i;
}

int style_colour(struct style *s, const char *name)
{
    if (!name || !*name)
        return STYLE_INK;
    for (int i = 0; i < METHODS; i++)
        if (strcmp(name, methods[i].name) == 0)
            return i;
    for (int i = 0; i < LABELS; i++)
        if (is(name, strategies[i].name))
            return STYLE_INK;
    return METHODS + remember(s->other, &s->others, name) % (STYLE_COLOURS - METHODS);
}

void style_release(struct style *s)
{
    for (int i = 0; i < s->others; i++)
        free(s->other[i]);
    for (int i = 0; i < s->marks; i++)
        free(s->marked[i]);
    *s = (struct style){0};
}

static int find(const char *strategy)
{
    for (int i = 0; strategy && i < STRATEGIES; i++)
        if (is(strategy, strategies[i].name))
            return i;
    return -1;
}

static unsigned hash(const char *s)
{
    unsigned h = 5381;
    while (s && *s)
        h = 33 * h + (unsigned char)*s++;
    return h;
}

const char *style_dashes(const char *strategy)
{
    int i = find(strategy);
    if (i >= 0)
        return strategies[i].dashes;
    return strategy && *strategy ? strategies[1 + hash(strategy) % (LABELS - 1)].dashes : "";
}

enum marker style_marker(struct style *s, const char *strategy)
{
    int i = find(strategy);
    if (!strategy || !*strategy)
        return MARK_CIRCLE;
    if (i >= 0 && !strchr(strategy, ','))
        return strategies[i].marker;
    return (enum marker)((MARK_TRIANGLE + remember(s->marked, &s->marks, strategy)) % MARKS);
}

const char *style_method(const char *name)
{
    for (int i = 0; i < METHODS; i++)
        if (strcmp(name, methods[i].name) == 0)
            return methods[i].title;
    return name;
}
