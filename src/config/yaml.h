/* yaml.h - a YAML file as a tree of texts, lists and maps, each with its place.
 *
 * Only what a suite needs: one document, keys that are plain texts, no aliases.
 * Everything is text; what a value means is decided by who reads it.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include "mete.h"

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAP };

struct yaml {
    enum yaml_kind kind;
    char *key;                /* in a map; else NULL */
    char *text;               /* YAML_TEXT */
    bool quoted;              /* "null", '' are texts only when quoted */
    int line, column;         /* of the value, from 1; of the key for empty lists and maps */
    int key_line, key_column; /* of the key */
    struct yaml *child;       /* (n) YAML_LIST, YAML_MAP, in the order of the file */
    int n;
};

enum { YAML_SIZE_MAX = 1 << 20, YAML_DEPTH_MAX = 16 };

/* Reads `text` (size bytes), which `path` names in errors. */
int yaml_read(struct yaml **out, const char *path, const char *text, size_t size);
void yaml_close(struct yaml *y); /* NULL is fine */

const struct yaml *yaml_get(const struct yaml *map, const char *key); /* NULL when not there */
const char *yaml_kind_name(const struct yaml *y);                     /* "a list" */

#endif
