/* importers.c - the table of importers, and running one. */
#include "data/importer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <stdlib.h>
#include <string.h>

extern const struct importer importer_omniglot, importer_miniimagenet, importer_leaf,
    importer_folder, importer_table, importer_arrays, importer_idx;

static const struct importer *const importers[] = {
    &importer_omniglot, &importer_miniimagenet, &importer_leaf, &importer_folder,
    &importer_table,    &importer_arrays,       &importer_idx,
};
enum { IMPORTERS = sizeof importers / sizeof *importers };

const struct importer *importer_at(int i)
{
    return i >= 0 && i < IMPORTERS ? importers[i] : NULL;
}

bool mete_data_importer(int32_t i, const char **name, const char **summary, const char **usage)
{
    const struct importer *importer = importer_at(i);
    if (!importer)
        return false;
    if (name)
        *name = importer->name;
    if (summary)
        *summary = importer->summary;
    if (usage)
        *usage = importer->usage;
    return true;
}

const struct importer *importer_find(const char *name)
{
    const char *names[IMPORTERS];
    for (int i = 0; i < IMPORTERS; i++) {
        if (strcmp(importers[i]->name, name) == 0)
            return importers[i];
        names[i] = importers[i]->name;
    }
    fail_unknown("importer", name, names, IMPORTERS);
    return NULL;
}

static int check_paths(const struct importer *importer, int n)
{
    if (n >= importer->least && n <= importer->most)
        return 0;
    return fail(METE_EINVAL, "%s takes %s, got %d path%s", importer->name, importer->usage, n,
                n == 1 ? "" : "s");
}

/* "omniglot" of "/data/omniglot/". */
static char *last_part(const char *dir)
{
    size_t end = strlen(dir), start;
    while (end > 1 && dir[end - 1] == '/')
        end--;
    for (start = end; start > 0 && dir[start - 1] != '/'; start--)
        ;
    return mem_print("%.*s", (int)(end - start), dir + start);
}

static void note_settings(struct builder *b, const struct importer *importer, const void *settings)
{
    builder_note(b, "importer", "%s", importer->name);
    for (const struct param *row = importer->params; row->name; row++) {
        char text[PARAM_TEXT_SIZE];
        param_text(row, settings, text, sizeof text);
        builder_note(b, row->name, "%s", text);
    }
}

/* Where data came from, when its importer does not know better. */
static char *all_paths(const struct import_job *job)
{
    char *text = mem_string("");
    for (int i = 0; i < job->n; i++) {
        char *longer = mem_print("%s%s%s", text, i ? " " : "", job->paths[i]);
        free(text);
        text = longer;
    }
    return text;
}

static void tell_unlabelled(const struct dataset *d)
{
    int64_t labelled = dataset_labelled(d);
    if (labelled < d->items)
        log_info("%s: %lld of %lld items have no label; 'mete label next' says which to ask for",
                 d->name, (long long)(d->items - labelled), (long long)d->items);
}

static int run(const struct importer *importer, struct import_job *job, const char *dir, bool force)
{
    int err = builder_open(&job->builder, dir, force);
    if (err)
        return err;
    note_settings(job->builder, importer, job->settings);
    job->about.name = last_part(dir);
    job->about.scale = 1 / 255.0f;
    err = importer->run(job);
    if (!job->about.source)
        job->about.source = all_paths(job);
    if (!err)
        err = builder_finish(job->builder, &job->about);
    if (!err)
        tell_unlabelled(&job->about);
    builder_close(job->builder);
    struct dataset *about = mem_alloc(sizeof *about);
    *about = job->about;
    dataset_close(about);
    return err;
}

int mete_data_import(const struct mete_import_options *given)
{
    NUMBER_LOCALE;
    struct mete_import_options own, *o = &own;
    int err = options_take(o, sizeof own, given, "mete_import_options");
    if (!err && !o->kind)
        err = fail(METE_EINVAL, "an import needs a kind ('mete data import --help' lists them)");
    if (!err && !o->dir)
        err = fail(METE_EINVAL, "an import needs a folder to write, -o DIR");
    if (err)
        return err;
    const struct importer *importer = importer_find(o->kind);
    if (!importer)
        return METE_EINVAL;
    struct import_job job = {.paths = o->paths, .threads = o->threads};
    while (o->paths && o->paths[job.n])
        job.n++;
    err = check_paths(importer, job.n);
    if (err)
        return err;
    void *settings = mem_alloc(importer->settings_size);
    struct param_set set = {0};
    param_set_add(&set, "", importer->params, settings);
    err = param_set_all(&set, o->settings);
    job.settings = settings;
    if (!err && (!o->dir || !*o->dir))
        err = fail(METE_EINVAL, "say where the dataset goes: -o DIR");
    if (!err)
        err = run(importer, &job, o->dir, o->force);
    free(settings);
    return err;
}
