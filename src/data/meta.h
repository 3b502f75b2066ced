/* meta.h - meta.json, the part of a dataset that is words.
 *
 * {"format": 1, "name", "items", "classes", "users", "shape": [h, w, c], "dtype",
 *  "scale", "shift", "source", "licence", "sha256", "class_names": [...],
 *  "class_groups": [...], "class_split": ["train", "val", "test", ...],
 *  "user_names": [...], "notes": {...}}; lists that a dataset lacks are left out.
 */
#ifndef DATA_META_H
#define DATA_META_H

#include "data/dataset.h"

struct meta_notes { /* what an importer wants remembered */
    struct {
        char *key, *text;
    } * at;
    int n;
};
void meta_notes_add(struct meta_notes *notes, const char *key, char *text); /* takes `text` */
void meta_notes_release(struct meta_notes *notes);

char *meta_text(const struct dataset *d, const struct meta_notes *notes); /* free() it */

#endif
