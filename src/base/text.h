/* text.h - a growing text.
 *
 *   struct text t = {0};
 *   text_print(&t, "%d runs\n", n);
 *   ... t.at, t.size ...
 *   text_release(&t);
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

struct text {
    char *at; /* 0-terminated; NULL before the first piece */
    size_t size, room;
};

void text_add(struct text *t, const char *piece);
void text_add_bytes(struct text *t, const void *bytes, size_t size);
void text_print(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_csv(struct text *t, const char *field); /* in quotes where it needs them (RFC 4180) */
void text_pad(struct text *t, const char *piece, int width); /* in characters; < 0: to the left */
/* Words in lines of at most `width` characters, each with its newline. */
void text_wrap(struct text *t, const char *words, int width);
char *text_take(struct text *t); /* the text, to be freed by the caller; never NULL */
void text_release(struct text *t);

int text_width(const char *s); /* in characters: bytes that do not continue one */

#endif
