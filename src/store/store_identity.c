/* store_identity.c - ids by content, in databases that have some without. */
#include "store/store_identity.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/content.h"
#include "store/run_hash.h"
#include "task/cost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Keys that hold a word for content, and the setting that names the file; NULL: the benchmark. */
static const struct content_key {
    const char *key, *names;
} content_keys[] = {{"data.content", NULL},
                    {"data.split.content", "data.split"},
                    {"budget.cost.content", "budget.cost"}};
enum { CONTENT_KEYS = sizeof content_keys / sizeof *content_keys };

static const char *setting_of(const struct store_run *run, const char *key)
{
    for (int i = 0; key && i < run->n_settings; i++)
        if (strcmp(run->settings[i].key, key) == 0)
            return run->settings[i].value;
    return NULL;
}

/* ---- what older runs are taken to be of ---- */

/* 1: there is a row, 0: none; its first column through *out, to be freed, unless NULL. */
static int look_for(struct store *s, const char *sql, const char *const text[4], char **out)
{
    sqlite3_stmt *find = NULL;
    int err = sql_prepare(s, &find, sql);
    if (err)
        return err;
    sql_bind(find, "tttt", text[0], text[1], text[2], text[3]);
    int row = sql_row(s, find);
    if (row == 1 && out)
        *out = mem_string((const char *)sqlite3_column_text(find, 0));
    sqlite3_finalize(find);
    return row;
}

/* ?1 dataset, ?2 the setting that names the file or NULL, ?3 its value, ?4 the key of content */
#define OLDER_RUNS                                                                                 \
    " FROM runs r WHERE r.dataset = ?1"                                                            \
    " AND (?2 IS NULL OR EXISTS (SELECT 1 FROM settings a WHERE a.run = r.run AND a.key = ?2"      \
    "  AND a.value = ?3))"                                                                         \
    " AND NOT EXISTS (SELECT 1 FROM settings b WHERE b.run = r.run AND b.key = ?4)"

static int adopt(struct store *s, const struct content_key *k, const struct store_run *run,
                 const char *name, const char *content, bool *adopted)
{
    const char *const about[] = {run->dataset, k->names, setting_of(run, k->names), k->key};
    int there = look_for(s, "SELECT 1" OLDER_RUNS, about, NULL);
    *adopted = there == 1;
    if (there != 1)
        return there;
    int err = sql_do(s, "INSERT INTO contents VALUES (?, ?, ?)", "ttt", k->key, name, content);
    if (!err)
        err = sql_do(s, "INSERT INTO settings SELECT run, ?4, ?5, 'content'" OLDER_RUNS, "ttttt",
                     about[0], about[1], about[2], about[3], content);
    if (!err)
        log_warn("%s: its older runs do not say what %s held; they are taken to be of what it "
                 "holds now",
                 s->path, name);
    return err;
}

/* Whether ids leave this content out. */
static int is_older(struct store *s, const struct content_key *k, const struct store_run *run,
                    const char *content, bool *older)
{
    const char *value = setting_of(run, k->names);
    char *name =
        value ? mem_print("%s %s=%s", run->dataset, k->names, value) : mem_string(run->dataset);
    const char *const about[] = {k->key, name, NULL, NULL};
    char *known = NULL;
    int row =
        look_for(s, "SELECT content FROM contents WHERE key = ?1 AND name = ?2", about, &known);
    int err = row < 0 ? row : 0;
    *older = row == 1 && strcmp(known, content) == 0;
    bool automatic = value && strcmp(value, "auto") == 0; /* means another split than it did */
    if (row == 0 && !automatic)
        err = adopt(s, k, run, name, content, older);
    free(known);
    free(name);
    return err;
}

/* ---- a run ---- */

/* The name that tells this dataset from others of its name; to be freed. */
static int name_dataset(struct store *s, const struct store_run *run, char **out)
{
    const char *content = setting_of(run, "data.content");
    const char *split = setting_of(run, "data.split.content");
    const char *const about[] = {run->dataset, content, setting_of(run, "data.split"), split};
    int another = !content ? 0
                           : look_for(s,
                                      "SELECT 1 FROM runs r JOIN settings c USING (run)"
                                      " WHERE r.dataset = ?1 AND (c.key = 'data.content' AND"
                                      " c.value <> ?2 OR c.key = 'data.split.content' AND c.value"
                                      " <> ?4 AND EXISTS (SELECT 1 FROM settings a WHERE a.run ="
                                      " r.run AND a.key = 'data.split' AND a.value = ?3))",
                                      about, NULL);
    if (another < 0)
        return another;
    uint64_t hash = another ? run_hash_text(run_hash_text(0, content), split ? split : "") : 0;
    *out = another ? mem_print("%s#%08" PRIx32, run->dataset, (uint32_t)(hash ^ hash >> 32))
                   : mem_string(run->dataset);
    return 0;
}

int identity_open(struct run_identity *out, struct store *s, const struct store_run *run)
{
    struct store_run hashed = *run;
    struct store_setting *kept = mem_array((size_t)run->n_settings + 1, sizeof *kept);
    const char *data = setting_of(run, "data.content");
    bool older[CONTENT_KEYS] = {false};
    int err = 0;
    *out = (struct run_identity){0};
    for (int k = 0; k < CONTENT_KEYS && !err; k++) {
        const char *content = setting_of(run, content_keys[k].key);
        bool generated = data && strncmp(data, CONTENT_GENERATED, strlen(CONTENT_GENERATED)) == 0;
        if (!content || (k == 0 && generated) || (k > 0 && !generated && !older[0]))
            continue;
        err = is_older(s, &content_keys[k], run, content, &older[k]);
    }
    hashed.settings = kept;
    hashed.n_settings = 0;
    for (int i = 0; i < run->n_settings; i++) {
        bool left_out = false;
        for (int k = 0; k < CONTENT_KEYS; k++)
            left_out |= older[k] && strcmp(run->settings[i].key, content_keys[k].key) == 0;
        if (!left_out)
            kept[hashed.n_settings++] = run->settings[i];
    }
    run_hash(&hashed, RUN_HASH_ID, out->id);
    run_hash(&hashed, RUN_HASH_VARIANT, out->variant);
    run_hash(&hashed, RUN_HASH_CONTROL, out->control);
    free(kept);
    return err ? err : name_dataset(s, run, &out->dataset);
}

void identity_release(struct run_identity *i)
{
    free(i->dataset);
    *i = (struct run_identity){0};
}

int identity_tasks(struct store *s, int64_t run, uint64_t *hash)
{
    sqlite3_stmt *find = NULL;
    int err = sql_prepare(s, &find,
                          "SELECT value FROM settings WHERE run = ? AND key = 'data.content'"
                          " AND value NOT LIKE '" CONTENT_GENERATED "%'"
                          " AND value NOT IN (SELECT content FROM contents WHERE key = "
                          "'data.content')");
    if (!err) {
        sql_bind(find, "l", run);
        int row = sql_row(s, find);
        err = row < 0 ? row : 0;
        if (row == 1)
            *hash = run_hash_text(*hash, (const char *)sqlite3_column_text(find, 0));
    }
    sqlite3_finalize(find);
    return err;
}

/* ---- spellings of before schema 4 ---- */

struct spelled {
    int64_t run;
    char bench[1024], dataset[512], method[64], labels[64], net[64];
    uint64_t seed;
    struct store_setting *settings;
    int n;
    bool changed;
};

static void spelled_release(struct spelled *r)
{
    for (int i = 0; i < r->n; i++) {
        free((void *)r->settings[i].key);
        free((void *)r->settings[i].value);
    }
    free(r->settings);
}

static void spell_bench(struct spelled *r)
{
    char text[sizeof r->bench];
    struct bench b;
    if (bench_parse(&b, r->bench) || dataset_spell(b.dataset, sizeof b.dataset))
        return; /* of another mete, or damaged: stays as it is */
    bench_text(&b, text, sizeof text);
    r->changed = strcmp(text, r->bench) != 0;
    memcpy(r->bench, text, sizeof text);
    memcpy(r->dataset, b.dataset, sizeof b.dataset);
}

static char *spell_value(const char *key, const char *value)
{
    static const struct {
        const char *key;
        int (*canonical)(char text[PARAM_TEXT_SIZE]);
    } texts[] = {{"budget.cost", cost_canonical},
                 {"data.split", split_canonical},
                 {"test.shots", shots_canonical}};
    char own[PARAM_TEXT_SIZE];
    snprintf(own, sizeof own, "%s", value);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0 && strcmp(own, value) == 0 &&
            texts[i].canonical(own) == 0)
            return mem_string(own);
    return mem_string(value);
}

static int spell_settings(struct store *s, struct spelled *r)
{
    sqlite3_stmt *find = NULL;
    int row = 0, err = sql_prepare(s, &find, "SELECT key, value FROM settings WHERE run = ?");
    if (!err)
        sql_bind(find, "l", r->run);
    while (!err && (row = sql_row(s, find)) == 1) {
        const char *key = (const char *)sqlite3_column_text(find, 0);
        const char *value = (const char *)sqlite3_column_text(find, 1);
        char *spelled = spell_value(key, value);
        r->changed |= strcmp(spelled, value) != 0;
        r->settings = mem_grow(r->settings, (size_t)r->n + 1, sizeof *r->settings);
        r->settings[r->n++] = (struct store_setting){.key = mem_string(key), .value = spelled};
    }
    sqlite3_finalize(find);
    return row < 0 ? row : err;
}

static int update(struct store *s, const struct spelled *r)
{
    char id[STORE_ID_SIZE], variant[STORE_ID_SIZE], control[STORE_ID_SIZE];
    const struct store_run run = {.bench = r->bench,
                                  .method = r->method,
                                  .labels = r->labels,
                                  .net = r->net,
                                  .seed = r->seed,
                                  .settings = r->settings,
                                  .n_settings = r->n};
    run_hash(&run, RUN_HASH_ID, id);
    run_hash(&run, RUN_HASH_VARIANT, variant);
    run_hash(&run, RUN_HASH_CONTROL, control);
    int there = look_for(s, "SELECT 1 FROM runs WHERE id = ?1",
                         (const char *const[]){id, NULL, NULL, NULL}, NULL);
    if (there)
        return there < 0 ? there : 0;
    int err = sql_do(s,
                     "UPDATE runs SET id = ?, variant = ?, control = ?, bench = ?, dataset = ?"
                     " WHERE run = ?",
                     "tttttl", id, variant, control, r->bench, r->dataset, r->run);
    for (int i = 0; i < r->n && !err; i++)
        err = sql_do(s, "UPDATE settings SET value = ? WHERE run = ? AND key = ?", "tlt",
                     r->settings[i].value, r->run, r->settings[i].key);
    return err;
}

static int respell_run(struct store *s, sqlite3_stmt *row)
{
    struct spelled r = {.run = sqlite3_column_int64(row, 0),
                        .seed = (uint64_t)sqlite3_column_int64(row, 6)};
    char *const to[] = {r.bench, r.dataset, r.method, r.labels, r.net};
    const size_t size[] = {sizeof r.bench, sizeof r.dataset, sizeof r.method, sizeof r.labels,
                           sizeof r.net};
    for (int i = 0; i < 5; i++)
        snprintf(to[i], size[i], "%s", (const char *)sqlite3_column_text(row, i + 1));
    spell_bench(&r);
    int err = spell_settings(s, &r);
    if (!err && r.changed)
        err = update(s, &r);
    spelled_release(&r);
    return err;
}

int identity_respell(struct store *s)
{
    sqlite3_stmt *all = NULL;
    int row = 0, err = sql_prepare(s, &all,
                                   "SELECT run, bench, dataset, method, labels, net, seed FROM runs"
                                   " ORDER BY run");
    while (!err && (row = sql_row(s, all)) == 1)
        err = respell_run(s, all);
    sqlite3_finalize(all);
    return row < 0 ? row : err;
}
#endif
