/* message.h - numbers, texts and arrays on their way to another rank of the same build.
 *
 * They are got in the order they were put.  Getting more than there is gives zeros, and
 * message_check says so.
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message { /* a zeroed one is empty */
    char *at;
    size_t size, room, got;
    bool short_; /* more was asked for than there is */
};

void message_clear(struct message *m); /* empties it, and keeps its memory */
void message_release(struct message *m);

void message_put(struct message *m, const void *data, size_t bytes);
void message_put_int(struct message *m, int64_t value);
void message_put_real(struct message *m, double value);
void message_put_text(struct message *m, const char *text); /* may be NULL */

void message_get(struct message *m, void *to, size_t bytes);
int64_t message_get_int(struct message *m);
double message_get_real(struct message *m);
const char *message_get_text(struct message *m); /* within the message */
/* The next `bytes`, within the message and not aligned; NULL: it has fewer. */
const void *message_take(struct message *m, size_t bytes);
int message_check(const struct message *m);

#endif
