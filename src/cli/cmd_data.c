/* cmd_data.c - mete data ...: datasets in, and a look at them. */
#include "commands.h"
#include "data_print.h"

#include <string.h>

/* ---- import ---- */

struct import_values {
    const char *dir, *label, *user, *like;
    struct text_list set;
    bool users, force;
    int threads;
};

static const struct option import_options[] = {
    OPTION_TEXT(struct import_values, dir, "-o", "FOLDER", "the dataset to write"),
    OPTION_LIST(struct import_values, set, "--set", "KEY=VALUE",
                "a setting of the importer ('mete show KIND' lists them)"),
    OPTION_TEXT(struct import_values, label, "--label", "COLUMN",
                "table: the column that holds the class; short for --set label=COLUMN"),
    OPTION_TEXT(struct import_values, user, "--user", "COLUMN",
                "table: the column that names the user; short for --set user=COLUMN"),
    OPTION_TEXT(struct import_values, like, "--like", "DATASET",
                "table: rows that come later, with this dataset's features, fills, "
                "standardisation and classes; short for --set like=DATASET"),
    OPTION_FLAG(struct import_values, users, "--users",
                "folder: the files are USER/CLASS/IMAGE; short for --set users=yes"),
    OPTION_FLAG(struct import_values, force, "--force", "replace a dataset that exists"),
    OPTION_COUNT(struct import_values, threads, "--threads",
                 "threads that decode images (default: one per core)"),
    {0},
};

static void print_importers(FILE *to)
{
    enum { COLUMN = 18 };
    const char *name, *summary, *arguments;
    fputs("\nkinds:\n", to);
    for (int i = 0; mete_data_importer(i, &name, &summary, &arguments); i++) {
        fprintf(to, "  %-13s %s\n%*s", name, arguments, COLUMN, "");
        cli_fill(to, summary, COLUMN, COLUMN, TEXT_WIDTH);
    }
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

static int unknown_kind(const char *kind)
{
    char kinds[256] = "";
    const char *name, *summary, *arguments;
    for (int i = 0; mete_data_importer(i, &name, &summary, &arguments); i++)
        snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%s%s", i ? "|" : "", name);
    return cli_unknown("data import", kind, kinds);
}

static bool is_kind(const char *kind)
{
    const char *name, *summary, *arguments;
    for (int i = 0; mete_data_importer(i, &name, &summary, &arguments); i++)
        if (strcmp(name, kind) == 0)
            return true;
    return false;
}

static int run_import(const struct command *self, int argc, char **argv)
{
    struct import_values v = {0};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (!is_kind(words.at[0]))
        return unknown_kind(words.at[0]);
    if (v.set.n + 4 > TEXT_LIST_MAX)
        return cli_usage("data import: too many settings");
    if (v.label)
        v.set.at[v.set.n++] = assignment("label", v.label);
    if (v.user)
        v.set.at[v.set.n++] = assignment("user", v.user);
    if (v.like)
        v.set.at[v.set.n++] = assignment("like", v.like);
    if (v.users)
        v.set.at[v.set.n++] = "users=yes";
    struct mete_import_options options = {.size = sizeof options,
                                          .kind = words.at[0],
                                          .paths = words.at + 1,
                                          .dir = v.dir,
                                          .settings = v.set.at,
                                          .force = v.force,
                                          .threads = v.threads};
    err = mete_data_import(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_data_import = {
    .name = "data import",
    .summary = "make a dataset from archives, folders, tables or arrays",
    .words = "KIND [PATH]...",
    .about = "Reads files as people have them and writes a dataset: a folder of arrays that NumPy "
             "can open.  The folder appears when the import is complete, or not at all.",
    .more = print_importers,
    .options = import_options,
    .examples = "mete data import table heart.csv --label sick --user hospital -o data/heart\n"
                "mete data import omniglot images_background.zip images_evaluation.zip \\\n"
                "    -o data/omniglot\n"
                "mete data import leaf leaf/data/femnist/data -o data/femnist\n"
                "mete data import folder photos --users --set size=84 -o data/photos\n",
    .run = run_import,
};

/* ---- info ---- */

struct info_values {
    bool json, check;
};

static const struct option info_options[] = {
    OPTION_FLAG(struct info_values, json, "--json", "print it as one JSON object"),
    OPTION_FLAG(struct info_values, check, "--check",
                "first compare the arrays with their checksum"),
    {0},
};

static int run_info(const struct command *self, int argc, char **argv)
{
    struct info_values v = {0};
    struct text_list words = {0};
    struct mete_data_info info = {.size = sizeof info};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    err = v.check ? mete_data_verify(words.at[0]) : 0;
    if (!err)
        err = mete_data_info(words.at[0], &info);
    if (err)
        return cli_failed(err);
    if (v.json)
        data_print_json(&info);
    else
        data_print(&info);
    return EXIT_DONE;
}

const struct command command_data_info = {
    .name = "data info",
    .summary = "print what a dataset holds",
    .words = "DATASET",
    .about = "DATASET is a folder, or a name that is looked for in $METE_DATA and in data/.  The "
             "datasets glyphs and glyphs-users are generated and always there.",
    .options = info_options,
    .examples = "mete data info glyphs\nmete data info data/heart --check\n",
    .run = run_info,
};

/* ---- sheet ---- */

struct sheet_values {
    const char *path, *by;
    int rows, cols;
};

static const struct option sheet_options[] = {
    OPTION_TEXT(struct sheet_values, path, "-o", "FILE", "the PNG to write"),
    OPTION_COUNT(struct sheet_values, rows, "--rows", "rows (default 20)"),
    OPTION_COUNT(struct sheet_values, cols, "--cols", "columns (default 20)"),
    OPTION_CHOICE(struct sheet_values, by, "--by", "auto|class|user",
                  "what a row is (default: a user if there are users, else a class)"),
    {0},
};

static int run_sheet(const struct command *self, int argc, char **argv)
{
    struct sheet_values v = {.by = "auto", .rows = 20, .cols = 20};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    if (v.rows < 1 || v.cols < 1)
        return cli_usage("data sheet: --rows and --cols must be 1 or more");
    struct mete_sheet_options options = {.size = sizeof options,
                                         .name = words.at[0],
                                         .path = v.path,
                                         .rows = v.rows,
                                         .cols = v.cols,
                                         .by = strcmp(v.by, "class") == 0  ? METE_BY_CLASS
                                               : strcmp(v.by, "user") == 0 ? METE_BY_USER
                                                                           : METE_BY_AUTO};
    err = mete_data_sheet(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_data_sheet = {
    .name = "data sheet",
    .summary = "draw a contact sheet of a dataset",
    .words = "DATASET",
    .about = "Draws a contact sheet as a PNG.  Each row is a user, or a class if there are no "
             "users; the rows are spread evenly over all of them.",
    .options = sheet_options,
    .examples = "mete data sheet data/omniglot -o sheet.png --rows 10\n"
                "mete data sheet glyphs-users -o users.png\n",
    .run = run_sheet,
};

/* ---- fetch ---- */

struct fetch_values {
    const char *dir, *mirror;
};

static const struct option fetch_options[] = {
    OPTION_TEXT(struct fetch_values, dir, "-o", "FOLDER",
                "where the files go (default data/NAME-files)"),
    OPTION_TEXT(struct fetch_values, mirror, "--mirror", "ADDRESS",
                "another place with the same files: https://... or file://..."),
    {0},
};

static int run_fetch(const struct command *self, int argc, char **argv)
{
    struct fetch_values v = {0};
    struct text_list words = {0};
    int err = cli_options(self, argc, argv, &v, &words);
    if (err)
        return err;
    struct mete_fetch_options options = {
        .size = sizeof options, .name = words.at[0], .dir = v.dir, .mirror = v.mirror};
    err = mete_data_fetch(&options);
    return err ? cli_failed(err) : EXIT_DONE;
}

const struct command command_data_fetch = {
    .name = "data fetch",
    .summary = "download the files of a public dataset",
    .words = "omniglot|mnist|miniimagenet|femnist",
    .about = "Downloads the files of omniglot or mnist, continues an interrupted download, and "
             "compares checksums.  miniimagenet and femnist have no public address; for them it "
             "says what to do instead.",
    .options = fetch_options,
    .examples = "mete data fetch omniglot\n",
    .run = run_fetch,
};
