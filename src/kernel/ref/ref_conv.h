/* ref_conv.h - 3x3 convolution with padding 1, and its two transposes, for one task. */

#ifndef FACTOR /* what a product takes for x: a test rounds it */
#define FACTOR(x) (double)(x)
#endif

/* z (n, out_c, conv_h, conv_w) += x (n, in_c, in_h, in_w) * w (out_c, in_c, 3, 3) */
static void conv(const struct layer *l, int n, const REAL *x, const REAL *w, REAL *z)
{
    for (int i = 0; i < n; i++)
        for (int o = 0; o < l->out_c; o++)
            for (int zy = 0; zy < l->conv_h; zy++)
                for (int zx = 0; zx < l->conv_w; zx++) {
                    double sum = 0;
                    for (int c = 0; c < l->in_c; c++)
                        for (int k = 0; k < 9; k++) {
                            int y = zy * l->stride + k / 3 - 1, xx = zx * l->stride + k % 3 - 1;
                            if (y >= 0 && y < l->in_h && xx >= 0 && xx < l->in_w)
                                sum += FACTOR(x[((i * l->in_c + c) * l->in_h + y) * l->in_w + xx]) *
                                       FACTOR(w[(o * l->in_c + c) * 9 + k]);
                        }
                    z[((i * l->out_c + o) * l->conv_h + zy) * l->conv_w + zx] += (REAL)sum;
                }
}

/* dx += the transpose of conv in x, applied to dz */
static void conv_dx(const struct layer *l, int n, const REAL *dz, const REAL *w, REAL *dx)
{
    for (int i = 0; i < n; i++)
        for (int c = 0; c < l->in_c; c++)
            for (int y = 0; y < l->in_h; y++)
                for (int x = 0; x < l->in_w; x++) {
                    double sum = 0;
                    for (int o = 0; o < l->out_c; o++)
                        for (int k = 0; k < 9; k++) {
                            int zy = y + 1 - k / 3, zx = x + 1 - k % 3;
                            if (zy < 0 || zx < 0 || zy % l->stride || zx % l->stride)
                                continue;
                            zy /= l->stride;
                            zx /= l->stride;
                            if (zy < l->conv_h && zx < l->conv_w)
                                sum += FACTOR(dz[((i * l->out_c + o) * l->conv_h + zy) * l->conv_w +
                                                 zx]) *
                                       FACTOR(w[(o * l->in_c + c) * 9 + k]);
                        }
                    dx[((i * l->in_c + c) * l->in_h + y) * l->in_w + x] += (REAL)sum;
                }
}

/* dw += the transpose of conv in w, applied to dz */
static void conv_dw(const struct layer *l, int n, const REAL *x, const REAL *dz, REAL *dw)
{
    for (int o = 0; o < l->out_c; o++)
        for (int c = 0; c < l->in_c; c++)
            for (int k = 0; k < 9; k++) {
                double sum = 0;
                for (int i = 0; i < n; i++)
                    for (int zy = 0; zy < l->conv_h; zy++)
                        for (int zx = 0; zx < l->conv_w; zx++) {
                            int y = zy * l->stride + k / 3 - 1, xx = zx * l->stride + k % 3 - 1;
                            if (y >= 0 && y < l->in_h && xx >= 0 && xx < l->in_w)
                                sum +=
                                    FACTOR(x[((i * l->in_c + c) * l->in_h + y) * l->in_w + xx]) *
                                    FACTOR(
                                        dz[((i * l->out_c + o) * l->conv_h + zy) * l->conv_w + zx]);
                        }
                dw[(o * l->in_c + c) * 9 + k] += (REAL)sum;
            }
}
