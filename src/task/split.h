/* split.h - which classes (or users) are for training, validation and testing.
 *
 * `data.split` is one of
 *   auto           the dataset's own split; else 1000:200:423 of the classes, or
 *                  3000:200:200 of the users, with a fifth of them for tests where
 *                  they are few (data/parts.h)
 *   1000/200/423   so many, drawn at random by `data.split_seed`
 *   3000:200:200   all of them in that proportion, drawn alike
 *   vinyals, ravi  the split published with the dataset
 *   a folder       that holds {train,val,test}.txt (Vinyals: Alphabet/character/rot
 *                  lines) or .csv (Ravi: filename,label); the .txt files go before
 * A class or user in two parts is refused.
 *
 * Where classes are drawn, one named "X/rot090" (180, 270) is X turned: it is for training if X
 * is, and else in no part.
 */
#ifndef TASK_SPLIT_H
#define TASK_SPLIT_H

#include "base/param.h"
#include "data/content.h"
#include "data/parts.h"

enum { SPLIT_PARTS = PARTS }; /* enum dataset_split */

struct split {
    bool users;                  /* groups are users, else classes */
    bool by_content;             /* the setting does not say it all: files do */
    int n[SPLIT_PARTS];          /* groups of each part */
    int32_t *group[SPLIT_PARTS]; /* ascending */
};

int split_make(struct split *out, const struct dataset *d, bool users, const char *how, int seed);
/* The users' fold `fold` of 1..folds (data/parts.h): over all folds everybody is tested once. */
int split_make_fold(struct split *out, const struct dataset *d, int folds, int fold, int seed);
void split_release(struct split *s);
/* A word for which group is in which part (data/content.h). */
void split_content(const struct split *s, char out[CONTENT_SIZE]);
/* For the settings table: three numbers as short as they can be written. */
int split_canonical(char how[PARAM_TEXT_SIZE]);

const char *split_part_name(int part);            /* "train", "val", "test" */
int split_part_find(const char *name, int *part); /* METE_EINVAL for another name */

#endif
