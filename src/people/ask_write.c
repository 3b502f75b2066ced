/* ask_write.c - questions as CSV, and as tasks of Label Studio. */
#include "people/ask_file.h"
#include "people/item_fields.h"
#include "base/file.h"
#include "base/jsonw.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_row(struct text *t, const struct people *p, const struct places *places,
                    const struct question *q)
{
    char place[PLACE_SIZE], name[16];
    text_print(t, "%" PRId64, q->item);
    if (places->word) {
        text_add(t, ",");
        text_csv(t, places_of(places, q->item, place));
    }
    if (p->d->users) {
        text_add(t, ",");
        text_csv(t, people_name(p, q->person, name));
    }
    text_print(t, ",%d,", q->round);
    if (q->cluster >= 0)
        text_print(t, "%d", q->cluster);
    text_add(t, ",");
    if (!isnan(q->entropy))
        text_print(t, "%.4f", (double)q->entropy);
    text_add(t, ",\n");
}

int ask_write_csv(const char *path, const struct people *p, const struct places *places,
                  const struct ask *a)
{
    struct text t = {0};
    text_print(&t, "item%s%s%s,round,cluster,entropy,label\n", places->word ? "," : "",
               places->word ? places->word : "", p->d->users ? ",user" : "");
    for (int64_t i = 0; i < a->n; i++)
        add_row(&t, p, places, &a->at[i]);
    int err = file_write(path, t.at, t.size);
    text_release(&t);
    return err;
}

/* ---- Label Studio ---- */

static void add_task(struct jsonw *w, const struct people *p, const struct places *places,
                     const struct question *q)
{
    char place[PLACE_SIZE], name[16];
    jsonw_object(w, NULL);
    jsonw_object(w, "data");
    if (places->word)
        jsonw_string(w, strcmp(places->word, "file") == 0 ? "image" : places->word,
                     places_of(places, q->item, place));
    item_fields(w, p->d, q->item);
    jsonw_int(w, "item", q->item);
    if (p->d->users)
        jsonw_string(w, "user", people_name(p, q->person, name));
    jsonw_int(w, "round", q->round);
    q->cluster >= 0 ? jsonw_int(w, "cluster", q->cluster) : jsonw_null(w, "cluster");
    jsonw_float(w, "entropy", q->entropy);
    jsonw_close(w);
    jsonw_close(w);
}

int ask_write_studio(const char *path, const struct people *p, const struct places *places,
                     const struct ask *a)
{
    struct jsonw w = {.lines = 1};
    jsonw_array(&w, NULL);
    for (int64_t i = 0; i < a->n; i++)
        add_task(&w, p, places, &a->at[i]);
    jsonw_close(&w);
    int err = file_write(path, w.text, w.size);
    jsonw_release(&w);
    return err;
}
