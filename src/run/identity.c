/* identity.c - settings in a file's header, and how they differ from those at hand. */
#include "run/identity.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct safetensors_pair *settings_pairs(const struct settings *s, int *n)
{
    *n = s ? s->n : 0;
    struct safetensors_pair *pairs = s ? mem_array((size_t)s->n + 1, sizeof *pairs) : NULL;
    for (int i = 0; i < *n; i++)
        pairs[i] = (struct safetensors_pair){s->at[i].key, s->at[i].value};
    return pairs;
}

static bool differs(const struct setting *s, const char *there)
{
    return there ? strcmp(s->value, there) != 0 : strcmp(s->origin, "default") != 0;
}

/* "the content of cups", "the content of data.split=folder" */
static void name_content(const struct settings *s, const char *key, char *out, size_t size)
{
    char named[128];
    snprintf(named, sizeof named, "%.*s", (int)(strlen(key) - strlen(CONTENT_KEY)), key);
    const char *value = settings_get(s, named), *bench = settings_get(s, "bench");
    if (value)
        snprintf(out, size, "the content of %s=%.200s", named, value);
    else
        snprintf(out, size, "the content of %.*s",
                 (int)(bench ? strcspn(bench, ":") : strlen(named)), bench ? bench : named);
}

static void describe(const struct settings *s, const struct setting *one, const char *there,
                     char *out, size_t size)
{
    size_t used = strlen(out);
    char what[300];
    used += (size_t)snprintf(out + used, size - used, "%s", used ? ", " : "");
    if (is_content_key(one->key)) {
        name_content(s, one->key, what, sizeof what);
        snprintf(out + used, size - used, "%s is not what it was", what);
    } else {
        snprintf(out + used, size - used, "%s is %.100s there and %.100s here", one->key,
                 there ? there : "at its default", one->value);
    }
}

bool identity_differs(const struct settings *s, const struct safetensors *f,
                      char text[IDENTITY_TEXT_SIZE])
{
    enum { NAMES = 5, MOST = 3 }; /* where a name differs, the settings under it do so anyway */
    int found = 0;
    bool older = !safetensors_meta(f, "method"); /* it names no setting */
    text[0] = '\0';
    for (int i = 0; i < s->n && found < MOST; i++) {
        if (i == NAMES && found)
            break;
        const char *there = safetensors_meta(f, s->at[i].key);
        there = there ? there : setting_before(s->at[i].key);
        if ((older && !there) || !differs(&s->at[i], there))
            continue;
        describe(s, &s->at[i], there, text, IDENTITY_TEXT_SIZE);
        found++;
    }
    return found > 0;
}

int identity_check_folder(const struct settings *s, const char *folder)
{
    static const char *const models[] = {"best", "last"};
    char *checkpoint = mem_print("%s/checkpoint.safetensors", folder), what[IDENTITY_TEXT_SIZE];
    int err = 0;
    for (int i = 0; i < 2 && access(checkpoint, F_OK) != 0 && !err; i++) {
        struct safetensors *f = NULL;
        char *path = mem_print("%s/%s.safetensors", folder, models[i]);
        if (access(path, F_OK) == 0)
            err = safetensors_open(&f, path);
        if (err == METE_EFORMAT) /* a damaged model is nobody's */
            err = 0;
        if (f && identity_differs(s, f, what))
            err = fail(METE_EINVAL,
                       "%s holds the models of another run: %s; give another folder, or remove "
                       "that one to train anew",
                       folder, what);
        safetensors_close(f);
        free(path);
    }
    free(checkpoint);
    return err;
}
