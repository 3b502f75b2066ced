/* cmd_predict.c - mete predict: what a model says of items. */
#include "commands.h"
#include "mete_personal.h"

#include <math.h>

struct values {
    const char *user, *out, *save, *device;
    struct text_list set;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, user, "--user", "NAME",
                "of a dataset: the items of this person, by a model adapted to what is known of "
                "them; all: everybody, each by their own"),
    OPTION_TEXT(struct values, out, "-o", "FILE", "where the predictions go, as CSV"),
    OPTION_TEXT(struct values, save, "--save", "FILE",
                "write the model that predicted too, in a format of 'mete export'"),
    OPTION_LIST(struct values, set, "--set", "KEY=VALUE", "a setting of the model"),
    OPTION_TEXT(struct values, device, "--device", "DEVICE", "cpu (default) or cuda"),
    {0},
};

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_result(const struct values *v, const struct mete_predictions *p)
{
    printf("%lld item%s in %s", (long long)p->items, plural(p->items), v->out);
    if (p->people == 1)
        printf(", adapted to %lld label%s", (long long)p->labels, plural(p->labels));
    else if (p->people)
        printf(", adapted to %lld label%s of %d people", (long long)p->labels, plural(p->labels),
               p->people);
    if (p->without)
        printf("; without a label and left out: %d", p->without);
    if (p->missing)
        printf("; %lld missing field%s filled", (long long)p->missing, plural(p->missing));
    if (!isnan(p->right))
        printf("; %.1f %% right of %lld whose label is known", 100 * p->right, (long long)p->known);
    putchar('\n');
}

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {0};
    struct text_list words = {0};
    struct mete_predictions result;
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_predictions_options o = {.size = sizeof o,
                                         .model = words.at[0],
                                         .what = words.at[1],
                                         .user = v.user,
                                         .out = v.out,
                                         .save = v.save,
                                         .device = v.device,
                                         .set = v.set.at};
    err = mete_predictions(&o, &result);
    if (err)
        return cli_failed(err);
    print_result(&v, &result);
    return EXIT_DONE;
}

const struct command command_predict = {
    .name = "predict",
    .summary = "what a model says of items, as CSV",
    .words = "MODEL WHAT",
    .about =
        "MODEL is a file or a run's folder.  WHAT is one of these; none but a dataset needs to be "
        "imported, and the model's own scaling, names and fills apply:\n"
        "  DATA       a dataset\n"
        "  rows.csv   a table with the columns that the model was trained on; also .tsv\n"
        "  x.npy      a NumPy array: pixels, or features with NaN where one is missing\n"
        "  photos     a folder or archive of PNG and JPEG files, or one such file\n"
        "A row of the output says which item it is of, the class that is most likely, the entropy "
        "of the prediction in nats, and the probability of each class.  An item's prediction does "
        "not depend on the others.",
    .options = options,
    .examples = "mete predict p007.safetensors new.csv -o out.csv\n"
                "mete predict runs/activity data/activity --user all -o out.csv\n"
                "mete predict runs/activity data/activity --user p007 -o out.csv --save me.onnx\n",
    .run = run,
};
