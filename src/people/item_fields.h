/* item_fields.h - an item as people see it. */
#ifndef PEOPLE_ITEM_FIELDS_H
#define PEOPLE_ITEM_FIELDS_H

#include "base/jsonw.h"
#include "data/dataset.h"

/* Members of an open object: what the table said of an item, but for fields that were missing,
 * which are as they were filled.  Nothing where the dataset was not made from a table. */
void item_fields(struct jsonw *w, const struct dataset *d, int64_t item);

#endif
