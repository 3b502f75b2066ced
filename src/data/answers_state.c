/* answers_state.c - what stands after the answers so far: labels, and what they cost. */
#include "data/answers_own.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/param.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHO_MOST = 200 };

bool answer_has_item(const struct answer *r)
{
    return r->kind == ANSWER_LABEL || r->kind == ANSWER_UNKNOWN || r->kind == ANSWER_SECOND;
}

static int number_classes(struct answers *a)
{
    int added = 0;
    names_release(&a->classes);
    for (int k = 0; k < a->d->classes && added >= 0; k++) {
        char number[16];
        snprintf(number, sizeof number, "%d", k);
        added = names_add(&a->classes, a->d->class_names ? a->d->class_names[k] : number);
    }
    return added < 0 ? added : 0;
}

void answers_restart(struct answers *a)
{
    a->rows = a->size = a->lines = 0;
    a->sum[0] = '\0';
    a->totals = (struct answers_totals){.unlabelled = a->d->items - dataset_labelled(a->d)};
    memcpy(a->label, a->d->y, (size_t)a->d->items * sizeof *a->label);
    memset(a->last, -1, (size_t)a->d->items * sizeof *a->last);
    a->broken = number_classes(a);
}

struct answers *answers_make(struct dataset *d, bool keeps_d)
{
    struct answers *a = mem_alloc(sizeof *a);
    a->d = d;
    a->keeps_d = keeps_d;
    a->path = mem_print("%s/answers.log", d->path);
    a->label = mem_array((size_t)d->items, sizeof *a->label);
    a->last = mem_array((size_t)d->items, sizeof *a->last);
    answers_restart(a);
    return a;
}

void answers_close(struct answers *a)
{
    if (!a)
        return;
    if (!a->keeps_d)
        dataset_close(a->d);
    names_release(&a->classes);
    names_release(&a->words);
    free(a->path);
    free(a->row);
    free(a->before);
    free(a->label);
    free(a->last);
    free(a);
}

/* The word itself stays where it is while others come. */
static int keep_word(struct answers *a, const char *word, const char **kept)
{
    int i = word ? names_add(&a->words, word) : 0;
    *kept = word && i >= 0 ? a->words.at[i] : NULL;
    return i;
}

static int make_room(struct answers *a)
{
    int64_t room = a->room ? 2 * a->room : 64;
    if (a->rows < a->room)
        return 0;
    int err = mem_extend(&a->row, (size_t)room, sizeof *a->row, a->path);
    if (!err)
        err = mem_extend(&a->before, (size_t)room, sizeof *a->before, a->path);
    if (!err)
        a->room = room;
    return err;
}

/* 1, as answers_apply says. */
static int push(struct answers *a, const struct answer *r)
{
    struct answer kept = *r;
    int who = keep_word(a, r->who, &kept.who), klass = keep_word(a, r->klass, &kept.klass);
    int err = who < 0 ? who : klass < 0 ? klass : make_room(a);
    if (err)
        return err;
    a->row[a->rows] = kept;
    a->before[a->rows] = -1;
    if (answer_has_item(r)) {
        a->before[a->rows] = a->last[r->item];
        a->last[r->item] = a->rows;
    }
    a->rows++;
    return 1;
}

static int64_t label_row(const struct answers *a, int64_t item)
{
    int64_t at = a->last[item];
    while (at >= 0 && (a->row[at].undone || a->row[at].kind != ANSWER_LABEL))
        at = a->before[at];
    return at;
}

int64_t answers_row_of(const struct answers *a, int64_t item)
{
    int64_t at = label_row(a, item);
    if (at < 0)
        for (at = a->last[item];
             at >= 0 && (a->row[at].undone || a->row[at].kind != ANSWER_UNKNOWN);)
            at = a->before[at];
    return at;
}

static int no_class(const struct answers *a, const char *name)
{
    const char *near = nearest_word(name, (const char *const *)a->classes.at, a->classes.n);
    if (a->classes.n == 0)
        return fail(METE_EINVAL,
                    "no class '%s': %s has no classes yet, and --new-classes adds them", name,
                    a->d->name);
    return near ? fail(METE_EINVAL, "no class '%s'; did you mean '%s'?", name, near)
                : fail(METE_EINVAL, "no class '%s' among %d", name, a->classes.n);
}

static int contradicts(const struct answers *a, const struct answer *r)
{
    int64_t at = label_row(a, r->item);
    const char *is = a->classes.at[a->label[r->item]];
    return at >= 0 ? fail(METE_EINVAL, "item %" PRId64 " is '%s' by %s, and now '%s'", r->item, is,
                          a->row[at].who, r->klass)
                   : fail(METE_EINVAL, "item %" PRId64 " was imported as '%s', and is now '%s'",
                          r->item, is, r->klass);
}

static int charge(struct answers *a, const struct answer *r)
{
    if (r->cost < 0 || money_add(a->totals.spent, r->cost) > MONEY_MAX)
        return fail(METE_EINVAL, "answers cannot cost more than %g together",
                    money_labels(MONEY_MAX));
    a->totals.spent += r->cost;
    return push(a, r);
}

static int apply_label(struct answers *a, const struct answer *r)
{
    int k = names_find(&a->classes, r->klass);
    if (k < 0)
        return no_class(a, r->klass);
    if (a->label[r->item] != NO_LABEL)
        return a->label[r->item] == k ? 0 : contradicts(a, r);
    int err = charge(a, r);
    if (err < 0)
        return err;
    a->label[r->item] = k;
    a->totals.labels++;
    a->totals.unlabelled--;
    return 1;
}

/* Somebody who does not know says so once of an item; not of one whose label is there. */
static int apply_unknown(struct answers *a, const struct answer *r)
{
    if (a->label[r->item] != NO_LABEL)
        return 0;
    for (int64_t at = a->last[r->item]; at >= 0; at = a->before[at])
        if (!a->row[at].undone && strcmp(a->row[at].who, r->who) == 0)
            return 0;
    int err = charge(a, r);
    a->totals.unknown += err == 1;
    return err;
}

/* What is asked of a second person changes no label: whether they agree is counted. */
static int apply_second(struct answers *a, const struct answer *r)
{
    int k = names_find(&a->classes, r->klass);
    int64_t own = answers_row_by(a, r->item, r->who);
    if (k < 0)
        return no_class(a, r->klass);
    if (own >= 0 && a->row[own].klass && strcmp(a->row[own].klass, r->klass) == 0)
        return 0;
    if (own >= 0)
        return fail(METE_EINVAL, "%s has answered for item %" PRId64 " before", r->who, r->item);
    if (a->label[r->item] == NO_LABEL)
        return fail(METE_EINVAL, "item %" PRId64 " has no label that there could be a second of",
                    r->item);
    int err = charge(a, r);
    a->totals.seconds += err == 1;
    return err;
}

static int apply_undo(struct answers *a, const struct answer *r)
{
    struct answer *old = r->undoes < a->rows ? &a->row[r->undoes] : NULL;
    if (r->undoes < 0 || !old || !answer_has_item(old))
        return fail(METE_EINVAL, "row %" PRId64 " is no answer that could be undone", r->undoes);
    if (strcmp(old->who, r->who) != 0)
        return fail(METE_EINVAL, "row %" PRId64 " is the answer of %s, not of %s", r->undoes,
                    old->who, r->who);
    if (old->undone)
        return 0;
    old->undone = true;
    a->totals.spent -= old->cost;
    a->totals.undone++;
    if (old->kind == ANSWER_LABEL) {
        a->label[old->item] = a->d->y[old->item];
        a->totals.labels--;
        a->totals.unlabelled++;
    } else if (old->kind == ANSWER_UNKNOWN) {
        a->totals.unknown--;
    } else {
        a->totals.seconds--;
    }
    return push(a, r);
}

static int apply_class(struct answers *a, const struct answer *r)
{
    if (names_find(&a->classes, r->klass) >= 0)
        return 0;
    int added = names_add(&a->classes, r->klass);
    return added < 0 ? added : push(a, r);
}

static int apply_budget(struct answers *a, const struct answer *r)
{
    if (r->cost < 0 || r->cost > MONEY_MAX)
        return fail(METE_EINVAL, "a budget is a number from 0 to %g", money_labels(MONEY_MAX));
    if (a->totals.budget == r->cost)
        return 0;
    a->totals.budget = r->cost;
    return push(a, r);
}

static int check_name(const char *name, const char *what)
{
    if (!name || !*name)
        return fail(METE_EINVAL, "%s has no name", what);
    return strlen(name) <= WHO_MOST
               ? 0
               : fail(METE_EINVAL, "the name of %s has more than %d bytes", what, WHO_MOST);
}

int answers_apply(struct answers *a, const struct answer *r)
{
    int err = a->broken ? fail(a->broken, "%s: there is no memory for its classes", a->path)
                        : check_name(r->who, "who answered");
    if (!err && (r->kind == ANSWER_LABEL || r->kind == ANSWER_SECOND || r->kind == ANSWER_CLASS))
        err = check_name(r->klass, "a class");
    if (!err && answer_has_item(r) && (r->item < 0 || r->item >= a->d->items))
        err = fail(METE_EINVAL, "no item %" PRId64 ": %s has items 0 to %" PRId64, r->item,
                   a->d->name, a->d->items - 1);
    if (err)
        return err;
    switch (r->kind) {
    case ANSWER_LABEL:
        return apply_label(a, r);
    case ANSWER_UNKNOWN:
        return apply_unknown(a, r);
    case ANSWER_SECOND:
        return apply_second(a, r);
    case ANSWER_UNDO:
        return apply_undo(a, r);
    case ANSWER_CLASS:
        return apply_class(a, r);
    default:
        return apply_budget(a, r);
    }
}

const struct answer *answers_rows(const struct answers *a, int64_t *n)
{
    *n = a->rows;
    return a->row;
}

/* A second answer may come to agree by an undo of the first, so they are compared when asked. */
struct answers_totals answers_totals(const struct answers *a)
{
    struct answers_totals t = a->totals;
    for (int64_t i = 0; i < a->rows && t.agreed < t.seconds; i++) {
        const struct answer *r = &a->row[i];
        if (r->kind == ANSWER_SECOND && !r->undone && a->label[r->item] != NO_LABEL)
            t.agreed += strcmp(a->classes.at[a->label[r->item]], r->klass) == 0;
    }
    return t;
}

int64_t answers_row_by(const struct answers *a, int64_t item, const char *who)
{
    int64_t at = a->last[item];
    while (at >= 0 && (a->row[at].undone || strcmp(a->row[at].who, who) != 0))
        at = a->before[at];
    return at;
}

int64_t answers_last_by(const struct answers *a, const char *who)
{
    int64_t at = a->rows - 1;
    while (at >= 0 &&
           (a->row[at].undone || !answer_has_item(&a->row[at]) || strcmp(a->row[at].who, who) != 0))
        at--;
    return at;
}

int32_t answers_label(const struct answers *a, int64_t item)
{
    return a->label[item];
}

const char *answers_class(const struct answers *a, int k)
{
    return k < a->classes.n ? a->classes.at[k] : NULL;
}

const struct dataset *answers_dataset(const struct answers *a)
{
    return a->d;
}
