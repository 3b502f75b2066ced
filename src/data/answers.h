/* answers.h - what people answered when they were asked for labels, and what it cost.
 *
 * A dataset's folder keeps it in answers.log, text that is only ever added to.  A batch of rows is
 * added whole or not at all: it is one write, closed by a line with a checksum, and on the disk
 * before answers_append returns.  What a killed writer leaves of a batch counts for nothing, and
 * the next writer removes it.  Any number of processes may add and read at a time.  docs/files.md
 * has the format.
 *
 * Opening a dataset (data/dataset.h) lays the answers over its labels, so that training on them
 * is training on any labels.
 */
#ifndef DATA_ANSWERS_H
#define DATA_ANSWERS_H

#include "base/money.h"
#include "data/dataset.h"

enum answer_kind {
    ANSWER_LABEL,   /* the item is of this class */
    ANSWER_UNKNOWN, /* the person does not know, and was paid for looking */
    ANSWER_SECOND,  /* the class that somebody else gives an item that has one, which stands */
    ANSWER_UNDO,    /* an earlier row does not stand, and is not charged */
    ANSWER_CLASS,   /* a class that the dataset did not have */
    ANSWER_BUDGET,  /* the most that answers may cost from now on; 0: no limit */
    ANSWER_KINDS
};

enum { ANSWER_TIME = 25 };

struct answer {
    int kind;               /* enum answer_kind */
    char when[ANSWER_TIME]; /* "2026-11-18T22:43:59.123Z"; "" in what is added: now */
    const char *who;        /* the annotator; never empty */
    int64_t item;           /* of a label, a second one, and of what is not known */
    const char *klass;      /* of a label, first or second: its class by name; and of a class */
    millionths cost;        /* of what has an item; the budget */
    int64_t undoes;         /* the number of the row that is undone */
    /* filled in when read */
    int64_t batch; /* 1, 2, … */
    bool undone;
};

struct answers_totals {
    millionths budget, spent;    /* budget 0: none */
    int64_t labels, unknown;     /* answers that stand */
    int64_t seconds;             /* of items that had a label */
    int64_t agreed;              /* and of those that say what the label says now */
    int64_t undone;              /* and those that do not */
    int64_t batches, unlabelled; /* items without a label */
};

/* A dataset's answers.  A handle belongs to one thread at a time; two handles, to two. */
struct answers;

/* `name` as dataset_find takes it; a dataset that is not on the disk has no answers. */
int answers_open(struct answers **out, const char *name);
/* The same, and no answers of a dataset that is not on the disk; to read alone. */
int answers_open_any(struct answers **out, const char *name);
void answers_close(struct answers *a);  /* NULL is fine */
int answers_refresh(struct answers *a); /* reads what others have added since */

/* What became of a batch. */
struct answers_added {
    int added; /* rows that are new */
    int same;  /* rows that say what was known: left out, and not charged */
    millionths charged;
    int64_t first; /* the number of the first new row: what an undo names */
    int failed;    /* after METE_EINVAL: the row that was refused; else -1 */
};

/* Adds rows (n), all or none; when it returns 0 they are on the disk.  Refused are an item that
 * is not there, a class that is not known, a label that contradicts the one that stands
 * (METE_EINVAL), and a batch beyond the budget (METE_EBUDGET).  The same rows again change
 * nothing. */
int answers_append(struct answers *a, const struct answer *rows, int n, struct answers_added *out);

/* All rows, in the order added; valid until the next call that refreshes or appends. */
const struct answer *answers_rows(const struct answers *a, int64_t *n);
struct answers_totals answers_totals(const struct answers *a);
/* The class of an item as it stands, imported or answered, or NO_LABEL. */
int32_t answers_label(const struct answers *a, int64_t item);
/* The row whose answer is the item's label, or the last that says that somebody does not know;
 * -1: it was never answered. */
int64_t answers_row_of(const struct answers *a, int64_t item);
/* The row of what `who` says of an item, or -1; and the last of theirs of any item. */
int64_t answers_row_by(const struct answers *a, int64_t item, const char *who);
int64_t answers_last_by(const struct answers *a, const char *who);
/* Whether a row answers for an item, with what it is charged. */
bool answer_has_item(const struct answer *r);
/* Name of class k; NULL past the last. */
const char *answers_class(const struct answers *a, int k);
/* The dataset as it was imported. */
const struct dataset *answers_dataset(const struct answers *a);

/* For dataset_open: lays the answers of its folder, if there are any, over an open dataset. */
int answers_overlay(struct dataset *d);
bool answers_exist(const char *dir);

#endif
