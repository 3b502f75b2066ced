/* fetch.c - one download through libcurl: resumed, checked, renamed. */
#include "data/fetch.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef METE_HAVE_CURL
#include <curl/curl.h>

struct transfer {
    const struct fetch_file *file;
    FILE *to;
    int64_t from; /* where it was resumed */
    int err;      /* of writing, or a wish to stop */
};

static size_t on_data(char *data, size_t size, size_t n, void *user)
{
    struct transfer *t = user;
    if (fwrite(data, size, n, t->to) == n)
        return size * n;
    t->err = fail(METE_EIO, "cannot write %s.part: %s", t->file->name, strerror(errno));
    return 0;
}

static int on_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                       curl_off_t up)
{
    struct transfer *t = user;
    (void)total, (void)up_total, (void)up;
    t->err = progress(t->file->name, (double)(t->from + now), (double)t->file->size);
    return t->err != 0;
}

static int explain(const struct transfer *t, CURLcode code, long status, const char *url)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
        return fail(METE_EIO,
                    "no network: %s could not be reached (%s); get it where there is one, and "
                    "import the file",
                    url, curl_easy_strerror(code));
    case CURLE_HTTP_RETURNED_ERROR:
        return fail(METE_EIO, "%s: the server answers with status %ld", url, status);
    default:
        return t->err ? t->err : fail(METE_EIO, "%s: %s", url, curl_easy_strerror(code));
    }
}

static void set_up(CURL *curl, struct transfer *t, const char *url)
{
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http,file");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L); /* a minute without a byte: give up */
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "mete/" METE_VERSION);
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->from);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, t);
}

/* Appends to `part`, which holds `from` bytes.  *restart: the server cannot resume. */
static int transfer(const struct fetch_file *file, const char *url, const char *part, int64_t from,
                    bool *restart)
{
    struct transfer t = {.file = file, .from = from, .to = fopen(part, from ? "ab" : "wb")};
    if (!t.to)
        return fail(METE_EIO, "cannot write %s: %s", part, strerror(errno));
    CURL *curl = curl_easy_init();
    if (!curl) {
        fclose(t.to);
        return fail(METE_ENOMEM, "libcurl does not start");
    }
    set_up(curl, &t, url);
    CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    *restart = from > 0 &&
               (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME || status == 416);
    int err = code == CURLE_OK ? 0 : explain(&t, code, status, url);
    curl_easy_cleanup(curl);
    if (fclose(t.to) != 0 && !err)
        err = fail(METE_EIO, "cannot write %s: %s", part, strerror(errno));
    return err;
}

#else

static int transfer(const struct fetch_file *file, const char *url, const char *part, int64_t from,
                    bool *restart)
{
    (void)part, (void)from, (void)restart;
    return fail(METE_EMISSING,
                "fetching %s needs libcurl (Debian: libcurl4-openssl-dev); or get %s yourself",
                file->name, url);
}

#endif

static int64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

static int check_sum(const struct fetch_file *file, const char *path)
{
    char sum[SHA256_HEX];
    int64_t size = size_of(path);
    int err = sha256_file(path, sum);
    if (!err && strcmp(sum, file->sha256) != 0)
        err = fail(METE_EFORMAT,
                   "%s: %lld bytes with sha256 %s, expected %lld bytes with sha256 %s; it was "
                   "damaged on the way, or has changed at its source",
                   path, (long long)size, sum, (long long)file->size, file->sha256);
    return err;
}

static int download(const struct fetch_file *file, const char *url, const char *part)
{
    int64_t from = size_of(part);
    bool restart = false;
    if (from == file->size)
        return 0; /* complete, and killed before it was checked */
    if (from < 0 || from > file->size)
        from = 0;
    if (from > 0)
        log_info("%s: continuing at %lld of %lld bytes", file->name, (long long)from,
                 (long long)file->size);
    int err = transfer(file, url, part, from, &restart);
    return restart ? transfer(file, url, part, 0, &restart) : err;
}

int fetch_file(const struct fetch_file *file, const char *dir, const char *mirror)
{
    char *path = mem_print("%s/%s", dir, file->name), *part = mem_print("%s.part", path);
    char *url = mirror ? mem_print("%s/%s", mirror, file->name) : mem_string(file->url);
    int err = file_make_folder(dir);
    if (!err && size_of(path) >= 0) {
        err = check_sum(file, path); /* there already; another file of that name is left alone */
    } else if (!err) {
        err = download(file, url, part);
        if (!err && (err = check_sum(file, part)))
            unlink(part);
        if (!err && rename(part, path) != 0)
            err = fail(METE_EIO, "cannot rename %s: %s", part, strerror(errno));
    }
    free(url);
    free(part);
    free(path);
    return err;
}
