/* cmd_export.c - mete export: a model for other programs. */
#include "commands.h"
#include "mete_personal.h"

struct values {
    const char *format, *out, *device;
    struct text_list set;
};

static const struct option options[] = {
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
    struct mete_model *m = NULL;
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (!v.out)
        return cli_usage("export: say where the model goes: -o FILE");
    err = mete_model_load(&m, words.at[0],
                          &(struct mete_model_options){.size = sizeof(struct mete_model_options),
                                                       .device = v.device,
                                                       .set = v.set.at});
    if (!err)
        err = mete_export(m, v.format, v.out);
    mete_model_close(m);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_export = {
    .name = "export",
    .summary = "write a model as ONNX or C, for other programs",
    .words = "MODEL",
    .about = "MODEL is a file or a run's folder.  With the task it was adapted to, it becomes one "
             "of:\n"
             "  me.onnx         ONNX: one input at a time, raw values in, probabilities out\n"
             "  me.c            one C99 file without dependencies and without a heap\n"
             "  me.safetensors  the model's own file\n"
             "Batch norm is frozen and folded, scaling and standardisation are inside.  A model "
             "that compares with prototypes must be adapted first ('mete adapt').",
    .options = options,
    .examples = "mete export me.safetensors -o me.onnx\n"
                "mete export runs/activity -o model.c\n",
    .run = run,
};
