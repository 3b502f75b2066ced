/* glyphs.h - the built-in generator: characters as small stroke programs. */
#ifndef DATA_GLYPHS_H
#define DATA_GLYPHS_H

#include "data/dataset.h"

/* Makes "glyphs" or "glyphs-users" in memory, with the default settings.  The
 * same name always gives the same bytes.  METE_EINVAL for any other name. */
int glyphs_make(struct dataset **out, const char *name);

#endif
