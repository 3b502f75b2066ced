/* glyphs.h - the built-in generator: characters as small stroke programs. */
#ifndef DATA_GLYPHS_H
#define DATA_GLYPHS_H

#include "base/param.h"
#include "data/dataset.h"

/* Makes "glyphs" or "glyphs-users" in memory; settings may follow a colon, as in
 * glyphs:classes=200,drawers=20,seed=1 (`mete show glyphs` lists them).  The same
 * name always gives the same bytes.  METE_EINVAL for any other name. */
int glyphs_make(struct dataset **out, const char *name);

/* Replaces `name` by the spelling that all names of the same dataset share: settings in
 * the order of the table, without those at their defaults. */
int glyphs_spell(char *name, size_t size);

/* The settings, for `mete show`; NULL for any other name. */
const struct param *glyphs_settings(const char *name);

#endif
