/* folder.c - what a run leaves on disk beside its models: settings, environment,
 * validations and the ledger, each in a form that other tools read.
 */
#include "run/sweep.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int write_text(const char *folder, const char *name, const char *text, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_write(path, text, size);
}

/* A value that YAML reads back as the same text: quoted unless it is plainly safe. */
static int write_config(const char *folder, const struct settings *s)
{
    struct text out = {0};
    for (int i = 0; i < s->n; i++) {
        text_print(&out, "%s: \"", s->at[i].key);
        for (const char *c = s->at[i].value; *c; c++)
            text_print(&out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
        text_add(&out, "\"\n");
    }
    int err = write_text(folder, "config.yaml", out.at, out.size);
    text_release(&out);
    return err;
}

static int write_metrics(const char *folder, const struct results *r)
{
    struct jsonw all = {0};
    struct text out = {0};
    for (int i = 0; i < r->all.n_checkpoints; i++) {
        const struct store_checkpoint *c = &r->all.checkpoints[i];
        jsonw_object(&all, NULL);
        jsonw_int(&all, "step", c->step);
        jsonw_int(&all, "shots", c->shots);
        jsonw_int(&all, "tasks", c->tasks);
        jsonw_int(&all, "labels", c->labels);
        jsonw_real(&all, "train_loss", c->train_loss);
        jsonw_real(&all, "accuracy", c->accuracy);
        jsonw_real(&all, "half", c->half);
        jsonw_real(&all, "loss", c->loss);
        jsonw_close(&all);
        text_print(&out, "%s\n", all.text);
        jsonw_release(&all);
        all = (struct jsonw){0};
    }
    int err = write_text(folder, "metrics.jsonl", out.at, out.size);
    text_release(&out);
    return err;
}

static int write_ledger(const char *folder, const struct results *r)
{
    struct text out = {0};
    text_add(&out, "task,item,class,round,cost,total,kind\n"); /* round -1: the query set */
    for (int64_t i = 0; i < r->all.n_ledger; i++) {
        const struct ledger_row *p = &r->all.ledger[i];
        char cost[MONEY_TEXT_SIZE], total[MONEY_TEXT_SIZE];
        money_text(p->cost, cost);
        money_text(p->total, total);
        text_print(&out, "%lld,%d,%d,%d,%s,%s,%s\n", (long long)p->task, p->item, p->klass,
                   p->round, cost, total, ledger_kind_name(p->kind));
    }
    int err = write_text(folder, "ledger.csv", out.at, out.size);
    text_release(&out);
    return err;
}

int folder_write(const char *folder, const struct settings *s, const struct results *r)
{
    int err = write_config(folder, s);
    if (!err)
        err = write_text(folder, "env.json", r->env, strlen(r->env));
    if (!err)
        err = write_metrics(folder, r);
    if (!err)
        err = write_ledger(folder, r);
    return err;
}
