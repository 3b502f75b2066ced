/* cmd_adapt.c - mete adapt: a model for one person. */
#include "commands.h"
#include "mete_personal.h"

struct values {
    const char *user, *format, *out, *device;
    struct text_list set;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, user, "--user", "NAME", "for whom (data with users need it)"),
    OPTION_TEXT(struct values, out, "-o", "FILE", "where it goes; the name says the format"),
    OPTION_CHOICE(struct values, format, "--format", "onnx|c|safetensors",
                  "where the name does not say it"),
    OPTION_LIST(struct values, set, "--set", "KEY=VALUE", "a setting of the model"),
    OPTION_TEXT(struct values, device, "--device", "DEVICE", "cpu (default) or cuda"),
    {0},
};

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {0};
    struct text_list words = {0};
    int64_t labels;
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_adapt_options o = {.size = sizeof o,
                                   .model = words.at[0],
                                   .data = words.at[1],
                                   .user = v.user,
                                   .format = v.format,
                                   .out = v.out,
                                   .device = v.device,
                                   .set = v.set.at};
    err = mete_adapt_person(&o, &labels);
    if (err)
        return cli_failed(err);
    printf("%s: adapted to %lld label%s%s%s\n", v.out, (long long)labels, labels == 1 ? "" : "s",
           v.user ? " of " : "", v.user ? v.user : "");
    return EXIT_DONE;
}

const struct command command_adapt = {
    .name = "adapt",
    .summary = "adapt a model to what one person has answered",
    .words = "MODEL DATA",
    .about = "MODEL is a file or a run's folder.  It is adapted to all items of the person whose "
             "label is known, imported or answered, and written with that task: as a model for "
             "'mete predict', or in a format of 'mete export' for other programs.",
    .options = options,
    .examples = "mete adapt runs/activity data/activity --user p007 -o p007.safetensors\n"
                "mete adapt best.safetensors data/photos -o photos.onnx\n",
    .run = run,
};
