/* bench.h - benchmark names: omniglot:5w-1s@300K is a dataset, ways, shots and a
 * label budget.
 *
 * The ways may be left out where tasks are users (femnist:1s@10K: all classes),
 * the budget in the classical regime.  The dataset may itself hold a colon
 * (glyphs:classes=200:5w-1s): the last one counts.
 */
#ifndef TASK_BENCH_H
#define TASK_BENCH_H

#include "base/param.h"

struct bench {
    char dataset[512]; /* as dataset_find takes it */
    int ways;          /* 0: every class of the dataset */
    int shots;
    int64_t budget; /* labels; 0: no cap */
};

int bench_parse(struct bench *out, const char *text);
/* As bench_parse reads it; all spellings of a benchmark have one text. */
void bench_text(const struct bench *b, char *out, size_t size);

/* The shots of tests: how many numbers "1,5" holds, or METE_EINVAL. */
enum { TEST_SHOTS_MAX = 8 };
int shots_parse(const char *text, int shots[TEST_SHOTS_MAX]);
/* For the settings table: ascending, no number twice. */
int shots_canonical(char text[PARAM_TEXT_SIZE]);

#endif
