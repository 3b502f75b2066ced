/* card.h - what a model's file says beside its weights and settings, so that it can be used
 * without the dataset it was trained on.
 *
 *   model.ways        how many classes it tells apart
 *   model.classes     their names, a JSON list, where they are the same in all tasks
 *   model.frozen      what its batch-norm statistics are of, where they are frozen for use
 *   input.shape       h,w,c
 *   input.type        uint8 or float32
 *   input.scale, input.shift    a learner sees value * scale + shift
 *   input.columns     the columns of the table, with fills and standardisation (data/columns.h)
 */
#ifndef RUN_CARD_H
#define RUN_CARD_H

#include "base/safetensors.h"
#include "data/columns.h"
#include "data/dataset.h"

struct words { /* a list of names; zeroed is empty */
    char **at;
    int n;
};
void words_release(struct words *w);

struct card {
    bool known; /* the file says what the model takes; older ones do not */
    int ways, h, w, c;
    bool is_float, frozen;
    float scale, shift;
    struct words classes; /* none, or `ways` */
    struct columns columns;
};

/* Of a model of tasks of `ways` classes; same_classes: those of the dataset. */
struct card_text { /* the values as text, to be given back with card_text_release */
    struct safetensors_pair pairs[8];
    int n;
    char *own[8];
};
void card_write(struct card_text *out, const struct dataset *d, int ways, bool same_classes,
                const char *frozen);
void card_text_release(struct card_text *t);

/* METE_EFORMAT for a card that cannot be; one that is not there leaves out->known false. */
int card_read(struct card *out, const struct safetensors *f);
void card_release(struct card *c); /* a zeroed one is fine */

/* A JSON list of words, free() it; and back: `key` is what the sentence calls it. */
char *words_print(char *const *words, int n);
int words_read(struct words *out, const char *key, const char *json);

#endif
