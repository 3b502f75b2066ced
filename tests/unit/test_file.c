/* test_file.c - reading, mapping and replacing files; SHA-256. */
#include "test.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[TEMP_SIZE];

static const char *in_folder(const char *name)
{
    static char path[4][TEMP_SIZE + 128];
    static int next;
    char *out = path[next++ % 4];
    if (!*folder && !mkdtemp(temp_name(folder, "mete-test-file-XXXXXX")))
        abort();
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static int files_in_folder(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void shell_rm(const char *pattern)
{
    char command[TEMP_SIZE + 200];
    snprintf(command, sizeof command, "rm -f %s/%s", folder, pattern);
    if (system(command) != 0)
        abort();
}

static const char *content(const char *path)
{
    static char *text;
    size_t size;
    free(text);
    text = NULL;
    return file_read(path, 1000, &text, &size) ? mete_errmsg() : text;
}

TEST(a_file_is_written_replaced_read_and_mapped)
{
    const char *path = in_folder("a");
    CHECK_OK(file_write(path, "one", 3));
    CHECK_OK(file_write(path, "two!", 4));
    CHECK_STR(content(path), "two!");
    CHECK_EQ(files_in_folder(), 1);
    struct file_map m;
    CHECK_OK(file_map_open(&m, path));
    CHECK(m.size == 4 && memcmp(m.at, "two!", 4) == 0);
    file_map_close(&m);
    CHECK_OK(file_write(path, "", 0));
    CHECK_OK(file_map_open(&m, path));
    CHECK(m.size == 0 && m.at);
    file_map_close(&m);
    CHECK_STR(content(path), "");
    unlink(path);
}

TEST(pieces_larger_and_smaller_than_the_buffer_arrive_in_order)
{
    const char *path = in_folder("big");
    enum { N = 300000 };
    char *data = mem_alloc(N), *back = NULL;
    size_t size = 0;
    for (int i = 0; i < N; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    struct file_out o;
    CHECK_OK(file_out_open(&o, path));
    for (size_t at = 0, n = 1; at < N; at += n) {
        n = 3 * n < N - at ? 3 * n : N - at;
        file_out_write(&o, data + at, n);
    }
    CHECK_EQ(o.size, N);
    file_out_patch(&o, 5, "hello", 5);
    memcpy(data + 5, "hello", 5);
    CHECK_OK(file_out_commit(&o));
    CHECK_OK(file_read(path, N, &back, &size));
    CHECK(size == N && memcmp(back, data, N) == 0);
    free(back);
    CHECK_EQ(file_read(path, N - 1, &back, &size), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "larger than the 299999 bytes");
    free(data);
    unlink(path);
}

TEST(an_abandoned_file_leaves_the_old_one)
{
    const char *path = in_folder("kept");
    struct file_out o;
    CHECK_OK(file_write(path, "old", 3));
    CHECK_OK(file_out_open(&o, path));
    file_out_write(&o, "new", 3);
    CHECK_EQ(files_in_folder(), 2);
    file_out_abandon(&o);
    file_out_abandon(&o);
    CHECK_EQ(files_in_folder(), 1);
    CHECK_STR(content(path), "old");
    unlink(path);
}

/* What killed processes left, under today's name and those of old, one of them of a process with
 * our number. */
TEST(what_a_killed_process_left_is_in_nobodys_way)
{
    const char *path = in_folder("left");
    char name[160];
    for (int serial = 0; serial < 100; serial++) {
        snprintf(name, sizeof name, "%s.%ld-%d.tmp", path, (long)getpid(), serial);
        CHECK(close(open(name, O_WRONLY | O_CREAT, 0666)) == 0);
    }
    snprintf(name, sizeof name, "%s.tmp", path);
    CHECK(close(open(name, O_WRONLY | O_CREAT, 0666)) == 0);
    CHECK_OK(file_write(path, "new", 3));
    CHECK_STR(content(path), "new");
    CHECK(access(name, F_OK) != 0);
    CHECK_EQ(files_in_folder(), 101);
    shell_rm("left*");
}

TEST(two_who_write_one_file_do_not_meet)
{
    const char *path = in_folder("both");
    struct file_out a, b;
    CHECK_OK(file_out_open(&a, path));
    CHECK_OK(file_out_open(&b, path));
    file_out_write(&a, "first", 5);
    file_out_write(&b, "second", 6);
    CHECK_EQ(files_in_folder(), 2);
    CHECK_OK(file_out_commit(&b));
    CHECK_STR(content(path), "second");
    CHECK_OK(file_out_commit(&a));
    CHECK_STR(content(path), "first");
    CHECK_EQ(files_in_folder(), 1);
    unlink(path);
}

/* A folder or a link of that name is not ours to remove. */
TEST(what_nobody_of_us_left_stays)
{
    const char *path = in_folder("file"), *folder_there = in_folder("file.tmp"),
               *link = in_folder("file.1.tmp");
    CHECK_EQ(mkdir(folder_there, 0777), 0);
    CHECK_EQ(symlink("nowhere", link), 0);
    CHECK_OK(file_write(path, "x", 1));
    CHECK_STR(content(path), "x");
    CHECK_EQ(files_in_folder(), 3);
    CHECK(rmdir(folder_there) == 0 && unlink(link) == 0 && unlink(path) == 0);
}

/* A limit on the size of files fails a write as a full disk does. */
TEST(a_full_disk_leaves_the_old_file_and_says_so)
{
    const char *path = in_folder("full");
    struct rlimit before, small;
    char *data = mem_alloc(100000);
    CHECK_OK(file_write(path, "old", 3));
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 50000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int whole = file_write(path, data, 100000);
    char sentence[256];
    snprintf(sentence, sizeof sentence, "%s", mete_errmsg());
    struct file_out o;
    int opened = file_out_open(&o, path), commit = 0;
    for (int i = 0; i < 1000; i++)
        file_out_write(&o, data, 100);
    fail(METE_EINVAL, "something else");
    commit = file_out_commit(&o);
    setrlimit(RLIMIT_FSIZE, &before);
    CHECK_EQ(whole, METE_EIO);
    CHECK_HAS(sentence, "cannot write ");
    CHECK_HAS(sentence, "full: File too large");
    CHECK_EQ(opened, 0);
    CHECK_EQ(commit, METE_EIO);
    CHECK_HAS(mete_errmsg(), "File too large");
    CHECK_STR(content(path), "old");
    CHECK_EQ(files_in_folder(), 1);
    free(data);
    unlink(path);
}

TEST(what_cannot_be_read_or_written_is_named)
{
    char *text;
    size_t size;
    struct file_map m;
    CHECK_EQ(file_read(in_folder("none"), 10, &text, &size), METE_EIO);
    CHECK_HAS(mete_errmsg(), "none: No such file or directory");
    CHECK_EQ(file_read(folder, 10, &text, &size), METE_EIO);
    CHECK_HAS(mete_errmsg(), "Is a directory");
    CHECK_EQ(file_map_open(&m, folder), METE_EIO);
    CHECK_HAS(mete_errmsg(), "not a regular file");
    CHECK_EQ(file_write(folder, "x", 1), METE_EIO);
    CHECK_HAS(mete_errmsg(), "it is a folder");
    CHECK_EQ(file_write("/dev/null", "x", 1), METE_EIO);
    CHECK_HAS(mete_errmsg(), "it is not a regular file");
    CHECK_EQ(file_write(in_folder("no/such"), "x", 1), METE_EIO);
    CHECK_HAS(mete_errmsg(), "no/such: No such file or directory");
}

TEST(a_link_is_kept_and_its_file_replaced)
{
    const char *path = in_folder("real"), *link = in_folder("link");
    struct stat st;
    CHECK_OK(file_write(path, "old", 3));
    CHECK_EQ(symlink("real", link), 0);
    CHECK_OK(file_write(link, "new", 3));
    CHECK_EQ(lstat(link, &st), 0);
    CHECK(S_ISLNK(st.st_mode));
    CHECK_STR(content(path), "new");
    unlink(link);
    unlink(path);
}

TEST(folders_are_made_down_to_the_last)
{
    CHECK_OK(file_make_folder(in_folder("x/y/z")));
    CHECK_OK(file_make_folder(in_folder("x/y/z/")));
    CHECK_OK(file_write(in_folder("x/f"), "", 0));
    CHECK_EQ(file_make_folder(in_folder("x/f/g")), METE_EIO);
    CHECK_HAS(mete_errmsg(), "cannot create the folder");
    unlink(in_folder("x/f"));
    rmdir(in_folder("x/y/z"));
    rmdir(in_folder("x/y"));
    rmdir(in_folder("x"));
}

/* FIPS 180-2, appendix B, and the NIST example of a million 'a'. */
TEST(sha256_matches_the_nist_vectors)
{
    static const struct {
        const char *text, *hex;
    } cases[] = {
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    char hex[SHA256_HEX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sha256_of(cases[i].text, strlen(cases[i].text), hex);
        CHECK_STR(hex, cases[i].hex);
    }
    struct sha256 s;
    sha256_init(&s);
    char piece[1000];
    memset(piece, 'a', sizeof piece);
    for (size_t done = 0, n = 1; done < 1000000; done += n, n = n % 997 + 1)
        sha256_add(&s, piece, n = n < 1000000 - done ? n : 1000000 - done);
    sha256_hex(&s, hex);
    CHECK_STR(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(sha256_of_a_file)
{
    char hex[SHA256_HEX];
    CHECK_OK(file_write(in_folder("s"), "abc", 3));
    CHECK_OK(sha256_file(in_folder("s"), hex));
    CHECK_STR(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unlink(in_folder("s"));
    CHECK_EQ(sha256_file(in_folder("s"), hex), METE_EIO);
}

TEST(the_folder_is_left_empty)
{
    CHECK_EQ(rmdir(folder), 0);
}

TESTS(T(a_file_is_written_replaced_read_and_mapped),
      T(pieces_larger_and_smaller_than_the_buffer_arrive_in_order),
      T(an_abandoned_file_leaves_the_old_one), T(what_a_killed_process_left_is_in_nobodys_way),
      T(two_who_write_one_file_do_not_meet), T(what_nobody_of_us_left_stays),
      T(a_full_disk_leaves_the_old_file_and_says_so), T(what_cannot_be_read_or_written_is_named),
      T(a_link_is_kept_and_its_file_replaced), T(folders_are_made_down_to_the_last),
      T(sha256_matches_the_nist_vectors), T(sha256_of_a_file), T(the_folder_is_left_empty))
