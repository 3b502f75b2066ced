/* cmd_grad.c - mete grad: the meta-gradient of a given task. */
#include "commands.h"

struct values {
    const char *method, *net, *device, *in, *out;
    struct text_list set;
};

static const struct option options[] = {
    OPTION_TEXT(struct values, in, "--in", "FILE", "the task and the weights (safetensors)"),
    OPTION_TEXT(struct values, out, "--out", "FILE", "the gradient (safetensors)"),
    OPTION_TEXT(struct values, method, "--method", "METHOD",
                "maml (default), reptile, protonet or fedavg"),
    OPTION_TEXT(struct values, net, "--net", "NET", "conv4 (default) or mlp"),
    OPTION_TEXT(struct values, device, "--device", "DEVICE",
                "cpu (default), avx512, avx2, portable, ref or cuda"),
    OPTION_LIST(struct values, set, "--set", "KEY=VALUE",
                "a setting; may be repeated ('mete show maml' lists them)"),
    {0},
};

static int run(const struct command *self, int argc, char **argv)
{
    struct values v = {0};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (!v.in || !v.out)
        return cli_usage("grad needs --in FILE and --out FILE");
    struct mete_grad_options o = {.size = sizeof o,
                                  .method = v.method,
                                  .net = v.net,
                                  .device = v.device,
                                  .set = v.set.at,
                                  .in = v.in,
                                  .out = v.out};
    err = mete_grad(&o);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_grad = {
    .name = "grad",
    .summary = "compute the meta-gradient of a given task",
    .about =
        "Computes the meta-gradient of one task, to compare with other software.\n"
        "\n"
        "The input holds conv0.weight .. conv3.weight (O,I,3,3), convI.bias, bnI.weight, bnI.bias, "
        "head.weight (ways, features in c,h,w order), head.bias, support.x (n,c,h,w), support.y "
        "(int64), query.x and query.y; with net.bn=running also bnI.running_mean and "
        "bnI.running_var.\n"
        "\n"
        "The output holds the gradient under the names of the weights, the loss, and the query's "
        "logits after adaptation.",
    .options = options,
    .examples = "mete grad --method maml --set first_order=no --set inner.steps=5 \\\n"
                "    --in task.safetensors --out grad.safetensors\n",
    .run = run,
};
