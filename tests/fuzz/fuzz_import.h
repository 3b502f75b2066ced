/* fuzz_import.h - an importer on any bytes: they are put into a file of a folder in
 * memory (/dev/shm), which is imported from there.  What is accepted must open, and
 * what is refused must leave nothing.
 */
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H

#include "fuzz.h"
#include "data/dataset.h"
#include "data/places.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char fuzz_root[64];

static inline void fuzz_clean(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", fuzz_root);
    if (system(command) != 0)
        abort();
}

/* A path in the folder; lives until 4 calls later. */
static inline const char *fuzz_path(const char *name)
{
    static char paths[4][256];
    static int used;
    if (!*fuzz_root) {
        strcpy(fuzz_root, access("/dev/shm", W_OK) == 0 ? "/dev/shm/mete-fuzz-XXXXXX"
                                                        : "/tmp/mete-fuzz-XXXXXX");
        if (!mkdtemp(fuzz_root))
            abort();
        atexit(fuzz_clean);
    }
    char *path = paths[used++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", fuzz_root, name);
    return path;
}

static inline void fuzz_write(const char *name, const uint8_t *data, size_t size)
{
    FILE *f = fopen(fuzz_path(name), "wb");
    if (!f || (size && fwrite(data, 1, size, f) != size) || fclose(f) != 0)
        abort();
}

static inline void fuzz_remove_dataset(void)
{
    static const char *const files[] = {"x.npy",    "y.npy",     "user.npy",
                                        "part.npy", "meta.json", PLACES_FILE};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char name[64];
        snprintf(name, sizeof name, "out/%s", files[i]);
        unlink(fuzz_path(name));
    }
    HOLDS(rmdir(fuzz_path("out")) == 0);
}

static inline bool fuzz_left_over(void)
{
    DIR *dir = opendir(fuzz_root);
    bool left = false;
    for (struct dirent *e; dir && (e = readdir(dir));)
        left = left || strncmp(e->d_name, "out", 3) == 0;
    closedir(dir);
    return left;
}

static inline void fuzz_import(const char *kind, const char *const *paths,
                               const char *const *settings)
{
    struct mete_import_options o = {.size = sizeof o,
                                    .kind = kind,
                                    .paths = paths,
                                    .dir = fuzz_path("out"),
                                    .settings = settings,
                                    .threads = 1};
    int err = mete_data_import(&o);
    if (!err) {
        struct dataset *d = NULL;
        HOLDS(dataset_open(&d, fuzz_path("out")) == 0);
        dataset_close(d);
        fuzz_remove_dataset();
    } else {
        HOLDS(*mete_errmsg() && !strchr(mete_errmsg(), '\n'));
    }
    HOLDS(!fuzz_left_over());
}

#endif
