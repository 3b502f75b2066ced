/* test_fetch.c - downloads, from a folder that plays the server. */
#include "data/fetch.h"
#include "base/sha256.h"
#include "test.h"
#include "files.h"

enum { SIZE = 300000 };

static char body[SIZE], sum[SHA256_HEX], mirror[600];

/* A file on the "server", and what is known of it. */
static struct fetch_file prepare(void)
{
    for (int i = 0; i < SIZE; i++)
        body[i] = (char)(i * 31 + i / 256);
    sha256_of(body, SIZE, sum);
    shell("rm -rf '%s' '%s'", scratch("server"), scratch("here"));
    shell("mkdir '%s'%s", scratch("server"), "");
    write_bytes(scratch("server/set.zip"), body, SIZE);
    snprintf(mirror, sizeof mirror, "file://%s", scratch("server"));
    return (struct fetch_file){"set.zip", "https://nowhere.invalid/set.zip", SIZE, sum};
}

static bool arrived(void)
{
    static char got[SIZE + 1];
    FILE *f = fopen(scratch("here/set.zip"), "rb");
    size_t n = f ? fread(got, 1, sizeof got, f) : 0;
    if (f)
        fclose(f);
    return n == SIZE && memcmp(got, body, SIZE) == 0;
}

#ifdef METE_HAVE_CURL
#define NEED_CURL (void)0
#else
#define NEED_CURL SKIP("built without libcurl")
#endif

TEST(a_file_is_fetched_and_checked)
{
    NEED_CURL;
    struct fetch_file file = prepare();
    CHECK_OK(fetch_file(&file, scratch("here"), mirror));
    CHECK(arrived());
    CHECK(access(scratch("here/set.zip.part"), F_OK) != 0);
    /* it is there now: no server is needed */
    CHECK_OK(fetch_file(&file, scratch("here"), "file:///none"));
}

TEST(what_was_interrupted_is_continued)
{
    NEED_CURL;
    struct fetch_file file = prepare();
    shell("mkdir '%s'%s", scratch("here"), "");
    write_bytes(scratch("here/set.zip.part"), body, 100000);
    /* the server's first part is spoiled: if it were read again, the sum would be wrong */
    char spoiled[SIZE];
    memcpy(spoiled, body, SIZE);
    memset(spoiled, 0, 100000);
    write_bytes(scratch("server/set.zip"), spoiled, SIZE);
    CHECK_OK(fetch_file(&file, scratch("here"), mirror));
    CHECK(arrived());
}

TEST(a_file_with_another_checksum_is_refused)
{
    NEED_CURL;
    struct fetch_file file = prepare();
    body[7] ^= 1;
    write_bytes(scratch("server/set.zip"), body, SIZE);
    CHECK_EQ(fetch_file(&file, scratch("here"), mirror), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "damaged on the way, or has changed at its source");
    CHECK(access(scratch("here/set.zip"), F_OK) != 0);
    CHECK(access(scratch("here/set.zip.part"), F_OK) != 0);
}

TEST(no_network_is_said_plainly)
{
    NEED_CURL;
    struct fetch_file file = prepare();
    /* port 1 of this machine: nobody listens, whether or not there is a network */
    CHECK_EQ(fetch_file(&file, scratch("here"), "http://127.0.0.1:1"), METE_EIO);
    CHECK_HAS(mete_errmsg(), "no network: http://127.0.0.1:1/set.zip could not be reached");
}

TESTS(T(a_file_is_fetched_and_checked), T(what_was_interrupted_is_continued),
      T(a_file_with_another_checksum_is_refused), T(no_network_is_said_plainly))
