/* fuzz_tasks.c - any text as tasks.json: what is accepted keeps what the header
 * promises, and is accepted again after writing it out. */
#include "fuzz.h"
#include "task/task_file.h"

#include <string.h>

enum { ITEMS = 12, CLASSES = 4 };

static void check(const struct task_file *f, const struct dataset *d)
{
    for (int t = 0; t < f->n; t++) {
        const struct episode *e = &f->episodes[t];
        int seen[ITEMS] = {0};
        HOLDS(e->n_query > 0);
        for (int i = 0; i < e->n_support + e->n_query; i++) {
            bool query = i >= e->n_support;
            int at = query ? i - e->n_support : i;
            int item = query ? e->query[at] : e->support[at];
            int label = query ? e->query_label[at] : e->support_label[at];
            HOLDS(item >= 0 && item < d->items && !seen[item]++);
            HOLDS(label >= 0 && label < f->ways);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int32_t y[ITEMS] = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
    static const int32_t user[ITEMS] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    struct dataset d = {.name = (char *)"tiny",
                        .sha256 = (char *)"",
                        .items = ITEMS,
                        .classes = CLASSES,
                        .users = 3,
                        .y = y,
                        .user = user};
    struct task_file f = {0}, again = {0};
    if (task_file_parse(&f, "fuzz", data, size, &d) != 0)
        return 0;
    check(&f, &d);
    char *text = task_file_text(&f, &d);
    HOLDS(task_file_parse(&again, "again", text, strlen(text), &d) == 0);
    HOLDS(again.n == f.n && again.ways == f.ways);
    free(text);
    task_file_release(&again);
    task_file_release(&f);
    return 0;
}
