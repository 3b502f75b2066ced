/* assign.h - settings as they were asked for, before they are resolved. */
#ifndef CONFIG_ASSIGN_H
#define CONFIG_ASSIGN_H

#include "config/config.h"
#include "config/yaml.h"

struct assignment {
    char *key, *value;
    char *key_place, *place; /* where key and value stand: "path:line:column", "--set", or "" */
    bool known;              /* set by resolve_run: this run has such a setting */
};

struct assignments { /* later ones win */
    struct assignment *at;
    int n;
};

void assignments_release(struct assignments *a);
void assignments_append(struct assignments *a, const struct assignments *more);
const struct assignment *assignments_last(const struct assignments *a, const char *key);

void assignments_add(struct assignments *a, const char *key, const char *value, const char *place);
/* "key=value" strings, NULL at the end; NULL is fine. */
int assignments_add_texts(struct assignments *a, const char *const *texts);
/* A map of settings; maps inside it are sections (inner: {lr: 0.1}), lists are
 * joined by ','. */
int assignments_add_yaml(struct assignments *a, const char *path, const struct yaml *map);
/* One value under `key`; `under` gives the key's place. */
int assignments_add_value(struct assignments *a, const char *path, const char *key,
                          const struct yaml *under, const struct yaml *value);

bool is_name_key(const char *key); /* bench, method, labels, net, seed */

/* Resolves one run.  `whole` names the whole file where no single place is to
 * blame, or is NULL.  With `lenient` a --set that this run has no setting for is
 * passed over: in a suite another run may have it. */
int resolve_run(struct settings *out, struct assignments *a, const struct config_rules *rules,
                const char *whole, bool lenient);

#endif
