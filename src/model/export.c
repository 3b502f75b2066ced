/* export.c - the table of formats, finding one, and writing a model in it. */
#include "mete_personal.h"
#include "model/export.h"
#include "model/model.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"

#include <string.h>

extern const struct export_format export_onnx, export_c, export_safetensors;

static const struct export_format *const formats[] = {&export_onnx, &export_c, &export_safetensors};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct export_format *export_format_at(int i)
{
    return i >= 0 && i < FORMATS ? formats[i] : NULL;
}

static bool ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcmp(path + n - m, suffix) == 0;
}

static bool suits(const struct export_format *f, const char *name, const char *path)
{
    return name ? strcmp(f->name, name) == 0 : ends(path, f->suffix);
}

const struct export_format *export_format_find(const char *name, const char *path)
{
    for (int i = 0; i < FORMATS; i++)
        if (suits(formats[i], name, path))
            return formats[i];
    struct text known = {0};
    for (int i = 0; i < FORMATS; i++)
        text_print(&known, "%s%s",
                   i == 0             ? ""
                   : i == FORMATS - 1 ? " or "
                                      : ", ",
                   name ? formats[i]->name : formats[i]->suffix);
    if (name)
        fail(METE_EINVAL, "no export format '%s'; expected %s", name, known.at);
    else
        fail(METE_EINVAL, "%s: the name says no format; expected one that ends in %s", path,
             known.at);
    text_release(&known);
    return NULL;
}

int mete_export(struct mete_model *m, const char *format, const char *path)
{
    NUMBER_LOCALE;
    struct graph g = {0};
    int err = model_check(m);
    if (!err && !path)
        err = fail(METE_EINVAL, "export: say where it goes: -o FILE");
    const struct export_format *f = err ? NULL : export_format_find(format, path);
    if (!err && !f)
        err = METE_EINVAL;
    if (!err && !f->write)
        return mete_model_save(m, path);
    if (!err)
        err = model_graph(m, &g);
    if (!err)
        err = f->write(&g, path);
    graph_release(&g);
    return err;
}
