/* token.c - making a secret, and finding it in a request. */
#include "serve/token.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

int token_make(char out[HTTP_TOKEN_SIZE])
{
    unsigned char bytes[(HTTP_TOKEN_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return fail(METE_EIO, "the machine has no random numbers: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

bool token_equal(const char *given, const char *token)
{
    unsigned char differs = 0;
    if (strlen(given) != HTTP_TOKEN_SIZE - 1)
        return false;
    for (size_t i = 0; i < HTTP_TOKEN_SIZE - 1; i++)
        differs |= (unsigned char)(given[i] ^ token[i]);
    return differs == 0;
}

/* How many bytes `text` holds in base64, or -1. */
static int decode_base64(const char *text, char *out, int room)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0;
    int have = 0, n = 0;
    for (; *text && *text != '='; text++) {
        const char *at = strchr(digits, *text);
        if (!at)
            return -1;
        bits = bits << 6 | (unsigned)(at - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            if (n == room)
                return -1;
            out[n++] = (char)(bits >> have & 0xff);
        }
    }
    return n;
}

bool token_authorized(const char *header, const char *token)
{
    enum { ROOM = 256 };
    char text[ROOM + 1];
    if (strncasecmp(header, "Bearer ", 7) == 0)
        return token_equal(header + 7, token);
    if (strncasecmp(header, "Token ", 6) == 0)
        return token_equal(header + 6, token);
    if (strncasecmp(header, "Basic ", 6) != 0)
        return false;
    int n = decode_base64(header + 6, text, ROOM);
    text[n > 0 ? n : 0] = '\0';
    const char *colon = strchr(text, ':');
    return colon && token_equal(colon + 1, token);
}
