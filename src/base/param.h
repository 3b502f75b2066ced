/* param.h - tables of settings: the only description of a hyperparameter.
 *
 * A table describes the fields of a plain struct.  The YAML reader, --set,
 * `mete show`, the docs, the database and Python all read it.
 *
 * A key is written section.name (net.bn_eps); a name that itself contains a dot
 * (inner.lr) is complete.  Where a name is found in one section only, the
 * section may be left out, and '_' and '.' are read alike (inner_lr).
 */
#ifndef BASE_PARAM_H
#define BASE_PARAM_H

#include "mete.h"

enum param_type { PARAM_INT, PARAM_REAL, PARAM_BOOL, PARAM_CHOICE, PARAM_TEXT };
enum { PARAM_TEXT_SIZE = 256 };

struct param {
    const char *name;
    enum param_type type;
    size_t offset; /* of an int, double, bool, int (index of the choice) or char[256] */
    double initial, min, max;
    const char *choices; /* "mean|sum"; for PARAM_TEXT the initial text, or NULL */
    const char *help;
    /* PARAM_TEXT: rewrites a text as all spellings of the same value are written, so that they
     * are one setting, or refuses it; NULL: any text will do. */
    int (*canonical)(char text[PARAM_TEXT_SIZE]);
};

/* Rows of a table that ends with {0}. */
#define PARAM_INT_ROW(type, field, name, initial, min, max, help)                                  \
    {                                                                                              \
        name, PARAM_INT, offsetof(type, field), initial, min, max, NULL, help, NULL                \
    }
#define PARAM_REAL_ROW(type, field, name, initial, min, max, help)                                 \
    {                                                                                              \
        name, PARAM_REAL, offsetof(type, field), initial, min, max, NULL, help, NULL               \
    }
#define PARAM_BOOL_ROW(type, field, name, initial, help)                                           \
    {                                                                                              \
        name, PARAM_BOOL, offsetof(type, field), initial, 0, 1, NULL, help, NULL                   \
    }
#define PARAM_CHOICE_ROW(type, field, name, choices, initial, help)                                \
    {                                                                                              \
        name, PARAM_CHOICE, offsetof(type, field), initial, 0, 0, choices, help, NULL              \
    }
#define PARAM_TEXT_ROW(type, field, name, initial, help)                                           \
    {                                                                                              \
        name, PARAM_TEXT, offsetof(type, field), 0, 0, 0, initial, help, NULL                      \
    }
/* A text with a canonical form. */
#define PARAM_FORM_ROW(type, field, name, initial, canonical, help)                                \
    {                                                                                              \
        name, PARAM_TEXT, offsetof(type, field), 0, 0, 0, initial, help, canonical                 \
    }

/* One table in force, and the struct it fills. */
struct param_section {
    const char *name; /* "net", "method", … */
    const struct param *table;
    void *state;
};

enum { PARAM_SECTIONS = 16 };
struct param_set {
    struct param_section section[PARAM_SECTIONS];
    int sections;
};

void param_set_add(struct param_set *set, const char *section, const struct param *table,
                   void *state); /* fills `state` with the defaults */
void param_defaults(const struct param *table, void *state);

/* Finds the row for `key`; the section's number through *section.  NULL and a
 * sentence naming the nearest known key when there is none. */
const struct param *param_find(const struct param_set *set, const char *key, int *section);

/* Checks type and range, then stores.  `key` names it in the sentence. */
int param_store(const struct param *row, void *state, const char *key, const char *text);
int param_set_text(struct param_set *set, const char *key, const char *text);
int param_set_all(struct param_set *set,
                  const char *const *assignments); /* "k=v", NULL at the end */

/* The value as text, as param_store would read it back. */
void param_text(const struct param *row, const void *state, char *out, size_t size);
void param_key(const struct param_section *section, const struct param *row, char *out,
               size_t size);
void param_range(const struct param *row, char *out,
                 size_t size); /* "0..1", "mean|sum", "yes|no" */
/* The shortest decimal that reads back as the same double. */
void number_text(double value, char *out, size_t size);

/* The candidate nearest to `word` by edit distance, or NULL if none is near. */
const char *nearest_word(const char *word, const char *const *candidates, int n);
/* Fails with "no KIND named 'NAME'" and the nearest of those there are, or all of them. */
int fail_unknown(const char *kind, const char *name, const char *const *candidates, int n);

#endif
