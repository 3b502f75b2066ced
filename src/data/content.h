/* content.h - what a dataset holds, in one word.
 *
 * Two datasets with the same word are the same to a learner: items, classes, users, parts,
 * the published split, scale and shift.  Names of classes and where the files came from are
 * no part of it.
 */
#ifndef DATA_CONTENT_H
#define DATA_CONTENT_H

#include "data/dataset.h"

enum { CONTENT_SIZE = 48 };

/* Names of generated datasets say all of their content, so that such words are no news. */
#define CONTENT_GENERATED "generated-1-"

/* The arrays are read only where their checksum, which an import leaves in meta.json, may be
 * out of date: an array that is no older than it.  A checksum that still holds is dated anew. */
int dataset_content(const struct dataset *d, char out[CONTENT_SIZE]);

struct sha256;
/* The word for what was added to `s`, which it ends. */
void content_word(struct sha256 *s, char out[CONTENT_SIZE]);

#endif
