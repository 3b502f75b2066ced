/* json.h - a strict pull reader of JSON (RFC 8259) in constant memory.
 *
 * The caller asks for the next token, or for the value it expects; the reader
 * holds one buffer of input and one string, so a file of gigabytes costs no more
 * than a small one.  Every failure says name:line:column (columns count bytes).
 *
 *   struct json j;
 *   json_open_memory(&j, "meta.json", text, size);
 *   err = json_enter(&j, JSON_OBJECT);
 *   while (!err && !(err = json_more(&j, &more)) && more) {   // j.text is the key
 *       if (strcmp(j.text, "items") == 0)
 *           err = json_get_int(&j, 0, INT32_MAX, &items);
 *       else
 *           err = json_skip(&j);
 *   }
 *   if (!err)
 *       err = json_finish(&j);
 *   json_close(&j);
 *
 * Stricter than the RFC in two things: a string may not hold the character
 * U+0000, so that j.text is the whole string, and nesting, strings and numbers
 * have the limits below.  Keys that occur twice are the caller's to refuse.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "mete.h"

enum {
    JSON_DEPTH_MAX = 64,
    JSON_STRING_MAX = 1 << 20, /* bytes of a decoded string */
    JSON_NUMBER_MAX = 1024,    /* characters of a number */
};

enum json_token {
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* text */
    JSON_STRING, /* text */
    JSON_NUMBER, /* number; whole if is_whole */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
    JSON_END, /* of the document */
};

/* Fills `to` with up to `size` bytes: how many, 0 at the end, or a negative
 * METE_E* with its sentence. */
typedef int64_t json_read_fn(void *user, void *to, size_t size);

struct json {
    /* what the last token holds */
    char *text;       /* UTF-8, 0-terminated */
    size_t text_size; /* without the 0 */
    double number;    /* the nearest double; a number past the largest double is refused */
    bool is_whole;    /* written without fraction or exponent, and fits into int64_t */
    int64_t whole;
    /* private from here on */
    char *name;
    json_read_fn *read;
    void *user;
    char *buffer; /* NULL when reading memory */
    const char *at, *end;
    bool at_end;              /* nothing comes after `end` */
    int64_t end_offset;       /* of `end` in the input */
    int64_t line, line_start; /* of `at`; the offset where the line begins */
    int64_t token_line, token_column;
    size_t text_room;
    int depth, state, err;
    uint64_t is_object; /* bit d: the container at depth d */
};

/* `name` is what errors call the input: the path of a file. */
void json_open(struct json *j, const char *name, json_read_fn *read, void *user);
void json_open_memory(struct json *j, const char *name, const void *data,
                      size_t size); /* keeps data */
int json_open_file(struct json *j, const char *path);
void json_close(struct json *j); /* zeroed is fine */

/* The next token.  A failure is final: later calls return it again. */
int json_next(struct json *j, enum json_token *token);

/* What follows must be the beginning of this container. */
int json_enter(struct json *j, enum json_token container);
/* Inside a container: is there another element?  In an object its key is j->text
 * and its value comes next.  If there is none the container is left. */
int json_more(struct json *j, bool *more);
int json_skip(struct json *j);   /* one whole value */
int json_finish(struct json *j); /* only white space is left */

int json_get_string(struct json *j); /* into j->text */
int json_get_real(struct json *j, double *out);
int json_get_int(struct json *j, int64_t min, int64_t max, int64_t *out);
int json_get_bool(struct json *j, bool *out);
/* A whole array of numbers, at most `room`; *n is how many there were. */
int json_get_reals(struct json *j, double *out, size_t room, size_t *n);

/* A failure at the last token: "name:line:column: ..." */
int json_fail(struct json *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
