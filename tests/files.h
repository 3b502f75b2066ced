/* files.h - what tests of files share: a scratch folder, archives, images. */
#ifndef TEST_FILES_H
#define TEST_FILES_H

#include "base/memory.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char scratch_dir[256];

static inline void shell(const char *fmt, const char *a, const char *b)
{
    char command[2048];
    snprintf(command, sizeof command, fmt, a, b);
    if (system(command) != 0)
        abort();
}

static inline void scratch_remove(void)
{
    shell("rm -rf '%s'", scratch_dir, "");
}

/* A path in a folder that is removed at exit; the text lives until 8 calls later. */
static inline const char *scratch(const char *name)
{
    static char paths[8][512];
    static int used;
    if (!*scratch_dir) {
        const char *folder = getenv("TMPDIR"); /* as temp_name of test.h; fuzzers are here, too */
        snprintf(scratch_dir, sizeof scratch_dir, "%s/mete-test-XXXXXX",
                 folder && *folder ? folder : "/tmp");
        if (!mkdtemp(scratch_dir))
            abort();
        atexit(scratch_remove);
    }
    char *path = paths[used++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_dir, name);
    return path;
}

static inline void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
}

static inline void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

/* How many entries of the scratch folder begin with `prefix`. */
static inline int count_scratch(const char *prefix)
{
    int n = 0;
    scratch("");
    DIR *dir = opendir(scratch_dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    if (dir)
        closedir(dir);
    return n;
}

/* Tests that need a library begin with NEED_ARCHIVE, NEED_PNG or NEED_JPEG, and are
 * skipped without it. */
#ifdef METE_HAVE_ARCHIVE
#define NEED_ARCHIVE (void)0
#include <archive.h>
#include <archive_entry.h>

struct pack {
    struct archive *archive;
};

/* `kind`: "zip", "tar", "tar.gz" or "tar.xz". */
static inline struct pack pack_open(const char *path, const char *kind)
{
    struct pack p = {archive_write_new()};
    if (strcmp(kind, "zip") == 0)
        archive_write_set_format_zip(p.archive);
    else
        archive_write_set_format_pax_restricted(p.archive);
    if (strcmp(kind, "tar.xz") == 0)
        archive_write_add_filter_xz(p.archive);
    if (strcmp(kind, "tar.gz") == 0)
        archive_write_add_filter_gzip(p.archive);
    if (archive_write_open_filename(p.archive, path) != ARCHIVE_OK)
        abort();
    return p;
}

static inline void pack_add(struct pack *p, const char *name, const void *data, size_t size)
{
    struct archive_entry *e = archive_entry_new();
    archive_entry_set_pathname(e, name);
    archive_entry_set_size(e, (la_int64_t)size);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_perm(e, 0644);
    if (archive_write_header(p->archive, e) != ARCHIVE_OK ||
        archive_write_data(p->archive, data, size) != (la_ssize_t)size)
        abort();
    archive_entry_free(e);
}

static inline void pack_close(struct pack *p)
{
    archive_write_close(p->archive);
    archive_write_free(p->archive);
}
#else
#define NEED_ARCHIVE SKIP("built without libarchive")
struct pack {
    int none;
};
static inline struct pack pack_open(const char *path, const char *kind)
{
    (void)path, (void)kind;
    abort();
}
static inline void pack_add(struct pack *p, const char *name, const void *data, size_t size)
{
    (void)p, (void)name, (void)data, (void)size;
}
static inline void pack_close(struct pack *p)
{
    (void)p;
}
#endif

#ifdef METE_HAVE_PNG
#define NEED_PNG (void)0
#include <png.h>

/* A PNG of pixels (h, w, c) in memory; free() it. */
static inline void *png_bytes(const uint8_t *pixels, int h, int w, int c, size_t *size)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)w,
                       .height = (png_uint_32)h,
                       .format = c == 1   ? PNG_FORMAT_GRAY
                                 : c == 2 ? PNG_FORMAT_GA
                                 : c == 3 ? PNG_FORMAT_RGB
                                          : PNG_FORMAT_RGBA};
    png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
    void *out = mem_alloc(bytes);
    if (!png_image_write_to_memory(&image, out, &bytes, 0, pixels, 0, NULL))
        abort();
    *size = bytes;
    return out;
}
#else
#define NEED_PNG SKIP("built without libpng")
static inline void *png_bytes(const uint8_t *pixels, int h, int w, int c, size_t *size)
{
    (void)pixels, (void)h, (void)w, (void)c, (void)size;
    abort();
}
#endif

#ifdef METE_HAVE_JPEG
#define NEED_JPEG (void)0
#include <jpeglib.h>

static inline void *jpeg_bytes(const uint8_t *pixels, int h, int w, int c, size_t *size)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL;
    unsigned long bytes = 0;
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &out, &bytes);
    jpeg.image_width = (JDIMENSION)w;
    jpeg.image_height = (JDIMENSION)h;
    jpeg.input_components = c;
    jpeg.in_color_space = c == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 95, TRUE);
    jpeg_start_compress(&jpeg, TRUE);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + (size_t)jpeg.next_scanline * (size_t)(w * c));
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    *size = bytes;
    return out;
}
#else
#define NEED_JPEG SKIP("built without libjpeg")
static inline void *jpeg_bytes(const uint8_t *pixels, int h, int w, int c, size_t *size)
{
    (void)pixels, (void)h, (void)w, (void)c, (void)size;
    abort();
}
#endif

#endif
