/* study_options.c - the options that `mete stability` and `mete drift` share. */
#include "study_options.h"

#include <string.h>

int study_options(int argc, char **argv, const char *usage, const struct option_row *more,
                  struct mete_study *o)
{
    static struct text_list set; /* o->set points at it */
    struct text_list words = {0};
    int seed = 1, n = 0;
    struct option_row rows[24] = {
        {"--tasks", OPT_INT, &o->tasks},     {"--method", OPT_TEXT, &o->method},
        {"--net", OPT_TEXT, &o->net},        {"--labels", OPT_TEXT, &o->labels},
        {"--device", OPT_TEXT, &o->device},  {"--set", OPT_LIST, &set},
        {"--threads", OPT_INT, &o->threads}, {"--probed", OPT_INT, &o->probed},
        {"--seed", OPT_INT, &seed},
    };
    while (rows[n].name)
        n++;
    while (more->name)
        rows[n++] = *more++;
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n != 1)
        return cli_usage("%s needs one benchmark, such as glyphs:5w-1s; got %d", argv[0], words.n);
    if (seed < 0)
        return cli_usage("--seed must be at least 0, got %d", seed);
    o->bench = words.at[0];
    o->seed = (uint64_t)seed;
    o->set = set.at;
    return 0;
}
