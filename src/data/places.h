/* places.h - where each item of a dataset was when it was imported, for people who are to find it.
 *
 * PLACES_FILE in the dataset's folder has a line for each item: of a table its line in the file, of
 * images their file within the folder or archive.  A table whose rows are lines 2, 3, … has no such
 * file.  It is no part of a dataset's content.
 */
#ifndef DATA_PLACES_H
#define DATA_PLACES_H

#include "data/dataset.h"
#include "data/names.h"
#include "base/text.h"

#define PLACES_FILE "items.txt"

/* ---- for importers: dataset.places ---- */

/* Item number `item`, the next, begins in this line of its table. */
void places_add_line(struct text *lines, int64_t item, int64_t line);
char *places_of_files(const struct names *files); /* in the items' order */
int places_write(const char *dir, const char *places);

/* ---- for readers ---- */

struct places {       /* zeroed is empty */
    const char *word; /* "line", "file", or NULL: the items have no places */
    char *text;       /* lines cut at their ends; NULL: item i is line i + 2 */
    char **at;        /* (items) */
};
int places_open(struct places *out, const struct dataset *d);
void places_close(struct places *p);
/* Of item i, into a buffer that the place may not need; "" without places. */
enum { PLACE_SIZE = 24 };
const char *places_of(const struct places *p, int64_t item, char buffer[PLACE_SIZE]);

#endif
