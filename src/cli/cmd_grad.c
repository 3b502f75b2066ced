/* cmd_grad.c - mete grad: the meta-gradient of a given task. */
#include "cli.h"
#include "commands.h"

static const char usage[] =
    "usage: mete grad --in TASK.safetensors --out GRAD.safetensors [options]\n\n"
    "Computes the meta-gradient of one task, for checking against other software.\n"
    "  --method M     maml (default), reptile, protonet, fedavg\n"
    "  --net N        conv4 (default), mlp\n"
    "  --device D     cpu (default), avx512, avx2, portable, ref, cuda\n"
    "  --set k=v      a setting; repeat it for more ('mete show M' lists them)\n\n"
    "In: conv0.weight..conv3.weight (O,I,3,3), convI.bias, bnI.weight, bnI.bias, head.weight\n"
    "(ways, features in c,h,w order), head.bias, support.x (n,c,h,w), support.y (int64), query.x,\n"
    "query.y; bnI.running_mean and bnI.running_var with net.bn=running.\n"
    "Out: the gradient under the weights' names, loss, and logits of the query after "
    "adaptation.\n\n"
    "example:\n"
    "  mete grad --method maml --set first_order=no --set inner.steps=5 --set inner.lr=0.01 \\\n"
    "            --in task.safetensors --out grad.safetensors\n";

int cmd_grad(int argc, char **argv)
{
    struct mete_grad_options o = {0};
    struct text_list words = {0}, set = {0};
    const struct option_row rows[] = {
        {"--method", OPT_TEXT, &o.method},
        {"--net", OPT_TEXT, &o.net},
        {"--device", OPT_TEXT, &o.device},
        {"--set", OPT_LIST, &set},
        {"--in", OPT_TEXT, &o.in},
        {"--out", OPT_TEXT, &o.out},
        {0},
    };
    int err = cli_options(argc, argv, usage, rows, &words);
    if (err)
        return err;
    if (words.n > 0)
        return cli_usage("grad: what is '%s'?  Files go with --in and --out", words.at[0]);
    if (!o.in || !o.out)
        return cli_usage("grad needs --in FILE and --out FILE");
    o.set = set.at;
    err = mete_grad(&o);
    return err ? cli_failed(err) : EXIT_DONE;
}
