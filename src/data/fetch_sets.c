/* fetch_sets.c - where the public sets are, and what to do about the others.
 *
 * Checksums: Omniglot's archives are those of the TensorFlow Datasets catalogue,
 * MNIST's the published ones.
 */
#include "data/fetch.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"
#include "base/param.h"

#include <stdlib.h>
#include <string.h>

#define OMNIGLOT "https://raw.githubusercontent.com/brendenlake/omniglot/master/python/"
#define VINYALS                                                                                    \
    "https://raw.githubusercontent.com/jakesnell/prototypical-networks/master/data/omniglot/"      \
    "splits/vinyals/"
#define MNIST "https://storage.googleapis.com/cvdf-datasets/mnist/"

static const struct fetch_file omniglot[] = {
    {"images_background.zip", OMNIGLOT "images_background.zip", 9464212,
     "ad41ab679c8b5d90b271ef46be6987cc81211774a695c29dcc5367b2b26ee640"},
    {"images_evaluation.zip", OMNIGLOT "images_evaluation.zip", 6462886,
     "1f61a8f3366785b057fc117d9228e78a16e3d976c8953b2a10fcc74cf0609cee"},
    {"train.txt", VINYALS "train.txt", 133244,
     "984522c194c30fb678ce53304a160a42faf5403ad4f9a67010f32dd3a35738e0"},
    {"val.txt", VINYALS "val.txt", 21312,
     "11f99e54faee3e26f53d3231c1cceac5bf7b8730e9be31cb6dab256551dc0c1a"},
    {"trainval.txt", VINYALS "trainval.txt", 154556,
     "5276ae50c755596d0bff7f2284e85625695549a85ee6e36b6491ad1e5d1cc26a"},
    {"test.txt", VINYALS "test.txt", 50372,
     "845264cc5c156180828ccf17915668b17ee21424d0170df6e7d81676aa5d1204"},
    {0},
};

static const struct fetch_file mnist[] = {
    {"train-images-idx3-ubyte.gz", MNIST "train-images-idx3-ubyte.gz", 9912422,
     "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
    {"train-labels-idx1-ubyte.gz", MNIST "train-labels-idx1-ubyte.gz", 28881,
     "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
    {"t10k-images-idx3-ubyte.gz", MNIST "t10k-images-idx3-ubyte.gz", 1648877,
     "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
    {"t10k-labels-idx1-ubyte.gz", MNIST "t10k-labels-idx1-ubyte.gz", 4542,
     "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
    {0},
};

static const struct set {
    const char *name;
    const struct fetch_file *files; /* NULL: there is no public address */
    const char *importer;           /* that reads the files, and which of them it needs */
    const char *needs[2];
    const char *why; /* there is none, and what to do */
} sets[] = {
    {"omniglot", omniglot, "omniglot", {"images_background.zip", "images_evaluation.zip"}, NULL},
    {"mnist", mnist, "idx", {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"}, NULL},
    {"miniimagenet",
     NULL,
     NULL,
     {NULL, NULL},
     "its images are ImageNet's, whose terms (research and education only, no passing on) forbid a "
     "public address: register at https://image-net.org, make the 84 x 84 images with the lists of "
     "https://github.com/twitter-research/meta-learning-lstm (or get images.tar from a colleague "
     "under the same terms), and run 'mete data import miniimagenet images.tar train.csv val.csv "
     "test.csv -o data/miniimagenet'"},
    {"femnist",
     NULL,
     NULL,
     {NULL, NULL},
     "LEAF publishes the program that makes it, not the files: in a copy of "
     "https://github.com/TalwalkarLab/leaf run data/femnist/preprocess.sh -s niid --sf 0.05 -k 0 "
     "-t sample (it loads NIST Special Database 19), and then 'mete data import leaf data/femnist "
     "-o data/femnist'"},
};
enum { SETS = sizeof sets / sizeof *sets };

static const struct set *find_set(const char *name)
{
    const char *names[SETS];
    for (int i = 0; i < SETS; i++) {
        if (strcmp(sets[i].name, name) == 0)
            return &sets[i];
        names[i] = sets[i].name;
    }
    fail_unknown("set to fetch", name, names, SETS);
    return NULL;
}

int mete_data_fetch(const struct mete_fetch_options *given)
{
    NUMBER_LOCALE;
    struct mete_fetch_options own, *o = &own;
    int err = options_take(o, sizeof own, given, "mete_fetch_options");
    if (!err && !o->name)
        err = fail(METE_EINVAL, "say what to fetch");
    if (err)
        return err;
    const struct set *set = find_set(o->name);
    if (!set)
        return METE_EINVAL;
    if (!set->files)
        return fail(METE_EINVAL, "%s cannot be fetched: %s", set->name, set->why);
    char *dir = o->dir ? mem_string(o->dir) : mem_print("data/%s-files", set->name);
    for (const struct fetch_file *file = set->files; file->name && !err; file++)
        err = fetch_file(file, dir, o->mirror);
    if (!err)
        log_info("%s is complete; next: mete data import %s %s/%s %s/%s -o data/%s", dir,
                 set->importer, dir, set->needs[0], dir, set->needs[1], set->name);
    free(dir);
    return err;
}
