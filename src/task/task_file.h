/* task_file.h - tasks.json: tasks as lists of item numbers, so that other software
 * can score the same ones.  docs/tasks.md describes the format.
 */
#ifndef TASK_TASK_FILE_H
#define TASK_TASK_FILE_H

#include "task/task.h"

struct task_file {
    char *support; /* who chose the supports: "stratified" */
    int part;      /* enum dataset_split */
    int64_t seed;
    int ways, shots;
    struct episode *episodes; /* (n) */
    int n;
};

char *task_file_text(const struct task_file *f, const struct dataset *d); /* free() it */
int task_file_write(const char *path, const struct task_file *f, const struct dataset *d);

/* Everything is checked against `d`: that it is the dataset the file was made from,
 * that items exist and occur once in a task, that labels are those of the items. */
int task_file_read(struct task_file *out, const char *path, const struct dataset *d);
/* The same from memory; `name` is what errors call it. */
int task_file_parse(struct task_file *out, const char *name, const void *text, size_t size,
                    const struct dataset *d);
void task_file_release(struct task_file *f); /* a zeroed one is fine */

#endif
