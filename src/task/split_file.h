/* split_file.h - published splits: a file of class or user names for each part. */
#ifndef TASK_SPLIT_FILE_H
#define TASK_SPLIT_FILE_H

#include "data/dataset.h"

bool split_file_exists(const char *folder);
/* Sets part[g] for each class (or user) that a file names; others stay. */
int split_file_read(const struct dataset *d, bool users, const char *folder, uint8_t *part);

#endif
