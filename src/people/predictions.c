/* predictions.c - mete_predictions: what a model says of items, into a CSV. */
#include "mete_personal.h"
#include "people/people.h"
#include "people/rows.h"
#include "data/places.h"
#include "kernel/selection.h"
#include "model/export.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct predicting {
    const struct mete_predictions_options *o;
    struct mete_model *m;
    struct file_out out;
    struct text line;
    float *probs; /* (ROWS_MOST, ways) */
    struct mete_predictions result;
    int64_t right;
};

/* ---- the table ---- */

static void add_class(struct predicting *p, const char *before, int way)
{
    const char *name = mete_model_class(p->m, way);
    char *text = name ? mem_print("%s%s", before, name) : mem_print("%s%d", before, way);
    text_csv(&p->line, text);
    free(text);
}

/* After the columns that say which item it is. */
static void add_header(struct predicting *p)
{
    text_add(&p->line, "predicted,entropy");
    for (int k = 0; k < p->m->takes.classes; k++) {
        text_add(&p->line, ",");
        add_class(p, "p_", k);
    }
    text_add(&p->line, "\n");
}

/* The same after those columns of an item; the class that it is most likely of. */
static int add_prediction(struct predicting *p, const float *probs)
{
    int ways = p->m->takes.classes, best = 0;
    float entropy;
    for (int k = 1; k < ways; k++)
        best = probs[k] > probs[best] ? k : best;
    host_entropy(NULL, 1, ways, probs, &entropy);
    add_class(p, "", best);
    text_print(&p->line, ",%.4f", (double)entropy);
    for (int k = 0; k < ways; k++)
        text_print(&p->line, ",%.7g", (double)probs[k]);
    text_add(&p->line, "\n");
    p->result.items++;
    return best;
}

static void flush(struct predicting *p)
{
    file_out_write(&p->out, p->line.at, p->line.size);
    p->line.size = 0;
}

static int begin(struct predicting *p, struct mete_model *m)
{
    p->m = m;
    int err = model_check_alone(m, m->n_kept > 0 || p->o->user);
    if (!err)
        err = mem_try(&p->probs, ROWS_MOST, (size_t)m->takes.classes * sizeof *p->probs,
                      "predictions");
    return err ? err : file_out_open(&p->out, p->o->out);
}

/* ---- rows that were never imported ---- */

static int predict_rows(struct predicting *p, struct rows *r)
{
    struct mete_array x;
    size_t ways = (size_t)p->m->takes.classes;
    text_print(&p->line, "%s,", r->ops->word);
    add_header(p);
    for (;;) {
        int err = rows_next(r, &x);
        if (!err && x.items)
            err = mete_predict(p->m, &x, p->probs);
        const char *place = r->place.at;
        for (int64_t i = 0; i < x.items && !err; i++, place += strlen(place) + 1) {
            text_csv(&p->line, place);
            text_add(&p->line, ",");
            add_prediction(p, p->probs + (size_t)i * ways);
        }
        flush(p);
        if (err || x.items < ROWS_MOST)
            return err;
    }
}

static int predict_file(struct predicting *p)
{
    const struct mete_predictions_options *o = p->o;
    struct mete_model *m = NULL;
    struct rows r = {0};
    if (o->user)
        return fail(METE_EINVAL,
                    "%s is no dataset, so nothing is known of its people: adapt the model first "
                    "('mete adapt'), and leave --user out",
                    o->what);
    int err = mete_model_load(
        &m, o->model,
        &(struct mete_model_options){
            .size = sizeof(struct mete_model_options), .device = o->device, .set = o->set});
    if (!err)
        err = model_check_classes(m);
    if (!err)
        err = rows_open(&r, o->what, m);
    if (!err)
        err = begin(p, m);
    if (!err)
        err = predict_rows(p, &r);
    p->result.missing = r.missing;
    if (!err && o->save)
        err = mete_export(m, NULL, o->save);
    rows_close(&r);
    mete_model_close(m);
    return err;
}

/* ---- a dataset ---- */

struct known_items {
    struct predicting *p;
    const struct people *people;
    const struct fitted *fitted;
    struct places places;
    bool adapted; /* to what is known, which is then nothing to be right about */
};

static void add_item(struct known_items *k, int64_t item, const float *probs)
{
    char place[PLACE_SIZE], name[16];
    struct predicting *p = k->p;
    const struct people *all = k->people;
    int label = answers_label(all->answers, item);
    text_print(&p->line, "%" PRId64 ",", item);
    if (k->places.word) {
        text_csv(&p->line, places_of(&k->places, item, place));
        text_add(&p->line, ",");
    }
    if (all->d->users) {
        text_csv(&p->line, people_name(all, all->d->user[item], name));
        text_add(&p->line, ",");
    }
    if (label != NO_LABEL && label < all->n_classes)
        text_csv(&p->line, all->classes[label]);
    text_add(&p->line, ",");
    int way = add_prediction(p, probs);
    if (label == NO_LABEL || (k->adapted && k->fitted->way_of[label] >= 0))
        return;
    p->result.known++;
    p->right += k->fitted->class_of[way] == label;
}

static int predict_items(struct known_items *k, const int64_t *item, int64_t n)
{
    int err = 0;
    size_t ways = (size_t)k->p->m->takes.classes;
    for (int64_t first = 0; first < n && !err; first += ROWS_MOST) {
        int some = n - first < ROWS_MOST ? (int)(n - first) : ROWS_MOST;
        struct mete_array x = fitted_items(k->fitted, item + first, some);
        err = mete_predict(k->p->m, &x, k->p->probs);
        for (int i = 0; i < some && !err; i++)
            add_item(k, item[first + i], k->p->probs + (size_t)i * ways);
        flush(k->p);
        free((void *)x.x);
    }
    return err;
}

/* Everybody with a model of their own, but those whom it could tell nothing about. */
static int predict_person(struct known_items *k, int person, bool all)
{
    const int64_t *item;
    int64_t n = people_items(k->people, person, &item);
    int err = people_adapt(k->people, person);
    if (err)
        return err;
    err = model_check_classes(k->p->m);
    if (err && all) {
        k->p->result.without++;
        return 0;
    }
    k->p->result.people++;
    k->p->result.labels += k->p->m->labelled;
    return err ? err : predict_items(k, item, n);
}

static int predict_people(struct known_items *k)
{
    const struct mete_predictions_options *o = k->p->o;
    const struct people *p = k->people;
    bool all = o->user && p->d->users && strcmp(o->user, "all") == 0;
    int person = 0, err = o->user && !all ? people_find(p, o->user, &person) : 0;
    k->adapted = o->user != NULL;
    if (err || (o->user && !all))
        return err ? err : predict_person(k, person, false);
    if (!all) {
        int64_t *item = mem_array((size_t)p->d->items, sizeof *item);
        for (int64_t i = 0; i < p->d->items; i++)
            item[i] = i;
        err = model_check_classes(k->p->m);
        if (!err)
            err = predict_items(k, item, p->d->items);
        free(item);
    }
    for (int u = 0; u < p->n && all && !err; u++)
        err = predict_person(k, u, true);
    return err;
}

static void add_item_header(struct known_items *k)
{
    text_print(&k->p->line, "item,%s%s%slabel,", k->places.word ? k->places.word : "",
               k->places.word ? "," : "", k->people->d->users ? "user," : "");
    add_header(k->p);
}

static int predict_dataset(struct predicting *p)
{
    const struct mete_predictions_options *o = p->o;
    struct people people = {0};
    struct known_items k = {.p = p, .people = &people};
    int err = people_open(&people, &(struct people_options){.data = o->what,
                                                            .model = o->model,
                                                            .set = o->set,
                                                            .device = o->device,
                                                            .nobody_asked = true});
    if (!err) {
        k.fitted = questions_fitted(people.questions);
        err = places_open(&k.places, people.d);
    }
    if (!err)
        err = begin(p, questions_model(people.questions));
    if (!err) {
        add_item_header(&k);
        err = predict_people(&k);
    }
    p->result.right = p->result.known ? (double)p->right / (double)p->result.known : NAN;
    if (!err && o->save)
        err = mete_export(p->m, NULL, o->save);
    places_close(&k.places);
    people_close(&people);
    return err;
}

/* ---- either ---- */

static bool is_same_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* What is read must be there, and is not to be written over. */
static int check_files(const struct mete_predictions_options *o)
{
    struct stat in;
    if (!dataset_known(o->what) && stat(o->what, &in) != 0)
        return fail(METE_EINVAL, "%s: no such file, and no dataset of that name", o->what);
    if (is_same_file(o->what, o->out) || is_same_file(o->model, o->out))
        return fail(METE_EINVAL, "-o %s would write over what is read", o->out);
    if (o->save && (is_same_file(o->what, o->save) || strcmp(o->out, o->save) == 0))
        return fail(METE_EINVAL, "--save %s would write over %s", o->save,
                    strcmp(o->out, o->save) == 0 ? "the predictions" : "what is read");
    return 0;
}

static int check(const struct mete_predictions_options *o)
{
    if (!o->model || !o->what)
        return fail(METE_EINVAL, "predict: there is no %s", o->model ? "data" : "model");
    if (!o->out)
        return fail(METE_EINVAL, "predict: say where the predictions go: -o FILE");
    if (o->save && !export_format_find(NULL, o->save))
        return METE_EINVAL;
    if (o->save && o->user && strcmp(o->user, "all") == 0)
        return fail(METE_EINVAL, "predict: one model is saved, and each person has another: say "
                                 "whose, --user NAME");
    return check_files(o);
}

int mete_predictions(const struct mete_predictions_options *options, struct mete_predictions *out)
{
    NUMBER_LOCALE;
    struct mete_predictions_options o;
    struct predicting p = {.o = &o, .result.right = NAN};
    int err = options_take(&o, sizeof o, options, "mete_predictions_options");
    if (!err)
        err = check(&o);
    if (!err)
        err = (dataset_known(o.what) ? predict_dataset : predict_file)(&p);
    if (!err)
        err = file_out_commit(&p.out);
    else
        file_out_abandon(&p.out);
    if (!err && out)
        *out = p.result;
    text_release(&p.line);
    free(p.probs);
    return err;
}
