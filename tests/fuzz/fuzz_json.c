/* fuzz_json.c - any text: it reads the same from memory and in small pieces, and
 * what was accepted is read back the same after writing it out. */
#include "fuzz.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

struct pieces {
    const uint8_t *data;
    size_t left, step;
};

static int64_t read_piece(void *user, void *to, size_t size)
{
    struct pieces *p = user;
    size_t n = p->left < p->step ? p->left : p->step;
    n = n < size ? n : size;
    memcpy(to, p->data, n);
    p->data += n;
    p->left -= n;
    return (int64_t)n;
}

/* Copies the document to `w`; the error, or 0. */
static int copy(struct json *j, struct jsonw *w)
{
    enum json_token token;
    char *key = NULL;
    int err;
    while (!(err = json_next(j, &token)) && token != JSON_END) {
        switch (token) {
        case JSON_OBJECT:
            jsonw_object(w, key);
            break;
        case JSON_ARRAY:
            jsonw_array(w, key);
            break;
        case JSON_OBJECT_END:
        case JSON_ARRAY_END:
            jsonw_close(w);
            break;
        case JSON_STRING:
            HOLDS(strlen(j->text) == j->text_size);
            jsonw_string(w, key, j->text);
            break;
        case JSON_NUMBER:
            if (j->is_whole && (j->whole || !signbit(j->number))) /* -0 stays a double */
                jsonw_int(w, key, j->whole);
            else
                jsonw_real(w, key, j->number);
            break;
        case JSON_NULL:
            jsonw_null(w, key);
            break;
        default:
            if (token != JSON_KEY)
                jsonw_bool(w, key, token == JSON_TRUE);
        }
        free(key);
        key = token == JSON_KEY ? mem_string(j->text) : NULL;
    }
    free(key);
    return err;
}

static int skip_all(struct json *j)
{
    int err = json_skip(j);
    return err ? err : json_finish(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jsonw whole = {0}, pieced = {0}, again = {.lines = 2};
    struct json j;
    json_open_memory(&j, "memory", data, size);
    int err = copy(&j, &whole);
    json_close(&j);

    struct pieces p = {data, size, 1 + size % 7};
    json_open(&j, "pieces", read_piece, &p);
    HOLDS(copy(&j, &pieced) == err);
    json_close(&j);
    HOLDS(whole.size == pieced.size && (whole.size == 0 || strcmp(whole.text, pieced.text) == 0));

    json_open_memory(&j, "skipped", data, size);
    HOLDS(skip_all(&j) == err);
    json_close(&j);
    if (!err) {
        json_open_memory(&j, "written", whole.text, whole.size);
        HOLDS(copy(&j, &again) == 0);
        json_close(&j);
        struct jsonw third = {0};
        json_open_memory(&j, "again", again.text, again.size);
        HOLDS(copy(&j, &third) == 0);
        json_close(&j);
        HOLDS(third.size == whole.size && strcmp(third.text, whole.text) == 0);
        jsonw_release(&third);
    }
    jsonw_release(&whole);
    jsonw_release(&pieced);
    jsonw_release(&again);
    return 0;
}
