/* json_get.c - reading the value that is expected, and saying what came instead. */
#include "base/json.h"

static const char *token_words(enum json_token token)
{
    static const char *const words[] = {"an object",
                                        "the end of an object",
                                        "an array",
                                        "the end of an array",
                                        "a key",
                                        "a string",
                                        "a number",
                                        "true",
                                        "false",
                                        "null",
                                        "the end of the text"};
    return words[token];
}

static int get(struct json *j, enum json_token expected)
{
    enum json_token token;
    int err = json_next(j, &token);
    if (err)
        return err;
    return token == expected
               ? 0
               : json_fail(j, "expected %s, got %s", token_words(expected), token_words(token));
}

int json_enter(struct json *j, enum json_token container)
{
    return get(j, container);
}

int json_get_string(struct json *j)
{
    return get(j, JSON_STRING);
}

int json_get_real(struct json *j, double *out)
{
    int err = get(j, JSON_NUMBER);
    if (!err)
        *out = j->number;
    return err;
}

int json_get_int(struct json *j, int64_t min, int64_t max, int64_t *out)
{
    int err = get(j, JSON_NUMBER);
    if (err)
        return err;
    if (!j->is_whole || j->whole < min || j->whole > max)
        return json_fail(j, "expected a whole number %lld..%lld", (long long)min, (long long)max);
    *out = j->whole;
    return 0;
}

int json_get_bool(struct json *j, bool *out)
{
    enum json_token token;
    int err = json_next(j, &token);
    if (err)
        return err;
    if (token != JSON_TRUE && token != JSON_FALSE)
        return json_fail(j, "expected true or false, got %s", token_words(token));
    *out = token == JSON_TRUE;
    return 0;
}

int json_get_reals(struct json *j, double *out, size_t room, size_t *n)
{
    enum json_token token;
    size_t count = 0;
    int err = get(j, JSON_ARRAY);
    if (err)
        return err;
    while (!(err = json_next(j, &token)) && token == JSON_NUMBER) {
        if (count == room)
            return json_fail(j, "more than %zu numbers in the array", room);
        out[count++] = j->number;
    }
    if (err)
        return err;
    if (token != JSON_ARRAY_END)
        return json_fail(j, "expected a number, got %s", token_words(token));
    *n = count;
    return 0;
}

int json_skip(struct json *j)
{
    enum json_token token;
    int depth = j->depth;
    do {
        int err = json_next(j, &token);
        if (err)
            return err;
    } while (j->depth > depth || token == JSON_KEY);
    if (token == JSON_OBJECT_END || token == JSON_ARRAY_END)
        return j->depth == depth ? 0 : json_fail(j, "expected a value, got %s", token_words(token));
    return token == JSON_END ? json_fail(j, "expected a value, got the end of the text") : 0;
}

int json_finish(struct json *j)
{
    return get(j, JSON_END);
}
