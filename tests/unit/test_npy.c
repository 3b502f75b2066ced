/* test_npy.c - NumPy's array files. */
#include "test.h"
#include "base/error.h"
#include "base/file.h"
#include "base/npy.h"

#include <unistd.h>

/* A name that no other test running now has. */
static const char *temporary(void)
{
    static char name[TEMP_SIZE];
    char own[64];
    snprintf(own, sizeof own, "mete-test-%ld.npy", (long)getpid());
    return temp_name(name, own);
}

/* What numpy.save wrote for numpy.array([[1, 2, 3], [4, 5, 6]], '<i4'). */
static const char numpy_bytes[] =
    "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"
    "                                                          \n"
    "\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05\0\0\0\x06\0\0\0";
enum { NUMPY_BYTES = 128 + 24 };
static const int32_t six[] = {1, 2, 3, 4, 5, 6};

TEST(our_bytes_are_those_of_numpy)
{
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(npy_write(temporary(), DTYPE_I32, 2, (int64_t[]){2, 3}, six));
    CHECK_OK(file_read(temporary(), 1000, &text, &size));
    CHECK_EQ(size, NUMPY_BYTES);
    CHECK(memcmp(text, numpy_bytes, NUMPY_BYTES) == 0);
    free(text);
    struct npy f;
    CHECK_OK(npy_open(&f, temporary()));
    CHECK(f.array.dtype == DTYPE_I32 && f.array.rank == 2);
    CHECK(f.array.shape[0] == 2 && f.array.shape[1] == 3);
    CHECK(memcmp(f.array.data, six, sizeof six) == 0);
    npy_close(&f);
    unlink(temporary());
}

TEST(rows_written_one_by_one_make_the_same_file)
{
    char *text = NULL;
    size_t size = 0;
    struct npy_out o;
    CHECK_OK(npy_out_open(&o, temporary(), DTYPE_I32, 2, (int64_t[]){-1, 3}));
    npy_out_rows(&o, six, 1);
    npy_out_rows(&o, six + 3, 1);
    CHECK_OK(npy_out_commit(&o));
    CHECK_OK(file_read(temporary(), 1000, &text, &size));
    CHECK(size == NUMPY_BYTES && memcmp(text, numpy_bytes, NUMPY_BYTES) == 0);
    free(text);
    unlink(temporary());
    CHECK_OK(npy_out_open(&o, temporary(), DTYPE_U8, 1, (int64_t[]){0}));
    npy_out_abandon(&o);
    CHECK(access(temporary(), F_OK) != 0);
    CHECK_EQ(npy_out_open(&o, temporary(), DTYPE_BF16, 1, (int64_t[]){0}), METE_EINVAL);
    npy_out_abandon(&o);
}

TEST(every_type_and_rank_survives)
{
    static const enum dtype types[] = {DTYPE_U8, DTYPE_I32, DTYPE_I64, DTYPE_F32, DTYPE_F64};
    static const int64_t shape[] = {2, 1, 3, 1, 1, 2, 1, 2};
    char data[24 * 8];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(37 * i);
    for (int t = 0; t < 5; t++)
        for (int rank = 0; rank <= 8; rank++) {
            struct npy f;
            CHECK_OK(npy_write(temporary(), types[t], rank, shape, data));
            CHECK_OK(npy_open(&f, temporary()));
            CHECK_OK(ndarray_check(&f.array, "x", DTYPE_SET(types[t]), rank, shape));
            CHECK(memcmp(f.array.data, data, f.array.bytes) == 0);
            npy_close(&f);
        }
    unlink(temporary());
    CHECK_EQ(npy_write(temporary(), DTYPE_F16, 1, shape, data), METE_EINVAL);
}

/* The sentence for a file with this dictionary and `data` bytes; "" if it is read. */
static const char *error_of(int version, const char *dictionary, size_t data)
{
    static char file[4096], sentence[1024];
    size_t start = version == 2 ? 12 : 10, length = strlen(dictionary) + 1;
    size_t total = (start + length + 63) / 64 * 64;
    memset(file, ' ', total);
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)version, file[7] = 0;
    file[8] = (char)((total - start) & 255), file[9] = (char)((total - start) >> 8);
    if (version == 2)
        file[10] = file[11] = 0;
    memcpy(file + start, dictionary, length - 1);
    file[total - 1] = '\n';
    struct npy f = {0};
    int err = npy_open_memory(&f, "f", file, total + data);
    snprintf(sentence, sizeof sentence, "%s", err ? mete_errmsg() : "");
    npy_close(&f);
    return sentence;
}

TEST(headers_as_other_writers_make_them_are_read)
{
    CHECK_STR(error_of(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8), "");
    CHECK_STR(error_of(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8), "");
    CHECK_STR(error_of(1, "{\"shape\":(2,1,),\"descr\":\"<f4\",\"fortran_order\":False}", 8), "");
    CHECK_STR(error_of(1, "{'descr': '<f8', 'fortran_order': False, 'shape': ()}", 8), "");
    CHECK_STR(error_of(1, "{'descr': '|u1', 'fortran_order': False, 'shape': (0, 28)}", 0), "");
}

TEST(what_is_not_read_is_refused_by_name)
{
#define DICT(descr, order, shape)                                                                  \
    "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape ", }"
    static const struct {
        int version;
        const char *dictionary;
        size_t data;
        const char *says;
    } cases[] = {
        {3, DICT("'<f4'", "False", "(2,)"), 8, "f: npy version 3.0 is not read"},
        {1, DICT("'>f4'", "False", "(2,)"), 8, "f: arrays of dtype '>f4' are not read; save it as"},
        {1, DICT("'<f2'", "False", "(2,)"), 4, "dtype '<f2'"},
        {1, DICT("'<c8'", "False", "(2,)"), 16, "dtype '<c8'"},
        {1, DICT("'|O'", "False", "(2,)"), 16, "dtype '|O'"},
        {1, DICT("[('a', '<f4')]", "False", "(2,)"), 8, "a dtype that is not a plain type"},
        {1, DICT("'<f4'", "True", "(2,)"), 8, "fortran_order is not read; save"},
        {1, DICT("'<f4'", "0", "(2,)"), 8, "a fortran_order that is not True or False"},
        {1, DICT("'<f4'", "False", "(2)"), 8, "a shape that is not a tuple"},
        {1, DICT("'<f4'", "False", "[2]"), 8, "a shape that is not a tuple"},
        {1, DICT("'<f4'", "False", "(-2,)"), 8, "not a tuple of lengths"},
        {1, DICT("'<f4'", "False", "(2L,)"), 8, "not a tuple of lengths"},
        {1, DICT("'<f4'", "False", "(1 2)"), 8, "not a tuple of lengths"},
        {1, DICT("'<f4'", "False", "(99999999999999999999,)"), 8, "not a tuple of lengths"},
        {1, DICT("'<f4'", "False", "(4294967296, 4294967296)"), 8, "overflows"},
        {1, DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1)"), 4, "more than 8 dimensions"},
        {1, DICT("'<f4'", "False", "(3,)"), 8, "f: F32 (3) needs 12 bytes of data, the file has 8"},
        {1, DICT("'<f4'", "False", "(1,)"), 8, "needs 4 bytes of data, the file has 8"},
        {1, "{'descr': '<f4', 'fortran_order': False}", 8, "not all of descr"},
        {1, "{'descr': '<f4', 'descr': '<f4'}", 8, "a second key 'descr'"},
        {1, "{'extra': 1}", 8, "an unknown key 'extra'"},
        {1, "{'descr' '<f4'}", 8, "no dictionary as NumPy writes it"},
        {1, "{'descr': '<f4'", 8, "no dictionary as NumPy writes it"},
        {1, "[]", 8, "no dictionary"},
        {1, DICT("'<f4'", "False", "(2,)") "x", 8, "something after its dictionary"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_HAS(error_of(cases[i].version, cases[i].dictionary, cases[i].data), cases[i].says);
}

TEST(no_prefix_of_a_file_is_a_file)
{
    struct npy f;
    for (size_t n = 0; n < NUMPY_BYTES; n++) {
        char *part = malloc(n ? n : 1);
        memcpy(part, numpy_bytes, n);
        CHECK_EQ(npy_open_memory(&f, "f", part, n), METE_EFORMAT);
        free(part);
    }
    CHECK_OK(npy_open_memory(&f, "f", numpy_bytes, NUMPY_BYTES));
    CHECK_EQ(npy_open(&f, "/tmp/mete-no-such.npy"), METE_EIO);
}

TEST(a_header_that_leaves_the_data_unaligned_is_refused)
{
    char file[] =
        "\x93NUMPY\x01\x00\x3c\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
        "  \n1234";
    struct npy f;
    CHECK_EQ(npy_open_memory(&f, "f", file, 10 + 60 + 4), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "f: the npy header of 70 bytes leaves the data unaligned");
}

TESTS(T(our_bytes_are_those_of_numpy), T(rows_written_one_by_one_make_the_same_file),
      T(every_type_and_rank_survives), T(headers_as_other_writers_make_them_are_read),
      T(what_is_not_read_is_refused_by_name), T(no_prefix_of_a_file_is_a_file),
      T(a_header_that_leaves_the_data_unaligned_is_refused))
