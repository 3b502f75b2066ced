/* test_json.c - reading and writing JSON. */
#include "test.h"
#include "base/error.h"
#include "base/json.h"
#include "base/jsonw.h"
#include "base/memory.h"
#include "base/number.h"

#include <limits.h>
#include <locale.h>
#include <time.h>

/* Hands out a text `step` bytes at a time. */
struct drip {
    const char *text;
    size_t size, at, step;
};

static int64_t drip_read(void *user, void *to, size_t size)
{
    struct drip *d = user;
    size_t n = d->size - d->at;
    n = n < d->step ? n : d->step;
    n = n < size ? n : size;
    memcpy(to, d->text + d->at, n);
    d->at += n;
    return (int64_t)n;
}

/* All tokens as one line of text, such as "{ x: 1 [ ] }", or the error. */
static void trace(struct json *j, char *out, size_t size)
{
    static const char *const signs[] = {"{", "}", "[", "]", "", "", "", "true", "false", "null"};
    enum json_token token;
    size_t used = 0;
    out[0] = '\0';
    for (;;) {
        if (json_next(j, &token)) {
            snprintf(out, size, "%s", mete_errmsg());
            return;
        }
        if (token == JSON_END)
            return;
        char number[NUMBER_TEXT];
        const char *space = used ? " " : "";
        size_t room = size - used;
        if (token == JSON_KEY || token == JSON_STRING)
            used += (size_t)snprintf(out + used, room, "%s%s%s", space, j->text,
                                     token == JSON_KEY ? ":" : "");
        else if (token == JSON_NUMBER)
            number_print(j->number, number),
                used += (size_t)snprintf(out + used, room, "%s%s", space, number);
        else
            used += (size_t)snprintf(out + used, room, "%s%s", space, signs[token]);
        used = used < size - 1 ? used : size - 1;
    }
}

/* Reads `text` from memory and in pieces of 1 and 7 bytes; all must agree. */
static const char *tokens(const char *text, size_t size)
{
    static char all[3][4096];
    struct json j;
    json_open_memory(&j, "t", text, size);
    trace(&j, all[0], sizeof all[0]);
    json_close(&j);
    for (int i = 1; i < 3; i++) {
        struct drip d = {text, size, 0, i == 1 ? 1 : 7};
        json_open(&j, "t", drip_read, &d);
        trace(&j, all[i], sizeof all[i]);
        json_close(&j);
        if (strcmp(all[0], all[i]) != 0)
            return "memory and stream differ";
    }
    return all[0];
}

static const char *tokens_of(const char *text)
{
    return tokens(text, strlen(text));
}

TEST(every_kind_of_value_is_read)
{
    CHECK_STR(tokens_of("{\"a\": [1, -2.5, 3e2, true, false, null, \"x\"], \"b\":{}, \"c\":[]}"),
              "{ a: [ 1 -2.5 300 true false null x ] b: { } c: [ ] }");
    CHECK_STR(tokens_of(" 7 "), "7");
    CHECK_STR(tokens_of("\t\r\n[ ]\n"), "[ ]");
    CHECK_STR(tokens_of("\"\""), "");
}

TEST(strings_are_decoded_to_utf8)
{
    CHECK_STR(tokens_of("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t");
    CHECK_STR(tokens_of("\"\\u0041\\u00e9\\u20AC\\ud834\\udd1e\""),
              "A\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e");
    CHECK_STR(tokens_of("\"\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e\""),
              "\xc3\xa9 \xe2\x82\xac \xf0\x9d\x84\x9e");
}

TEST(what_is_not_json_is_refused_at_its_place)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "t:1:1: the text ends where a value should be"},
        {"[1,]", "t:1:4: expected a value, got ']'"},
        {"[1 2]", "t:1:4: expected ',' or ']', got '2'"},
        {"[1}", "t:1:3: expected ',' or ']', got '}'"},
        {"{\"a\":1]", "t:1:7: expected ',' or '}', got ']'"},
        {"{\"a\" 1}", "t:1:6: expected ':' after the key, got '1'"},
        {"{\"a\":1,}", "t:1:8: expected a key in quotes, got '}'"},
        {"{a:1}", "t:1:2: expected a key in quotes, got 'a'"},
        {"{,}", "t:1:2: expected a key in quotes, got ','"},
        {"[,]", "t:1:2: expected a value, got ','"},
        {"[\n\n  tru]", "t:3:3: expected a value, got a word"},
        {"1 1", "t:1:3: expected the end of the text, got '1'"},
        {"[1", "t:1:3: the text ends where ',' or ']' should be"},
        {"\xef\xbb\xbf[]", "t:1:1: expected a value, got the byte 0xef"},
        {"[01]", "t:1:2: not a number"},
        {"[-]", "t:1:2: not a number"},
        {"[1.]", "t:1:2: not a number"},
        {"[.5]", "t:1:2: expected a value, got '.'"},
        {"[1e]", "t:1:2: not a number"},
        {"[1e+]", "t:1:2: not a number"},
        {"[+1]", "t:1:2: expected a value, got '+'"},
        {"[NaN]", "t:1:2: expected a value, got 'N'"},
        {"[1e999]", "t:1:2: a number too large"},
        {"\"a", "t:1:3: the text ends inside a string"},
        {"\"a\\", "the text ends inside a string"},
        {"\"\\x\"", "t:1:2: an escape that JSON does not know"},
        {"\"\\u12g4\"", "t:1:2: \\u needs four hexadecimal digits"},
        {"\"\\u0000\"", "t:1:2: \\u0000 in a string"},
        {"\"\\ud834x\"", "a high surrogate without"},
        {"\"\\ud834\\u0041\"", "a high surrogate without"},
        {"\"\\udd1e\"", "t:1:2: a low surrogate without"},
        {"\"a\nb\"", "t:1:3: a control character"},
        {"\"\xff\"", "t:1:2: a string that is not UTF-8"},
        {"\"\xc0\x80\"", "not UTF-8"},     /* overlong */
        {"\"\xed\xa0\x80\"", "not UTF-8"}, /* a surrogate */
        {"\"\xf4\x90\x80\x80\"", "not UTF-8"},
        {"\"\xe2\x82\"", "not UTF-8"},
        {"// no\n1", "t:1:1: expected a value, got '/'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_HAS(tokens_of(cases[i].text), cases[i].says);
    CHECK_HAS(tokens("[\0]", 3), "t:1:2: expected a value, got the byte 0x00");
    CHECK_HAS(tokens("\"a\0b\"", 5), "t:1:3: a control character");
}

TEST(depth_string_and_number_sizes_are_limited)
{
    char deep[2 * JSON_DEPTH_MAX + 3];
    memset(deep, '[', JSON_DEPTH_MAX);
    memset(deep + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    deep[2 * JSON_DEPTH_MAX] = '\0';
    CHECK_HAS(tokens_of(deep), "[ [ [");
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    CHECK_HAS(tokens_of(deep), "t:1:65: nested deeper than 64 levels");

    char *big = mem_alloc(JSON_STRING_MAX + 3);
    memset(big, 'a', JSON_STRING_MAX + 2);
    big[0] = big[JSON_STRING_MAX] = '"'; /* JSON_STRING_MAX - 1 characters */
    struct json j;
    json_open_memory(&j, "t", big, JSON_STRING_MAX + 1);
    CHECK_OK(json_get_string(&j));
    CHECK_EQ(j.text_size, JSON_STRING_MAX - 1);
    json_close(&j);
    big[JSON_STRING_MAX] = 'a', big[JSON_STRING_MAX + 1] = '"';
    json_open_memory(&j, "t", big, JSON_STRING_MAX + 2);
    CHECK_EQ(json_get_string(&j), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "a string longer than");
    json_close(&j);
    memset(big, '1', JSON_NUMBER_MAX + 1);
    json_open_memory(&j, "t", big, JSON_NUMBER_MAX + 1);
    CHECK_EQ(json_get_real(&j, &(double){0}), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "a number of more than 1024 characters");
    json_close(&j);
    free(big);
}

/* strtod is the specification of reading a number. */
TEST(numbers_are_the_nearest_doubles)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "0.0",
        "1",
        "0.1",
        "0.996078431372549",
        "0.9960784313725490",
        "123456789012345678",
        "9007199254740993",
        "9007199254740992",
        "1e22",
        "1e23",
        "1.7976931348623157e308",
        "5e-324",
        "2.2250738585072011e-308",
        "1e-400",
        "0.000001",
        "1.5e-7",
        "179769313486231570793e288",
        "9223372036854775807",
        "18446744073709551615",
        "100000000000000000000000000000000000001",
        "3.14159265358979323846264338327950288419716939937510",
        "1e-22",
        "8.5e+15",
        "0.0000000000000000000000000000000000000000000001",
        "2.5e-5",
        "4503599627370497.5",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct json j;
        double got = -1;
        json_open_memory(&j, "t", texts[i], strlen(texts[i]));
        CHECK_OK(json_get_real(&j, &got));
        double expected = strtod(texts[i], NULL);
        if (memcmp(&got, &expected, sizeof got) != 0)
            FAIL_TEST("%s is read as %.17g", texts[i], got);
        CHECK_OK(json_finish(&j));
        json_close(&j);
    }
}

TEST(whole_numbers_are_exact_and_checked)
{
    const char *text = "[9223372036854775807, -9223372036854775808, 9223372036854775808, 1.0, 12]";
    struct json j;
    int64_t n = 0;
    json_open_memory(&j, "t", text, strlen(text));
    CHECK_OK(json_enter(&j, JSON_ARRAY));
    CHECK_OK(json_get_int(&j, INT64_MIN, INT64_MAX, &n));
    CHECK(n == INT64_MAX);
    CHECK_OK(json_get_int(&j, INT64_MIN, INT64_MAX, &n));
    CHECK(n == INT64_MIN);
    enum json_token token;
    CHECK_OK(json_next(&j, &token));
    CHECK(token == JSON_NUMBER && !j.is_whole && j.number == 0x1p63);
    CHECK_OK(json_next(&j, &token));
    CHECK(token == JSON_NUMBER && !j.is_whole);
    CHECK_EQ(json_get_int(&j, 0, 11, &n), METE_EFORMAT);
    CHECK_STR(mete_errmsg(), "t:1:71: expected a whole number 0..11");
    json_close(&j);
}

TEST(a_failure_is_final)
{
    struct json j;
    enum json_token token;
    json_open_memory(&j, "t", "[x, 1]", 6);
    CHECK_OK(json_next(&j, &token));
    CHECK_EQ(json_next(&j, &token), METE_EFORMAT);
    CHECK_EQ(json_next(&j, &token), METE_EFORMAT);
    CHECK_EQ(json_skip(&j), METE_EFORMAT);
    json_close(&j);
}

TEST(an_object_is_walked_and_unknown_members_are_skipped)
{
    const char *text = "{\"junk\": {\"a\": [1, {\"b\": []}]}, \"name\": \"glyphs\", \"more\": 3,\n"
                       " \"x\": [1, 2.5], \"ok\": true}";
    struct json j;
    bool more, ok = false;
    char name[16] = "";
    double x[4];
    size_t n = 0;
    json_open_memory(&j, "t", text, strlen(text));
    CHECK_OK(json_enter(&j, JSON_OBJECT));
    for (;;) {
        CHECK_OK(json_more(&j, &more));
        if (!more)
            break;
        if (strcmp(j.text, "name") == 0) {
            CHECK_OK(json_get_string(&j));
            snprintf(name, sizeof name, "%s", j.text);
        } else if (strcmp(j.text, "x") == 0) {
            CHECK_OK(json_get_reals(&j, x, 4, &n));
        } else if (strcmp(j.text, "ok") == 0) {
            CHECK_OK(json_get_bool(&j, &ok));
        } else {
            CHECK_OK(json_skip(&j));
        }
    }
    CHECK_OK(json_finish(&j));
    CHECK_STR(name, "glyphs");
    CHECK(ok && n == 2 && x[0] == 1 && x[1] == 2.5);
    json_close(&j);
}

TEST(a_value_of_another_kind_is_named)
{
    struct json j;
    double x[2];
    size_t n;
    json_open_memory(&j, "t", "[\"a\"]", 5);
    CHECK_EQ(json_enter(&j, JSON_OBJECT), METE_EFORMAT);
    CHECK_STR(mete_errmsg(), "t:1:1: expected an object, got an array");
    json_close(&j);
    json_open_memory(&j, "t", "[1,2,3]", 7);
    CHECK_EQ(json_get_reals(&j, x, 2, &n), METE_EFORMAT);
    CHECK_STR(mete_errmsg(), "t:1:6: more than 2 numbers in the array");
    json_close(&j);
    json_open_memory(&j, "t", "[1,\"2\"]", 7);
    CHECK_EQ(json_get_reals(&j, x, 2, &n), METE_EFORMAT);
    CHECK_STR(mete_errmsg(), "t:1:4: expected a number, got a string");
    json_close(&j);
}

static int64_t broken_read(void *user, void *to, size_t size)
{
    (void)user, (void)to, (void)size;
    return fail(METE_EIO, "the tape tore");
}

TEST(a_failing_source_is_named)
{
    struct json j;
    enum json_token token;
    json_open(&j, "users.json", broken_read, NULL);
    CHECK_EQ(json_next(&j, &token), METE_EIO);
    CHECK_STR(mete_errmsg(), "users.json: the tape tore");
    json_close(&j);
    CHECK_EQ(json_open_file(&j, "no/such.json"), METE_EIO);
    CHECK_STR(mete_errmsg(), "cannot read no/such.json: No such file or directory");
}

/* LEAF files are gigabytes of such rows.  260 MB/s of processor time were measured
 * when this was written; the bar leaves room for a busy machine. */
TEST(number_arrays_are_read_fast)
{
    enum { ROWS = 2000, COLS = 784 };
    size_t size = 0, room = (size_t)ROWS * COLS * 24 + 64;
    char *text = mem_alloc(room);
    double x[COLS];
    text[size++] = '[';
    for (int r = 0; r < ROWS; r++) {
        size += (size_t)snprintf(text + size, room - size, r ? ", [" : "[");
        for (int c = 0; c < COLS; c++)
            size += (size_t)snprintf(text + size, room - size, "%s%s", c ? ", " : "",
                                     (r * 7 + c) % 5 ? "1.0" : "0.9921568627450981");
        text[size++] = ']';
    }
    text[size++] = ']';
    struct drip d = {text, size, 0, SIZE_MAX};
    struct json j;
    size_t n = 0;
    clock_t start = clock();
    json_open(&j, "t", drip_read, &d);
    CHECK_OK(json_enter(&j, JSON_ARRAY));
    for (int r = 0; r < ROWS; r++) {
        CHECK_OK(json_get_reals(&j, x, COLS, &n));
        CHECK_EQ(n, COLS);
    }
    bool more = true;
    CHECK_OK(json_more(&j, &more));
    CHECK(!more);
    json_close(&j);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    free(text);
#ifdef __OPTIMIZE__
    CHECK((double)size / seconds > 50e6);
#else
    (void)seconds;
#endif
}

TEST(what_is_written_reads_back)
{
    struct jsonw w = {.lines = 1};
    jsonw_object(&w, NULL);
    jsonw_string(&w, "na\"me", "caf\xc3\xa9 \"q\" \\ \n \x01 \x7f end\xff");
    jsonw_int(&w, "least", INT64_MIN);
    jsonw_real(&w, "third", 1.0 / 3);
    jsonw_real(&w, "nan", NAN);
    jsonw_float(&w, "tenth", 0.1f);
    jsonw_array(&w, "list");
    jsonw_bool(&w, NULL, true);
    jsonw_null(&w, NULL);
    jsonw_object(&w, NULL);
    jsonw_close(&w);
    jsonw_raw(&w, NULL, "[1,2]");
    jsonw_close(&w);
    jsonw_close(&w);
    CHECK_STR(
        w.text,
        "{\n  \"na\\\"me\": \"caf\xc3\xa9 \\\"q\\\" \\\\ \\n \\u0001 \\u007f end\xef\xbf\xbd\",\n"
        "  \"least\": -9223372036854775808,\n"
        "  \"third\": 0.3333333333333333,\n"
        "  \"nan\": null,\n"
        "  \"tenth\": 0.1,\n"
        "  \"list\": [true, null, {}, [1,2]]\n}\n");
    CHECK_HAS(tokens(w.text, w.size),
              "{ na\"me: caf\xc3\xa9 \"q\" \\ \n \x01 \x7f end\xef\xbf\xbd");
    jsonw_release(&w);
}

TEST(doubles_survive_the_round_trip_in_any_locale)
{
    /* where the comma is the decimal point, if this machine has such a locale */
    setlocale(LC_ALL, "de_DE.UTF-8");
    uint64_t bits = 88172645463325252;
    for (int i = 0; i < 20000; i++) {
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17; /* xorshift64 */
        double value, back = 0;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        struct jsonw w = {0};
        struct json j;
        jsonw_real(&w, NULL, value);
        json_open_memory(&j, "t", w.text, w.size);
        CHECK_OK(json_get_real(&j, &back));
        CHECK(memcmp(&back, &value, sizeof value) == 0);
        json_close(&j);
        jsonw_release(&w);
    }
    setlocale(LC_ALL, "C");
}

TESTS(T(every_kind_of_value_is_read), T(strings_are_decoded_to_utf8),
      T(what_is_not_json_is_refused_at_its_place), T(depth_string_and_number_sizes_are_limited),
      T(numbers_are_the_nearest_doubles), T(whole_numbers_are_exact_and_checked),
      T(a_failure_is_final), T(an_object_is_walked_and_unknown_members_are_skipped),
      T(a_value_of_another_kind_is_named), T(a_failing_source_is_named),
      T(number_arrays_are_read_fast), T(what_is_written_reads_back),
      T(doubles_survive_the_round_trip_in_any_locale))
