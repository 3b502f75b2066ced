/* answers_own.h - what the files that read and write answers share. */
#ifndef DATA_ANSWERS_OWN_H
#define DATA_ANSWERS_OWN_H

#include "data/answers.h"
#include "data/names.h"
#include "base/sha256.h"
#include "base/text.h"

struct answers {
    struct dataset *d; /* as imported */
    bool keeps_d;      /* not to be closed with the answers */
    char *path;
    struct names classes; /* the dataset's, then new ones */
    struct names words;   /* of annotators */
    struct answer *row;
    int64_t *before; /* (rows) the row before of the same item, or -1 */
    int64_t rows, room;
    int32_t *label; /* (items) as it stands */
    int64_t *last;  /* (items) the last row, or -1 */
    struct answers_totals totals;
    int64_t size, lines;  /* of the batches read */
    char sum[SHA256_HEX]; /* that closed the last of them */
    int broken;           /* METE_ENOMEM: its classes are not all there */
};

/* ---- answers_text.c: rows as lines ---- */

/* The first line of a log of this dataset. */
void answers_header(struct text *to, const struct dataset *d);
void answer_print(struct text *to, const struct answer *r);
/* Closes a batch: `body` is all of it, `before` the sum that closed the one before. */
void answers_end(struct text *to, const char *body, size_t size, int64_t rows,
                 const char before[SHA256_HEX], char sum[SHA256_HEX]);
/* Takes the complete batches of `text`, which is what follows a->size bytes of the log.
 * METE_EFORMAT for a line that cannot be, with its number. */
int answers_take(struct answers *a, const char *text, size_t size);
/* A batch of so many lines and bytes is complete, and `sum` closed it. */
void answers_closed(struct answers *a, int64_t lines, size_t bytes, const char sum[SHA256_HEX]);

/* ---- answers_state.c: what stands ---- */

/* Around `d`, which it keeps and closes unless `keeps_d`; nothing is read yet. */
struct answers *answers_make(struct dataset *d, bool keeps_d);
/* Forgets all rows. */
void answers_restart(struct answers *a);
/* 1: the row is new, and counts from now on; 0: what it says is known; METE_EINVAL: refused;
 * METE_ENOMEM: restart before anything else. */
int answers_apply(struct answers *a, const struct answer *r);

#endif
