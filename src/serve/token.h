/* token.h - the secret in the address of a page. */
#ifndef SERVE_TOKEN_H
#define SERVE_TOKEN_H

#include "serve/http.h"

int token_make(char out[HTTP_TOKEN_SIZE]);
/* In a time that does not tell where they differ. */
bool token_equal(const char *given, const char *token);
/* A header Authorization: "Bearer TOKEN", "Token TOKEN" or "Basic base64(anybody:TOKEN)". */
bool token_authorized(const char *header, const char *token);

#endif
