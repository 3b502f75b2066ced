/* ask_file.h - questions as a file for people to fill in, and the answers in it. */
#ifndef PEOPLE_ASK_FILE_H
#define PEOPLE_ASK_FILE_H

#include "people/ask.h"
#include "base/text.h"
#include "data/places.h"

/* Writes the file whole, or not at all. */
int ask_write_csv(const char *path, const struct people *p, const struct places *places,
                  const struct ask *a);
int ask_write_studio(const char *path, const struct people *p, const struct places *places,
                     const struct ask *a);

/* ---- answers ---- */

struct given { /* one answer, and where it stands in the file */
    int64_t item;
    char *klass; /* NULL: they do not know */
    char *who;   /* NULL: the file does not say it */
    int64_t line, column;
};
struct given_list { /* zeroed is empty */
    struct given *at;
    int n;
    int64_t blank; /* questions without an answer */
};
void given_release(struct given_list *g);
void given_add(struct given_list *g, const struct given *one); /* takes its texts over */

/* METE_EFORMAT and METE_EINVAL say path:line:column. */
int answers_read_csv(struct given_list *out, const struct people *p, const char *path);
int answers_read_studio(struct given_list *out, const struct people *p, const char *path);
/* What Label Studio tells when something happens in it: {"action": "ANNOTATION_CREATED",
 * "annotation": {…}, "task": {…}}.  No answers where it is of other things. */
enum { STUDIO_ACTION = 40 };
int answers_read_event(struct given_list *out, const struct people *p, const char *text,
                       size_t size, char action[STUDIO_ACTION]);
/* What is said by an answer in words: "?" is that they do not know. */
#define ANSWER_DO_NOT_KNOW "?"

#endif
