/* cmd_data.c - mete data: datasets in, and a look at them.  A table of its verbs. */
#include "cli.h"
#include "commands.h"
#include "data_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- import ---- */

/* The usage, with the importers as the library has them. */
static char *import_usage(void)
{
    char *text = NULL;
    size_t size = 0;
    const char *name, *summary, *arguments;
    FILE *to = open_memstream(&text, &size);
    fputs("usage: mete data import KIND PATH... -o DIR [options]\n\n"
          "Turns files as people have them into a dataset: the folder DIR, with arrays that\n"
          "NumPy can open.  DIR appears when all is well and complete, or not at all.\n\n",
          to);
    for (int i = 0; mete_data_importer(i, &name, &summary, &arguments); i++)
        fprintf(to, "  %-13s %s\n  %-13s   %s\n", name, arguments, "", summary);
    fputs(
        "\n  -o DIR            the dataset\n"
        "  --set KEY=VALUE   a setting of the importer ('mete show KIND' lists them)\n"
        "  --label COLUMN, --user COLUMN   (table) --set label=COLUMN, --set user=COLUMN\n"
        "  --like DATASET    (table) --set like=DATASET: rows that come later, with its features,\n"
        "                    fills, standardisation and classes\n"
        "  --users           (folder) --set users=yes: USER/CLASS/IMAGE\n"
        "  --force           replace a dataset that exists\n"
        "  --threads N       for decoding (one per core)\n\n"
        "examples:\n"
        "  mete data import omniglot images_background.zip images_evaluation.zip -o data/omniglot\n"
        "  mete data import leaf leaf/data/femnist/data -o data/femnist\n"
        "  mete data import folder photos --users --set size=84 -o data/photos\n"
        "  mete data import table heart.csv --label diagnosis --user hospital -o data/heart\n",
        to);
    fclose(to);
    return text;
}

/* "--label COLUMN" is short for "--set label=COLUMN". */
static const char *assignment(const char *key, const char *value)
{
    static char text[4][512];
    static int used;
    char *to = text[used++ % 4];
    snprintf(to, sizeof text[0], "%s=%s", key, value);
    return to;
}

static int run_import(int argc, char **argv)
{
    const char *dir = NULL, *label = NULL, *user = NULL, *like = NULL;
    bool force = false, users = false;
    int threads = 0;
    struct text_list set = {0}, words = {0};
    const struct option_row rows[] = {
        {"-o", OPT_TEXT, &dir},
        {"--set", OPT_LIST, &set},
        {"--label", OPT_TEXT, &label},
        {"--user", OPT_TEXT, &user},
        {"--like", OPT_TEXT, &like},
        {"--users", OPT_FLAG, &users},
        {"--force", OPT_FLAG, &force},
        {"--threads", OPT_INT, &threads},
        {0},
    };
    char *usage = import_usage();
    int status = cli_options(argc, argv, usage, rows, &words);
    free(usage);
    if (status)
        return status;
    if (words.n < 1)
        return cli_usage("data import: which kind? 'mete data import --help' lists them");
    if (set.n + 4 > TEXT_LIST_MAX)
        return cli_usage("data import: too many settings");
    if (label)
        set.at[set.n++] = assignment("label", label);
    if (user)
        set.at[set.n++] = assignment("user", user);
    if (like)
        set.at[set.n++] = assignment("like", like);
    if (users)
        set.at[set.n++] = "users=yes";
    struct mete_import_options options = {words.at[0], words.at + 1, dir, set.at, force, threads};
    int err = mete_data_import(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

/* ---- info ---- */

static const char info_usage[] =
    "usage: mete data info DATASET [--json] [--check]\n\n"
    "DATASET is a folder, or a name that is looked for in $METE_DATA and in data/; glyphs\n"
    "and glyphs-users are made on the spot.\n\n"
    "  --json    for programs: items, classes, users, shape and more\n"
    "  --check   compare the arrays with their checksum first\n";

static int run_info(int argc, char **argv)
{
    bool json = false, check = false;
    struct text_list words = {0};
    struct mete_data_info info;
    const struct option_row rows[] = {
        {"--json", OPT_FLAG, &json}, {"--check", OPT_FLAG, &check}, {0}};
    int status = cli_options(argc, argv, info_usage, rows, &words);
    if (status)
        return status;
    if (words.n != 1)
        return cli_usage("data info: which dataset? one folder or name");
    int err = check ? mete_data_verify(words.at[0]) : 0;
    if (!err)
        err = mete_data_info(words.at[0], &info);
    if (err)
        return cli_failed(err);
    if (json)
        data_print_json(&info);
    else
        data_print(&info);
    return EXIT_DONE;
}

/* ---- sheet ---- */

static const char sheet_usage[] =
    "usage: mete data sheet DATASET -o sheet.png [--rows R] [--cols C] [--by class|user]\n\n"
    "A contact sheet: each row is a user, or a class where there are no users, spread evenly\n"
    "over all of them.\n\n"
    "examples:\n"
    "  mete data sheet data/omniglot -o sheet.png --rows 10\n"
    "  mete data sheet glyphs-users -o users.png\n";

static int run_sheet(int argc, char **argv)
{
    struct mete_sheet_options options = {0};
    const char *by = "auto";
    struct text_list words = {0};
    int n_rows = 20, n_cols = 20;
    const struct option_row rows[] = {{"-o", OPT_TEXT, &options.path},
                                      {"--rows", OPT_INT, &n_rows},
                                      {"--cols", OPT_INT, &n_cols},
                                      {"--by", OPT_TEXT, &by},
                                      {0}};
    int status = cli_options(argc, argv, sheet_usage, rows, &words);
    if (status)
        return status;
    if (words.n != 1)
        return cli_usage("data sheet: which dataset? one folder or name");
    if (n_rows < 1 || n_cols < 1)
        return cli_usage("data sheet: --rows and --cols must be 1 or more");
    if (strcmp(by, "auto") != 0 && strcmp(by, "class") != 0 && strcmp(by, "user") != 0)
        return cli_usage("data sheet: --by expects class or user, got '%s'", by);
    options.by = strcmp(by, "class") == 0  ? METE_BY_CLASS
                 : strcmp(by, "user") == 0 ? METE_BY_USER
                                           : METE_BY_AUTO;
    options.name = words.at[0];
    options.rows = n_rows;
    options.cols = n_cols;
    int err = mete_data_sheet(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

/* ---- fetch ---- */

static const char fetch_usage[] =
    "usage: mete data fetch NAME [-o DIR] [--mirror ADDRESS]\n\n"
    "Gets the files of a public set (omniglot, mnist) into DIR (data/NAME-files), continues\n"
    "what was interrupted, and compares checksums.  For sets without a public address\n"
    "(miniimagenet, femnist) it says what to do instead.\n\n"
    "  --mirror ADDRESS   another place that holds the same files: https://... or file://...\n";

static int run_fetch(int argc, char **argv)
{
    struct mete_fetch_options options = {0};
    struct text_list words = {0};
    const struct option_row rows[] = {
        {"-o", OPT_TEXT, &options.dir}, {"--mirror", OPT_TEXT, &options.mirror}, {0}};
    int status = cli_options(argc, argv, fetch_usage, rows, &words);
    if (status)
        return status;
    if (words.n != 1)
        return cli_usage("data fetch: which set? omniglot, mnist, miniimagenet or femnist");
    options.name = words.at[0];
    int err = mete_data_fetch(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

/* ---- the verbs ---- */

static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
} verbs[] = {
    {"import", run_import, "turn archives, folders, tables or arrays into a dataset"},
    {"info", run_info, "what is in a dataset"},
    {"sheet", run_sheet, "a picture of a dataset: rows are classes or users"},
    {"fetch", run_fetch, "get the files of a public set"},
};

static void print_help(void)
{
    fputs("usage: mete data VERB ...\n\n", stdout);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        printf("  %-8s %s\n", verbs[i].name, verbs[i].help);
    fputs("\n'mete data VERB --help' says more, with examples.\n", stdout);
}

int cmd_data(int argc, char **argv)
{
    if (argc < 2)
        return cli_usage("data: expected import, info, sheet or fetch");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help();
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(argv[1], verbs[i].name) == 0)
            return verbs[i].run(argc - 1, argv + 1);
    return cli_usage("data: expected import, info, sheet or fetch, got '%s'", argv[1]);
}
