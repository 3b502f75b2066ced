/* fitted.h - a model and the dataset it is used on: which classes and which features are the same.
 *
 * Classes are matched by name where the model has names.  Features of a table are matched by name
 * too: a value is taken back to what the table said, and standardised as the model has it.
 */
#ifndef PEOPLE_FITTED_H
#define PEOPLE_FITTED_H

#include "model/model.h"

struct fitted {
    struct mete_model *model;
    const struct dataset *data;
    int classes; /* of the labels */
    int ways;
    int *class_of; /* (ways) the dataset's class, or -1 */
    int *way_of;   /* (classes) the model's, or -1 */
    int *from; /* (features) of the dataset for each of the model's, -1: none of its words; NULL:
                  items are taken as they are */
};

struct fitted_options {
    const struct dataset *data; /* outlives it */
    const char *const *classes; /* (n_classes) names; NULL: those of the dataset */
    int n_classes;
    const char *path; /* of the model, or a run's folder */
    const char *const *set, *device;
};
int fitted_open(struct fitted *out, const struct fitted_options *o);
void fitted_close(struct fitted *f); /* zeroed is fine */

/* Items of the dataset as the model takes them; free() the array's x. */
struct mete_array fitted_items(const struct fitted *f, const int64_t *item, int n);

#endif
