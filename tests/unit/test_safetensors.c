/* test_safetensors.c - reading what is right, refusing what is not, writing the same bytes. */
#include "test.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/safetensors.h"

#include <unistd.h>

/* A name that no other test running now has. */
static const char *temporary(void)
{
    static char name[TEMP_SIZE];
    char own[64];
    snprintf(own, sizeof own, "mete-test-%ld.st", (long)getpid());
    return temp_name(name, own);
}

/* A file in memory: the header's length, the header, `data` zero bytes. */
static char *make(const char *header, size_t data, size_t *size)
{
    uint64_t length = strlen(header);
    char *file = mem_alloc(8 + length + data);
    memcpy(file, &length, 8);
    memcpy(file + 8, header, length);
    *size = 8 + length + data;
    return file;
}

/* The error of such a file, or "" if it is read. */
static const char *error_of(const char *header, size_t data)
{
    static char sentence[1024];
    size_t size;
    char *file = make(header, data, &size);
    struct safetensors *s = NULL;
    int err = safetensors_open_memory(&s, "f", file, size);
    snprintf(sentence, sizeof sentence, "%s", err ? mete_errmsg() : "");
    if (err && (err != METE_EFORMAT || s))
        snprintf(sentence, sizeof sentence, "wrong code or an output on failure");
    safetensors_close(s);
    free(file);
    return sentence;
}

#define F32_2 "\"dtype\":\"F32\",\"shape\":[2]"

TEST(well_formed_files_are_read)
{
    CHECK_STR(error_of("{}", 0), "");
    CHECK_STR(error_of("{}      ", 0), "");
    CHECK_STR(error_of("{\"__metadata__\":{\"a\":\"b\"}}", 0), "");
    CHECK_STR(error_of("{\"a\":{" F32_2 ",\"data_offsets\":[0,8]}}", 8), "");
    CHECK_STR(error_of("{\"a\":{\"data_offsets\":[8,16]," F32_2 "},\"b\":{" F32_2
                       ",\"data_offsets\":[0,8]}}",
                       16),
              "");
    CHECK_STR(error_of("{\"s\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[0,8]}}", 8), "");
    /* empty tensors take no room, wherever they stand */
    CHECK_STR(error_of("{\"a\":{" F32_2 ",\"data_offsets\":[0,8]},"
                       "\"e\":{\"dtype\":\"U8\",\"shape\":[3,0],\"data_offsets\":[8,8]},"
                       "\"f\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}",
                       8),
              "");
}

TEST(every_kind_of_damage_is_refused_by_name)
{
    static const struct {
        const char *header;
        size_t data;
        const char *says;
    } cases[] = {
        {"", 0, "f: not a safetensors file: the header does not begin with '{'"},
        {" {}", 0, "does not begin with '{'"},
        {"[]", 0, "does not begin with '{'"},
        {"{", 0, "f: header:1:2: the text ends"},
        {"{}x", 0, "f: header:1:3: expected the end of the text"},
        {"{}", 1, "f: data follows a header without tensors"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8]}}", 9, "f: 1 bytes follow the last tensor"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8]}}", 7,
         "f: a: the data_offsets [0, 8] pass the end of the data, 7 bytes; is the file complete?"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,4]}}", 8,
         "f: a: F32 (2) needs 8 bytes, its data_offsets [0, 4] hold 4"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[8,0]}}", 8, "begin <= end"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0]}}", 8,
         "expected a number, got the end of an array"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8,9]}}", 8, "data_offsets must be [begin, end]"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[-8,0]}}", 8, "expected a whole number 0.."},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8]},\"b\":{" F32_2 ",\"data_offsets\":[4,12]}}", 12,
         "f: b: its data overlaps the tensor before it (at 4, expected 8)"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8]},\"b\":{" F32_2 ",\"data_offsets\":[12,20]}}",
         20, "f: b: its data leaves a hole after the tensor before it (at 12, expected 8)"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[4,12]}}", 12, "leaves a hole"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8]},\"a\":{" F32_2 ",\"data_offsets\":[8,16]}}", 16,
         "f: two tensors are named 'a'"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8]},\"\\u0061\":{" F32_2
         ",\"data_offsets\":[8,16]}}",
         16, "f: two tensors are named 'a'"},
        {"{\"a\":{\"dtype\":\"F33\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "the dtype 'F33' is not one of F64"},
        {"{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "expected a string, got a number"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-2],\"data_offsets\":[0,8]}}", 8,
         "expected a whole number 0.."},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2.0],\"data_offsets\":[0,8]}}", 8,
         "expected a whole number 0.."},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,2],\"data_offsets\":[0,8]}}", 8,
         "a shape of more than 8 dimensions"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
         "f: a: the shape F32 (4294967296, 4294967296) overflows"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296,0],\"data_offsets\":[0,0]}}",
         0, "overflows"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693953],\"data_offsets\":[0,8]}}", 8,
         "overflows"},
        {"{\"a\":{" F32_2 "}}", 8, "'a' needs dtype, shape and data_offsets"},
        {"{\"a\":{" F32_2 ",\"shape\":[2],\"data_offsets\":[0,8]}}", 8,
         "a second 'shape' in the entry of 'a'"},
        {"{\"a\":{" F32_2 ",\"data_offsets\":[0,8],\"x\":1}}", 8,
         "an unknown key 'x' in the entry of 'a'"},
        {"{\"a\":1}", 0, "f: header:1:6: expected an object, got a number"},
        {"{\"__metadata__\":{\"a\":1}}", 0, "expected a string, got a number"},
        {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, "__metadata__ has the key 'a' twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "__metadata__ is there twice"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_HAS(error_of(cases[i].header, cases[i].data), cases[i].says);
}

TEST(a_header_length_past_the_file_or_the_limit_is_refused)
{
    struct safetensors *s = NULL;
    char file[16] = {0};
    CHECK_EQ(safetensors_open_memory(&s, "f", file, 7), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "f: 7 bytes are too few");
    uint64_t lengths[] = {9, 100000001, UINT64_MAX, (uint64_t)1 << 63, UINT64_MAX - 7};
    for (int i = 0; i < 5; i++) {
        memcpy(file, &lengths[i], 8);
        CHECK_EQ(safetensors_open_memory(&s, "f", file, 16), METE_EFORMAT);
        CHECK_HAS(mete_errmsg(), "it announces a header of ");
    }
    CHECK(s == NULL);
}

TEST(no_prefix_of_a_file_is_a_file)
{
    size_t size;
    char *file = make("{\"a\":{" F32_2 ",\"data_offsets\":[0,8]}}", 8, &size);
    struct safetensors *s = NULL;
    for (size_t n = 0; n < size; n++) {
        char *part = malloc(n ? n : 1); /* exactly this long, so that a sanitizer sees past it */
        memcpy(part, file, n);
        CHECK_EQ(safetensors_open_memory(&s, "f", part, n), METE_EFORMAT);
        free(part);
    }
    free(file);
}

static const float weights[6] = {1, -2, 3.5f, 0, 1e-30f, 7};
static const int64_t labels[3] = {0, -1, INT64_MAX};
static const uint8_t pixel[1] = {200};
static const struct safetensor three[] = {
    {"pixel", {.dtype = DTYPE_U8, .rank = 0, .data = pixel}},
    {"conv0.weight", {.dtype = DTYPE_F32, .rank = 2, .shape = {2, 3}, .data = weights}},
    {"caf\xc3\xa9 \"y\"", {.dtype = DTYPE_I64, .rank = 1, .shape = {3}, .data = labels}},
};
static const struct safetensors_pair notes[] = {{"method", "maml"}, {"ask", "a\nb"}};

static int open_three(struct safetensors **s, const char *path)
{
    int err = safetensors_write(path, three, 3, notes, 2);
    return err ? err : safetensors_open(s, path);
}

TEST(what_is_written_reads_back)
{
    const char *path = temporary();
    struct safetensors *s = NULL;
    CHECK_OK(open_three(&s, path));
    CHECK_EQ(safetensors_count(s), 3);
    CHECK_STR(safetensors_at(s, 2)->name, "pixel");
    CHECK_STR(safetensors_meta(s, "method"), "maml");
    CHECK_STR(safetensors_meta(s, "ask"), "a\nb");
    CHECK(safetensors_meta(s, "none") == NULL);
    const struct ndarray *a = NULL;
    float f[6];
    int64_t y[3];
    CHECK_OK(safetensors_get(s, "conv0.weight", DTYPES_REAL, 2, (int64_t[]){-1, 3}, &a));
    ndarray_to_float(a, f);
    CHECK(memcmp(f, weights, sizeof f) == 0 && (uintptr_t)a->data % 4 == 0);
    CHECK_OK(safetensors_get(s, three[2].name, DTYPE_SET(DTYPE_I64), 1, (int64_t[]){3}, &a));
    ndarray_to_int64(a, y);
    CHECK(memcmp(y, labels, sizeof y) == 0);
    CHECK_OK(safetensors_get(s, "pixel", DTYPE_SET(DTYPE_U8), 0, NULL, &a));
    ndarray_to_float(a, f);
    CHECK(f[0] == 200);
    safetensors_close(s);
    unlink(path);
}

TEST(a_tensor_that_is_not_as_expected_is_named)
{
    const char *path = temporary();
    struct safetensors *s = NULL;
    const struct ndarray *a = NULL;
    CHECK_OK(open_three(&s, path));
    CHECK_EQ(safetensors_get(s, "conv1.weight", DTYPES_REAL, 0, NULL, &a), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), ".st: there is no tensor 'conv1.weight'");
    CHECK_EQ(safetensors_get(s, "conv0.weight", DTYPES_REAL, 3, (int64_t[]){2, -1, 1}, &a),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), ".st: conv0.weight: expected F64 or F32 "
                             "(2, any, 1), got F32 (2, 3)");
    CHECK_EQ(safetensors_get(s, "conv0.weight", DTYPE_SET(DTYPE_I64), 2, (int64_t[]){2, 3}, &a),
             METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "expected I64 (2, 3), got F32 (2, 3)");
    CHECK(a == NULL);
    safetensors_close(s);
    unlink(path);
}

TEST(the_bytes_do_not_depend_on_the_order_given)
{
    const char *path = temporary();
    const struct safetensor other[] = {three[2], three[0], three[1]};
    const struct safetensors_pair pairs[] = {notes[1], notes[0]};
    char *a = NULL, *b = NULL;
    size_t n = 0, m = 0;
    CHECK_OK(safetensors_write(path, three, 3, notes, 2));
    CHECK_OK(file_read(path, 10000, &a, &n));
    CHECK_OK(safetensors_write(path, other, 3, pairs, 2));
    CHECK_OK(file_read(path, 10000, &b, &m));
    CHECK(n == m && memcmp(a, b, n) == 0);
    uint64_t length;
    memcpy(&length, a, 8);
    CHECK_EQ(length % 8, 0);
    free(a);
    free(b);
    unlink(path);
}

TEST(what_cannot_be_written_is_refused)
{
    const char *path = temporary();
    struct safetensor twins[] = {three[0], three[1]};
    twins[0].name = "conv0.weight";
    CHECK_EQ(safetensors_write(path, twins, 2, NULL, 0), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "two tensors are named 'conv0.weight'");
    twins[0].name = "__metadata__";
    CHECK_EQ(safetensors_write(path, twins, 1, NULL, 0), METE_EINVAL);
    twins[0].name = "\xff";
    CHECK_EQ(safetensors_write(path, twins, 1, NULL, 0), METE_EINVAL);
    twins[1].array.shape[0] = -1;
    CHECK_EQ(safetensors_write(path, twins + 1, 1, NULL, 0), METE_EINVAL);
    const struct safetensors_pair same[] = {notes[0], notes[0]};
    CHECK_EQ(safetensors_write(path, three, 3, same, 2), METE_EINVAL);
    CHECK(access(path, F_OK) != 0);
    CHECK_OK(safetensors_write(path, NULL, 0, NULL, 0));
    unlink(path);
}

/* Exact values of the 16-bit types, from their definitions. */
TEST(sixteen_bit_reals_are_converted_exactly)
{
    static const uint16_t half[] = {0x0000, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x0001,
                                    0x03ff, 0x0400, 0x7c00, 0xfc00, 0x3555};
    static const double expected[] = {0,         -0.0,    1,        -2,        65504,     0x1p-24,
                                      0x3ffp-24, 0x1p-14, INFINITY, -INFINITY, 0x1.554p-2};
    enum { N = sizeof half / sizeof *half };
    double out[N];
    char odd[2 * N + 1]; /* at an odd address */
    memcpy(odd + 1, half, 2 * N);
    struct ndarray a = {
        .dtype = DTYPE_F16, .rank = 1, .shape = {N}, .data = odd + 1, .bytes = 2 * N};
    ndarray_to_double(&a, out);
    for (int i = 0; i < N; i++)
        CHECK(memcmp(&out[i], &expected[i], sizeof *out) == 0);
    static const uint16_t brain[] = {0x3f80, 0xc000, 0x7f80, 0x0001};
    a = (struct ndarray){.dtype = DTYPE_BF16, .rank = 1, .shape = {4}, .data = brain, .bytes = 8};
    ndarray_to_double(&a, out);
    CHECK(out[0] == 1 && out[1] == -2 && out[2] == INFINITY && out[3] == 0x1p-133);
    static const int16_t s16[] = {-32768, 5};
    static const int8_t s8[] = {-128, 127};
    a = (struct ndarray){.dtype = DTYPE_I16, .rank = 1, .shape = {2}, .data = s16, .bytes = 4};
    ndarray_to_double(&a, out);
    CHECK(out[0] == -32768 && out[1] == 5);
    a = (struct ndarray){.dtype = DTYPE_I8, .rank = 1, .shape = {2}, .data = s8, .bytes = 2};
    ndarray_to_double(&a, out);
    CHECK(out[0] == -128 && out[1] == 127);
}

TESTS(T(well_formed_files_are_read), T(every_kind_of_damage_is_refused_by_name),
      T(a_header_length_past_the_file_or_the_limit_is_refused), T(no_prefix_of_a_file_is_a_file),
      T(what_is_written_reads_back), T(a_tensor_that_is_not_as_expected_is_named),
      T(the_bytes_do_not_depend_on_the_order_given), T(what_cannot_be_written_is_refused),
      T(sixteen_bit_reals_are_converted_exactly))
