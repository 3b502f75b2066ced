/* fuzz_split.c - any three texts as split files: what is accepted puts each group in one part at
 * most, and is accepted again after writing it out. */
#include "fuzz.h"
#include "task/split.h"
#include "task/split_file.h"
#include "mete.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUPS = 6 };
static char *names[GROUPS] = {"a", "b/c", "b/c/rot090", "d", "long name, with a comma", "7"};

static char folder[64];

static void write_part(const char *part, const char *ending, const void *text, size_t size)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s.%s", folder, part, ending);
    FILE *f = fopen(path, "w");
    if (!f || (size && fwrite(text, 1, size, f) != size) || fclose(f) != 0)
        abort();
}

static void remove_parts(const char *ending)
{
    for (int p = 0; p < SPLIT_PARTS; p++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s.%s", folder, split_part_name(p), ending);
        unlink(path);
    }
}

/* The next text, up to a 0. */
static size_t take(const uint8_t **data, size_t *size)
{
    const uint8_t *end = *size ? memchr(*data, 0, *size) : NULL;
    size_t n = end ? (size_t)(end - *data) : *size;
    *data += n + (end != NULL);
    *size -= n + (end != NULL);
    return n;
}

static void write_again(const uint8_t part[GROUPS])
{
    for (int p = 0; p < SPLIT_PARTS; p++) {
        char text[256] = "";
        for (int g = 0; g < GROUPS; g++)
            if (part[g] == p)
                strcat(strcat(text, names[g]), "\n");
        write_part(split_part_name(p), "txt", text, strlen(text));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t part[GROUPS], again[GROUPS];
    struct dataset d = {.name = (char *)"tiny",
                        .classes = GROUPS,
                        .users = GROUPS,
                        .class_names = names,
                        .user_names = names};
    if (!*folder) {
        snprintf(folder, sizeof folder, "/tmp/mete-fuzz-split-%ld", (long)getpid());
        mkdir(folder, 0700);
    }
    if (size < 1)
        return 0;
    const char *ending = *data & 1 ? "csv" : "txt";
    bool users = *data & 2;
    data++;
    size--;
    for (int p = 0; p < SPLIT_PARTS; p++) {
        const uint8_t *text = data;
        size_t n = take(&data, &size);
        write_part(split_part_name(p), ending, text, n);
    }
    memset(part, SPLIT_PARTS, sizeof part);
    int err = split_file_read(&d, users, folder, part);
    remove_parts(ending);
    if (err) {
        HOLDS(*mete_errmsg());
        return 0;
    }
    for (int g = 0; g < GROUPS; g++)
        HOLDS(part[g] <= SPLIT_PARTS);
    write_again(part);
    memset(again, SPLIT_PARTS, sizeof again);
    HOLDS(split_file_read(&d, users, folder, again) == 0);
    HOLDS(memcmp(part, again, sizeof part) == 0);
    remove_parts("txt");
    return 0;
}
