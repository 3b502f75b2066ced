/* identity.h - whether what lies on the disk is of this run: the settings, and the content of
 * the files they name, that a checkpoint or a model carries in its header.
 */
#ifndef RUN_IDENTITY_H
#define RUN_IDENTITY_H

#include "base/safetensors.h"
#include "config/config.h"

/* The settings as a header keeps them; borrows their texts.  free() it.  NULL for NULL. */
struct safetensors_pair *settings_pairs(const struct settings *s, int *n);

enum { IDENTITY_TEXT_SIZE = 1024 };
/* Whether the file's header has another value for one of the settings, and which: "seed is 1
 * there and 2 here".  A setting that it lacks, of a later mete, must be what it was before it was a
 * setting (setting_before), or at its default; of a header without any only those are looked at. */
bool identity_differs(const struct settings *s, const struct safetensors *f,
                      char text[IDENTITY_TEXT_SIZE]);

/* METE_EINVAL where the folder holds the models of another run that has ended.  Where there is a
 * checkpoint, too, that decides (checkpoint.h). */
int identity_check_folder(const struct settings *s, const char *folder);

#endif
