/* utf8.h - is this UTF-8? */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The length of the well-formed sequence at s (Unicode 15, table 3-7), 1..4, or 0
 * where the bytes are not UTF-8 or `room` cuts them short. */
static inline int utf8_length(const char *s, size_t room)
{
    const unsigned char *b = (const unsigned char *)s;
    if (room == 0)
        return 0;
    int n = b[0] < 0x80   ? 1
            : b[0] < 0xc2 ? 0
            : b[0] < 0xe0 ? 2
            : b[0] < 0xf0 ? 3
            : b[0] < 0xf5 ? 4
                          : 0;
    if (n < 2 || room < (size_t)n)
        return n == 1;
    unsigned char low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80; /* no overlong forms */
    unsigned char high = b[0] == 0xed   ? 0x9f
                         : b[0] == 0xf4 ? 0x8f
                                        : 0xbf; /* no surrogates; <= U+10FFFF */
    if (b[1] < low || b[1] > high)
        return 0;
    for (int i = 2; i < n; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

static inline bool is_utf8(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        int n = utf8_length(text, left);
        if (n == 0)
            return false;
        text += n;
        left -= (size_t)n;
    }
    return true;
}

#endif
