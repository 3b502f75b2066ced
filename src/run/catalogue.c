/* catalogue.c - what is built in: for `mete list` and `mete show`. */
#include "run/setup.h"
#include "base/error.h"
#include "base/number.h"
#include "data/glyphs.h"
#include "data/importer.h"

#include <stdio.h>
#include <string.h>

/* Every kind of plug-in, as (name, summary, params) rows. */
struct plugin {
    const char *name, *summary;
    const struct param *params; /* NULL: none */
};

static bool method_row(int i, struct plugin *p)
{
    const struct method_ops *m = method_at(i);
    if (m)
        *p = (struct plugin){m->name, m->summary, m->params};
    return m != NULL;
}

static bool label_row(int i, struct plugin *p)
{
    const struct label_ops *l = label_at(i);
    if (l)
        *p = (struct plugin){l->name, l->summary, l->params};
    return l != NULL;
}

static bool net_row(int i, struct plugin *p)
{
    const struct net_ops *n = net_at(i);
    if (n)
        *p = (struct plugin){n->name, n->summary, n->params};
    return n != NULL;
}

/* What is generated, and then what can be imported. */
static bool dataset_row(int i, struct plugin *p)
{
    static const struct plugin generated[] = {
        {"glyphs", "generated: characters of made-up alphabets, as Omniglot", NULL},
        {"glyphs-users", "generated: one alphabet in the hands of many users", NULL},
    };
    enum { GENERATED = sizeof generated / sizeof *generated };
    if (i < GENERATED) {
        *p = generated[i];
        p->params = glyphs_settings(p->name);
        return true;
    }
    const struct importer *m = importer_at(i - GENERATED);
    if (m)
        *p = (struct plugin){m->name, m->summary, m->params};
    return m != NULL;
}

static bool device_row(int i, struct plugin *p)
{
    static _Thread_local char text[512];
    const struct kernels *k = kernels_at(i);
    char why[256] = "";
    if (!k)
        return false;
    bool usable = k->usable(why, sizeof why);
    snprintf(text, sizeof text, "%s%s%s", k->summary, usable ? "" : " - not usable here: ", why);
    *p = (struct plugin){k->name, text, NULL};
    return true;
}

static const struct kind {
    const char *name;    /* as `mete list` takes it */
    const char *section; /* of its settings */
    bool (*row)(int i, struct plugin *p);
} kinds[] = {
    {"methods", "method", method_row}, {"labels", "labels", label_row}, {"nets", "net", net_row},
    {"datasets", "", dataset_row},     {"devices", "", device_row},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

int mete_list(const char *kind, mete_list_fn *fn, void *user)
{
    NUMBER_LOCALE;
    const char *names[KINDS];
    bool found = false;
    for (int k = 0; k < KINDS; k++) {
        struct plugin p;
        names[k] = kinds[k].name;
        if (kind && strcmp(kind, names[k]) != 0)
            continue;
        found = true;
        for (int i = 0; kinds[k].row(i, &p); i++)
            if (fn)
                fn(user, kinds[k].name, p.name, p.summary);
    }
    return found ? 0 : fail_unknown("kind of thing", kind, names, KINDS);
}

static void show_table(const char *section, const struct param *table, mete_setting_fn *fn,
                       void *user)
{
    char key[128], value[PARAM_TEXT_SIZE], range[256];
    char state[4096] = {0}; /* larger than any plug-in's settings */
    struct param_section where = {section, table, state};
    param_defaults(table, state);
    for (const struct param *row = table; row->name; row++) {
        param_key(&where, row, key, sizeof key);
        param_text(row, state, value, sizeof value);
        param_range(row, range, sizeof range);
        if (fn)
            fn(user, &(struct mete_setting){key, value, range, row->help});
    }
}

static int show_run(mete_setting_fn *fn, void *user)
{
    struct setup s;
    int err = setup_open(&s, NULL, NULL, NULL);
    if (err)
        return err;
    for (int i = 0; i < s.set.sections; i++) {
        const char *name = s.set.section[i].name;
        if (strcmp(name, "method") != 0 && strcmp(name, "net") != 0)
            show_table(name, s.set.section[i].table, fn, user);
    }
    setup_close(&s);
    return 0;
}

int mete_show(const char *name, const char **summary, mete_setting_fn *fn, void *user)
{
    NUMBER_LOCALE;
    const char *names[64];
    int n = 0;
    if (!name)
        return fail(METE_EINVAL, "say what to show");
    if (strcmp(name, "run") == 0) {
        if (summary)
            *summary = "the settings of every run";
        return show_run(fn, user);
    }
    names[n++] = "run";
    for (int k = 0; k < KINDS; k++) {
        struct plugin p;
        for (int i = 0; kinds[k].row(i, &p); i++) {
            if (strcmp(p.name, name) == 0) {
                if (summary)
                    *summary = p.summary;
                if (p.params)
                    show_table(kinds[k].section, p.params, fn, user);
                return 0;
            }
            if (n < 64)
                names[n++] = p.name;
        }
    }
    return fail_unknown("plug-in", name, names, n);
}
