/* mete_personal.h - people: which items to ask them about, what they answered, and a model for each
 * of them.  docs/personal.md goes through it with the command.
 *
 * A MODEL is a file, or a run's folder, of which it is the best model.  Conventions are those of
 * mete.h.
 */
#ifndef METE_PERSONAL_H
#define METE_PERSONAL_H

#include "mete.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- questions ---- */

struct mete_questions_options {
    size_t size;
    const char *data, *model; /* model NULL: nobody has one yet; items unlike each other */
    const char *user;         /* "all"; NULL: the data have no users */
    const char *labels;       /* a strategy that needs no oracle; NULL: kmeans */
    const char *format;       /* "csv" or "label-studio"; NULL: csv */
    const char *out;          /* the file to write */
    int32_t n;                /* for each person, at most; 0: 5 */
    double labels_left;       /* for all together; 0: what the data's budget leaves */
    uint64_t seed;
    const char *device;
    const char *const *set; /* of the model; NULL at the end; may be NULL */
};
struct mete_questions { /* what was written */
    int64_t questions;
    int32_t people;       /* who are asked */
    int32_t done;         /* people of those asked for who have nothing left to be asked about */
    const char *strategy; /* that chose */
};
int mete_questions(const struct mete_questions_options *o, struct mete_questions *out);

/* ---- answers ---- */

struct mete_answers_options {
    size_t size;
    const char *data, *path; /* a CSV as mete_questions writes it, or Label Studio's JSON */
    const char *by;          /* who answered, where a row does not say it; NULL: $USER */
    double cost;             /* of a label; 0: 1.  Free ones: -1 */
    int32_t new_classes;     /* a class that the data do not have is added, not refused */
};
struct mete_answers { /* what was added */
    int64_t labels, unknown;
    int64_t same;                  /* rows that say what was known, and are not charged */
    int64_t blank;                 /* questions without an answer */
    double charged, spent, budget; /* labels; budget 0: none */
};
/* All of a file, or nothing of it. */
int mete_answers_import(const struct mete_answers_options *o, struct mete_answers *out);

struct mete_person {
    const char *name; /* "" where the data have no users */
    int64_t items, imported, answered, unknown, open;
    double spent;
};
struct mete_answers_status {
    int64_t items, imported, answered, unknown, second, agreed, undone, open;
    double spent, budget;  /* budget 0: none */
    int32_t people, asked; /* of whom something was answered */
};
typedef void mete_person_fn(void *user, const struct mete_person *p);
int mete_answers_status(const char *data, struct mete_answers_status *out, mete_person_fn *each,
                        void *user);
/* The most that answers may cost from now on; 0: no limit.  `by` as above. */
int mete_answers_budget(const char *data, double labels, const char *by);

/* ---- one person's model ---- */

/* Writes a model, with the task it was adapted to: format "safetensors", "onnx" or "c"; NULL: as
 * the path ends. */
int mete_export(struct mete_model *m, const char *format, const char *path);

struct mete_adapt_options {
    size_t size;
    const char *model, *data, *user; /* user NULL: the data have no users */
    const char *format, *out;        /* as for mete_export */
    const char *device;
    const char *const *set;
};
/* Adapts to what is known of a person.  *labels, unless NULL, is how many labels. */
int mete_adapt_person(const struct mete_adapt_options *o, int64_t *labels);

struct mete_predictions_options {
    size_t size;
    const char *model;
    const char *what; /* a dataset, a CSV table, x.npy, or an image, folder or archive of them */
    const char *user; /* of a dataset: their items, adapted to what is known of them; "all": each
                         person's own; NULL: all items, and the model as it is */
    const char *out;  /* the CSV to write */
    const char *save; /* a file for the model that predicted (as for mete_export), or NULL */
    const char *device;
    const char *const *set;
};
struct mete_predictions {
    int64_t items;
    int32_t people;  /* it was adapted to, one after another */
    int32_t without; /* of all, those who are left out: nothing is known of them, and the model
                        knows no classes without */
    int64_t labels;  /* that it was adapted to */
    int64_t missing; /* fields that were filled */
    int64_t known;   /* items of a dataset whose class is known, the labels above left out, and */
    double right;    /* the share of them that was predicted right; NaN where there are none */
};
int mete_predictions(const struct mete_predictions_options *o, struct mete_predictions *out);

#ifdef __cplusplus
}
#endif
#endif
