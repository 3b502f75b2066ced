/* export.h - the formats that a model is written in for other programs.
 *
 * To add one: write src/model/export_NAME.c ending in a `const struct export_format`, and add its
 * address to the table in export.c.
 */
#ifndef MODEL_EXPORT_H
#define MODEL_EXPORT_H

#include "model/graph.h"

struct export_format {
    const char *name;    /* "onnx" */
    const char *suffix;  /* ".onnx" */
    const char *summary; /* one line */
    /* Writes the graph to `path`, whole or not at all.  NULL: the model's own file
     * (mete_model_save)
     */
    int (*write)(const struct graph *g, const char *path);
};

const struct export_format *export_format_at(int i); /* NULL past the last */
/* By its name, or where that is NULL by the path's suffix; NULL after saying what there is. */
const struct export_format *export_format_find(const char *name, const char *path);

#endif
