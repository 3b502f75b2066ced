/* dataset_find.c - datasets by name: generated, or in one of three places. */
#include "data/dataset.h"
#include "data/glyphs.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "glyphs" and "glyphs-users", perhaps with settings after a colon. */
static bool is_generated(const char *name)
{
    size_t n = strcspn(name, ":");
    return (n == strlen("glyphs") && strncmp(name, "glyphs", n) == 0) ||
           (n == strlen("glyphs-users") && strncmp(name, "glyphs-users", n) == 0);
}

int dataset_spell(char *name, size_t size)
{
    return is_generated(name) ? glyphs_spell(name, size) : 0;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_dataset(const char *path)
{
    char *meta = mem_print("%s/meta.json", path);
    bool yes = access(meta, F_OK) == 0;
    free(meta);
    return yes;
}

/* Is it written as a path, which stands for nothing else? */
static bool is_path(const char *name)
{
    return *name == '/' || strncmp(name, "./", 2) == 0 || strncmp(name, "../", 3) == 0;
}

enum { NEARBY = 256 };
struct nearby {
    char *name[NEARBY];
    int n;
};

static void add_folder(struct nearby *to, const char *root)
{
    DIR *dir = root ? opendir(root) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir)) && to->n < NEARBY;) {
        char *path = mem_print("%s/%s", root, e->d_name);
        if (is_dataset(path))
            to->name[to->n++] = mem_string(e->d_name);
        free(path);
    }
    if (dir)
        closedir(dir);
}

/* The dataset whose name is nearest: generated, or in one of the places.  free() it; NULL: none. */
static char *nearest_dataset(const char *name, const char *root)
{
    struct nearby all = {.name = {mem_string("glyphs"), mem_string("glyphs-users")}, .n = 2};
    add_folder(&all, root);
    add_folder(&all, "data");
    const char *near = nearest_word(name, (const char *const *)all.name, all.n);
    char *out = near ? mem_string(near) : NULL;
    for (int i = 0; i < all.n; i++)
        free(all.name[i]);
    return out;
}

static int not_there(const char *name, const char *root)
{
    const char *where =
        root ? "$METE_DATA, data/ and the path itself" : "data/ and the path itself";
    const char *unset = root ? "" : "; METE_DATA, a folder of datasets, is not set";
    bool known = strcmp(name, "omniglot") == 0 || strcmp(name, "miniimagenet") == 0;
    const char *kind = known ? name : strcmp(name, "femnist") == 0 ? "leaf" : NULL;
    if (is_folder(name))
        return fail(METE_EINVAL,
                    "%s holds no meta.json, so it is no dataset, or one whose import was not "
                    "finished; 'mete data import' makes one",
                    name);
    if (kind)
        return fail(METE_EINVAL,
                    "no dataset '%s' in %s%s; 'mete data fetch %s' says how to get the files, "
                    "'mete data import %s' turns them into one",
                    name, where, unset, name, kind);
    char *near = nearest_dataset(name, root);
    int err = near ? fail(METE_EINVAL, "no dataset '%s'; did you mean '%s'?", name, near)
                   : fail(METE_EINVAL, "no dataset '%s' in %s%s; 'mete data import' makes one",
                          name, where, unset);
    free(near);
    return err;
}

/* $METE_DATA; NULL: not set. */
static const char *data_root(void)
{
    const char *root = getenv("METE_DATA");
    return root && *root ? root : NULL;
}

/* The folder of the dataset, free() it; NULL: there is none. */
static char *find_folder(const char *name)
{
    const char *root = data_root();
    char *places[] = {root ? mem_print("%s/%s", root, name) : NULL, mem_print("data/%s", name),
                      mem_string(name)};
    char *found = NULL;
    for (int i = is_path(name) ? 2 : 0; i < 3 && !found; i++)
        if (places[i] && is_dataset(places[i])) {
            found = places[i];
            places[i] = NULL;
        }
    for (int i = 0; i < 3; i++)
        free(places[i]);
    return found;
}

bool dataset_known(const char *name)
{
    char *folder = is_generated(name) ? NULL : find_folder(name);
    bool known = is_generated(name) || folder;
    free(folder);
    return known;
}

int dataset_find(struct dataset **out, const char *name)
{
    if (!name)
        return fail(METE_EINVAL, "a dataset needs a name");
    if (is_generated(name))
        return glyphs_make(out, name);
    char *folder = find_folder(name);
    int err = folder ? dataset_open(out, folder) : not_there(name, data_root());
    free(folder);
    return err;
}
