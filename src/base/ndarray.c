/* ndarray.c - element types, shapes and conversions. */
#include "base/ndarray.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file formats are little endian");

static const struct {
    const char *name;
    size_t size;
} types[DTYPES] = {
    [DTYPE_F64] = {"F64", 8},   [DTYPE_F32] = {"F32", 4}, [DTYPE_F16] = {"F16", 2},
    [DTYPE_BF16] = {"BF16", 2}, [DTYPE_I64] = {"I64", 8}, [DTYPE_I32] = {"I32", 4},
    [DTYPE_I16] = {"I16", 2},   [DTYPE_I8] = {"I8", 1},   [DTYPE_U8] = {"U8", 1},
    [DTYPE_BOOL] = {"BOOL", 1},
};

const char *dtype_name(enum dtype type)
{
    return types[type].name;
}

size_t dtype_size(enum dtype type)
{
    return types[type].size;
}

int dtype_find(const char *name)
{
    for (int i = 0; i < DTYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return i;
    return -1;
}

/* An empty array may not hide an overflow: lengths multiply as if 0 were 1. */
bool shape_count(int rank, const int64_t *shape, int64_t *count)
{
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return false;
        empty |= shape[i] == 0;
        if (shape[i] > 0 && __builtin_mul_overflow(n, shape[i], &n))
            return false;
    }
    *count = empty ? 0 : n;
    return true;
}

bool shape_bytes(enum dtype type, int rank, const int64_t *shape, size_t *bytes)
{
    int64_t count;
    return shape_count(rank, shape, &count) &&
           !__builtin_mul_overflow((size_t)count, types[type].size, bytes);
}

/* Writes at out[used..], cut short where it does not fit; the new length. */
static size_t add(char *out, size_t size, size_t used, const char *text)
{
    if (used < size)
        snprintf(out + used, size - used, "%s", text);
    return used + strlen(text);
}

static void shape_words(int rank, const int64_t *shape, char *out, size_t size)
{
    size_t used = add(out, size, 0, "(");
    for (int i = 0; i < rank; i++) {
        char length[32] = "any";
        if (shape[i] >= 0)
            snprintf(length, sizeof length, "%" PRId64, shape[i]);
        used = add(out, size, used, i ? ", " : "");
        used = add(out, size, used, length);
    }
    add(out, size, used, ")");
}

static void types_words(unsigned dtypes, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < DTYPES; i++)
        if (dtypes & DTYPE_SET(i)) {
            used = add(out, size, used, used ? " or " : "");
            used = add(out, size, used, types[i].name);
        }
}

void ndarray_words(const struct ndarray *a, char *out, size_t size)
{
    char shape[128];
    shape_words(a->rank, a->shape, shape, sizeof shape);
    snprintf(out, size, "%s %s", types[a->dtype].name, shape);
}

int ndarray_check(const struct ndarray *a, const char *name, unsigned dtypes, int rank,
                  const int64_t *shape)
{
    bool same = rank == a->rank && (dtypes & DTYPE_SET(a->dtype));
    for (int i = 0; same && i < rank; i++)
        same = shape[i] < 0 || shape[i] == a->shape[i];
    if (same)
        return 0;
    char type[96], expected[128], got[160];
    types_words(dtypes, type, sizeof type);
    shape_words(rank, shape, expected, sizeof expected);
    ndarray_words(a, got, sizeof got);
    return fail(METE_EFORMAT, "%s: expected %s %s, got %s", name, type, expected, got);
}

int64_t ndarray_count(const struct ndarray *a)
{
    return (int64_t)(a->bytes / types[a->dtype].size);
}

/* IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits. */
static double half_to_double(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    uint64_t bits = (uint64_t)(h >> 15) << 63;
    double value;
    if (exponent == 0) { /* subnormal: fraction * 2^-24 */
        value = fraction * 0x1p-24;
        return h >> 15 ? -value : value;
    }
    uint64_t wide = exponent == 31 ? 2047 : (uint64_t)exponent - 15 + 1023;
    bits |= wide << 52 | (uint64_t)fraction << 42;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* bfloat16: the upper half of a float. */
static double bfloat_to_double(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t int_at(const struct ndarray *a, int64_t i)
{
    const char *p = (const char *)a->data + i * (int64_t)types[a->dtype].size;
    int64_t i64;
    int32_t i32;
    int16_t i16;
    switch (a->dtype) {
    case DTYPE_I64:
        memcpy(&i64, p, sizeof i64);
        return i64;
    case DTYPE_I32:
        memcpy(&i32, p, sizeof i32);
        return i32;
    case DTYPE_I16:
        memcpy(&i16, p, sizeof i16);
        return i16;
    case DTYPE_I8:
        return *(const int8_t *)p;
    default:
        assert(a->dtype == DTYPE_U8 || a->dtype == DTYPE_BOOL);
        return *(const uint8_t *)p;
    }
}

static double real_at(const struct ndarray *a, int64_t i)
{
    const char *p = (const char *)a->data + i * (int64_t)types[a->dtype].size;
    double f64;
    float f32;
    uint16_t u16;
    switch (a->dtype) {
    case DTYPE_F64:
        memcpy(&f64, p, sizeof f64);
        return f64;
    case DTYPE_F32:
        memcpy(&f32, p, sizeof f32);
        return f32;
    case DTYPE_F16:
    case DTYPE_BF16:
        memcpy(&u16, p, sizeof u16);
        return a->dtype == DTYPE_F16 ? half_to_double(u16) : bfloat_to_double(u16);
    default:
        return (double)int_at(a, i);
    }
}

void ndarray_to_float(const struct ndarray *a, float *out)
{
    int64_t n = ndarray_count(a);
    if (a->dtype == DTYPE_F32 && n > 0)
        memcpy(out, a->data, a->bytes);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = (float)real_at(a, i);
}

void ndarray_to_double(const struct ndarray *a, double *out)
{
    int64_t n = ndarray_count(a);
    for (int64_t i = 0; i < n; i++)
        out[i] = real_at(a, i);
}

void ndarray_to_int64(const struct ndarray *a, int64_t *out)
{
    int64_t n = ndarray_count(a);
    for (int64_t i = 0; i < n; i++)
        out[i] = int_at(a, i);
}
