/* message.c - a buffer that grows, read from its beginning. */
#include "base/message.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void message_clear(struct message *m)
{
    m->size = m->got = 0;
    m->short_ = false;
}

void message_release(struct message *m)
{
    free(m->at);
    *m = (struct message){0};
}

void message_put(struct message *m, const void *data, size_t bytes)
{
    if (m->room < m->size + bytes) {
        m->room = 2 * (m->size + bytes);
        m->at = mem_grow(m->at, m->room, 1);
    }
    if (bytes > 0)
        memcpy(m->at + m->size, data, bytes);
    m->size += bytes;
}

void message_put_int(struct message *m, int64_t value)
{
    message_put(m, &value, sizeof value);
}

void message_put_real(struct message *m, double value)
{
    message_put(m, &value, sizeof value);
}

/* Its length with the 0 that ends it, then both; a length of 0 is NULL. */
void message_put_text(struct message *m, const char *text)
{
    size_t n = text ? strlen(text) + 1 : 0;
    message_put_int(m, (int64_t)n);
    message_put(m, text, n);
}

const void *message_take(struct message *m, size_t bytes)
{
    if (bytes > m->size - m->got) {
        m->short_ = true;
        m->got = m->size;
        return NULL;
    }
    m->got += bytes;
    return m->at + m->got - bytes;
}

void message_get(struct message *m, void *to, size_t bytes)
{
    const void *from = message_take(m, bytes);
    if (!from)
        memset(to, 0, bytes);
    else if (bytes > 0)
        memcpy(to, from, bytes);
}

int64_t message_get_int(struct message *m)
{
    int64_t value;
    message_get(m, &value, sizeof value);
    return value;
}

double message_get_real(struct message *m)
{
    double value;
    message_get(m, &value, sizeof value);
    return value;
}

const char *message_get_text(struct message *m)
{
    int64_t n = message_get_int(m);
    const char *text = n > 0 ? message_take(m, (size_t)n) : NULL;
    if (text && text[n - 1] != '\0') {
        m->short_ = true;
        return NULL;
    }
    return text;
}

int message_check(const struct message *m)
{
    return m->short_ ? fail(METE_EFORMAT, "a message of another rank is too short") : 0;
}
