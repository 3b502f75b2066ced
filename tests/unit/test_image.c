/* test_image.c - decoding, refusing and resizing images. */
#include "data/image.h"
#include "test.h"
#include "files.h"

TEST(area_averaging_weighs_pixels_by_their_overlap)
{
    /* 3 pixels to 2: each takes one and a half */
    uint8_t in[] = {0, 90, 240}, out[2];
    struct image image = {.h = 1, .w = 3, .c = 1, .pixels = in};
    image_resize(&image, 1, 2, FILTER_AREA, out);
    CHECK_EQ(out[0], 30);  /* (0 + 45) / 1.5 */
    CHECK_EQ(out[1], 190); /* (45 + 240) / 1.5 */
}

TEST(area_averaging_keeps_the_mean)
{
    enum { N = 105, M = 28 };
    uint8_t in[N * N], out[M * M];
    double sum_in = 0, sum_out = 0;
    for (int i = 0; i < N * N; i++)
        sum_in += in[i] = i * 2654435761u >> 31 ? 255 : 0;
    struct image image = {.h = N, .w = N, .c = 1, .pixels = in};
    image_resize(&image, M, M, FILTER_AREA, out);
    for (int i = 0; i < M * M; i++)
        sum_out += out[i];
    CHECK_NEAR(sum_out / (M * M), sum_in / (N * N), 0.1); /* rounding to bytes only */
}

TEST(every_filter_keeps_a_flat_image_flat)
{
    uint8_t in[13 * 17 * 3], out[5 * 30 * 3];
    memset(in, 77, sizeof in);
    struct image image = {.h = 13, .w = 17, .c = 3, .pixels = in};
    for (int f = FILTER_AREA; f <= FILTER_LANCZOS; f++) {
        image_resize(&image, 5, 30, f, out);
        for (size_t i = 0; i < sizeof out; i++)
            CHECK_EQ(out[i], 77);
    }
}

TEST(nearest_takes_the_pixel_under_the_centre)
{
    uint8_t in[] = {1, 2, 3, 4, 5}, out[2];
    struct image image = {.h = 1, .w = 5, .c = 1, .pixels = in};
    image_resize(&image, 1, 2, FILTER_NEAREST, out);
    CHECK_EQ(out[0], 2); /* centre 1.25 */
    CHECK_EQ(out[1], 4); /* centre 3.75 */
}

TEST(what_is_no_image_is_refused)
{
    struct image image = {0};
    CHECK_EQ(image_decode(&image, "hello", 5, 1, "a.zip: b.png"), METE_EFORMAT);
    CHECK_STR(mete_errmsg(), "a.zip: b.png: expected a PNG or JPEG image");
    CHECK_EQ(image_decode(&image, "", 0, 1, "b.png"), METE_EFORMAT);
    CHECK_HAS(mete_errmsg(), "the file is empty");
}

TEST(png_comes_back_as_it_was)
{
    NEED_PNG;
    uint8_t pixels[6 * 5 * 3];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * 37);
    size_t size;
    void *file = png_bytes(pixels, 6, 5, 3, &size);
    struct image image = {0};
    CHECK_OK(image_decode(&image, file, size, 0, "x"));
    CHECK_EQ(image.h, 6);
    CHECK_EQ(image.w, 5);
    CHECK_EQ(image.c, 3);
    CHECK(memcmp(image.pixels, pixels, sizeof pixels) == 0);
    image_release(&image);
    CHECK_OK(image_decode(&image, file, size, 1, "x"));
    CHECK_EQ(image.c, 1);
    for (int i = 0; i < 30; i++) /* Rec. 601 */
        CHECK_NEAR(image.pixels[i],
                   0.299 * pixels[3 * i] + 0.587 * pixels[3 * i + 1] + 0.114 * pixels[3 * i + 2],
                   0.51);
    image_release(&image);
    free(file);
}

TEST(transparent_pixels_lie_on_white)
{
    NEED_PNG;
    uint8_t pixels[] = {0, 0, 0, 0, 0, 0, 0, 255, 200, 100, 50, 128};
    size_t size;
    void *file = png_bytes(pixels, 1, 3, 4, &size);
    struct image image = {0};
    CHECK_OK(image_decode(&image, file, size, 3, "x"));
    CHECK_EQ(image.pixels[0], 255);
    CHECK_EQ(image.pixels[3], 0);
    CHECK_NEAR(image.pixels[6], 200 * 128 / 255.0 + 255 * 127 / 255.0, 1);
    image_release(&image);
    CHECK_OK(image_decode(&image, file, size, 1, "x"));
    CHECK_EQ(image.c, 1);
    CHECK_EQ(image.pixels[0], 255);
    image_release(&image);
    free(file);
}

TEST(a_png_cut_anywhere_is_refused)
{
    NEED_PNG;
    uint8_t pixels[20 * 20];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)(i * i);
    size_t size;
    char *file = png_bytes(pixels, 20, 20, 1, &size);
    for (size_t n = 0; n < size; n++) {
        struct image image = {0};
        CHECK_EQ(image_decode(&image, file, n, 1, "a.png"), METE_EFORMAT);
        CHECK(strncmp(mete_errmsg(), "a.png: ", 7) == 0);
        CHECK(image.pixels == NULL);
    }
    free(file);
}

TEST(jpeg_comes_back_nearly_as_it_was)
{
    NEED_JPEG;
    uint8_t pixels[32 * 24 * 3];
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 24; x++)
            for (int c = 0; c < 3; c++)
                pixels[(y * 24 + x) * 3 + c] = (uint8_t)(4 * y + 3 * x + 20 * c);
    size_t size;
    void *file = jpeg_bytes(pixels, 32, 24, 3, &size);
    struct image image = {0};
    CHECK_OK(image_decode(&image, file, size, 3, "x"));
    CHECK_EQ(image.h, 32);
    CHECK_EQ(image.w, 24);
    for (size_t i = 0; i < sizeof pixels; i++)
        CHECK_NEAR(image.pixels[i], pixels[i], 12);
    image_release(&image);
    for (size_t n = 0; n + 2 < size; n += 7) { /* the last two bytes only mark the end */
        CHECK_EQ(image_decode(&image, file, n, 3, "a.jpg"), METE_EFORMAT);
        CHECK(strncmp(mete_errmsg(), "a.jpg: ", 7) == 0);
        CHECK(image.pixels == NULL);
    }
    free(file);
}

TESTS(T(area_averaging_weighs_pixels_by_their_overlap), T(area_averaging_keeps_the_mean),
      T(every_filter_keeps_a_flat_image_flat), T(nearest_takes_the_pixel_under_the_centre),
      T(what_is_no_image_is_refused), T(png_comes_back_as_it_was),
      T(transparent_pixels_lie_on_white), T(a_png_cut_anywhere_is_refused),
      T(jpeg_comes_back_nearly_as_it_was))
