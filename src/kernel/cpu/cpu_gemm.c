/* cpu_gemm.c - the two matrix products everything else is made of.
 *
 * Both keep a tile of R rows by C vectors of the result in registers while they walk
 * a list of operand pairs: the taps of a convolution, or the rows of an image.  The
 * tile is written once as a template whose R and C become constants, and is picked
 * from a table.  Rows and columns are dealt out evenly, so that 7 rows are 4 + 3 and
 * not 6 + 1.  A tile that fetches what comes next is a template's other instance: it
 * costs a percent where everything is in cache.
 */
#include "cpu.h"

#include <string.h>

enum { ROWS_MAX = CPU_LANES == 16 ? 12 : 6 };

/* The most rows of a tile with C columns: as many accumulators as leave registers for
 * a row of w and a broadcast x. */
#if CPU_LANES == 16
static const int rows_max[] = {0, 12, 12, 8, 7};
#else
static const int rows_max[] = {0, 6, 6};
#endif

#define EACH_ROW(R) UNROLL for (int r = 0; r < (R); r++)
#define EACH_COL(C) UNROLL for (int c = 0; c < (C); c++)

INLINE void tile_clear(const int R, const int C, vf acc[ROWS_MAX][COLS_MAX])
{
    EACH_ROW(R)
    EACH_COL(C)
    acc[r][c] = (vf){0};
}

/* Rows are walked, not indexed: else compilers work out every address beforehand. */
INLINE void tile_add(const int R, const int C, vf acc[ROWS_MAX][COLS_MAX], const float *from,
                     float sign, ptrdiff_t ld)
{
    EACH_ROW(R)
    {
        EACH_COL(C) acc[r][c] += sign * load(from + c * LANES);
        from += ld;
    }
}

/* To be written soon. */
INLINE void tile_fetch(const int R, const int C, const float *y, ptrdiff_t ldy)
{
    EACH_ROW(R)
    {
        EACH_COL(C) __builtin_prefetch(y + c * LANES, 1, 2);
        y += ldy;
    }
}

INLINE void tile_end(const int R, const int C, vf acc[ROWS_MAX][COLS_MAX], float *y, ptrdiff_t ldy)
{
    EACH_ROW(R)
    {
        EACH_COL(C) store(y + c * LANES, acc[r][c]);
        y += ldy;
    }
}

/* One tile of cpu_gemm, `x_at`, `w_at` and `y_at` floats into the operands.  Rows are
 * addressed from every third pointer, which x86 can express without a register per row. */
INLINE void gemm_tile(const int R, const int C, const bool fetch, const struct gemm *g,
                      ptrdiff_t x_at, ptrdiff_t w_at, ptrdiff_t y_at)
{
    vf acc[ROWS_MAX][COLS_MAX];
    const ptrdiff_t ldx = g->ldx, ldw = g->ldw;
    tile_clear(R, C, acc);
    if (fetch && g->next_y)
        tile_fetch(R, C, g->next_y + y_at, g->ldy);
    for (int i = 0; i < g->starts; i++)
        tile_add(R, C, acc, g->start[i] + y_at, g->sign[i], g->ldy);
    for (int i = 0; i < g->count; i++) {
        const float *w = g->w[i] + w_at, *x[(ROWS_MAX + 2) / 3];
        const float *next = fetch ? (g->next_x ? g->next_x : g->x)[i] + x_at : NULL;
        UNROLL for (int r = 0; r < R; r += 3) x[r / 3] = g->x[i] + x_at + r * ldx;
        UNROLL_BY_4 for (int k = 0; k < g->k; k++)
        {
            vf b[COLS_MAX];
            EACH_COL(C) b[c] = load(w + c * LANES);
            EACH_ROW(R)
            {
                vf a = x[r / 3][r % 3 * ldx] - (vf){0}; /* in every lane */
                EACH_COL(C) acc[r][c] += a * b[c];
            }
            UNROLL for (int r = 0; r < R; r += 3) x[r / 3]++;
            w += ldw;
            if (fetch) {
                __builtin_prefetch(next, 0, 2);
                next += LINE;
            }
        }
    }
    tile_end(R, C, acc, g->y + y_at, g->ldy);
}

/* One tile of cpu_outer. */
INLINE void outer_tile(const int R, const int C, const bool fetch, const struct outer *o,
                       ptrdiff_t x_at, ptrdiff_t d_at, float *y, bool add)
{
    vf acc[ROWS_MAX][COLS_MAX];
    const ptrdiff_t ldx = o->ldx, ldd = o->ldd;
    tile_clear(R, C, acc);
    if (add)
        tile_add(R, C, acc, y, 1, o->ldy);
    for (int i = 0; i < o->count; i++) {
        const float *x = o->x[i] + x_at, *d = o->d[i] + d_at;
        ptrdiff_t tile = fetch ? x_at * o->k[i] / R * LINE : 0;
        const float *next_x = fetch ? o->next_x[i] + tile : NULL;
        const float *next_d = fetch ? o->next_d[i] + tile : NULL;
        for (int k = 0; k < o->k[i]; k++, x += ldx, d += ldd) {
            vf b[COLS_MAX];
            EACH_COL(C) b[c] = load(d + c * LANES);
            EACH_ROW(R)
            {
                vf a = x[r] - (vf){0};
                EACH_COL(C) acc[r][c] += a * b[c];
            }
            if (fetch) {
                __builtin_prefetch(next_x, 0, 2);
                __builtin_prefetch(next_d, 0, 2);
                next_x += LINE;
                next_d += LINE;
            }
        }
    }
    tile_end(R, C, acc, y, o->ldy);
}

typedef void gemm_fn(const struct gemm *g, ptrdiff_t x_at, ptrdiff_t w_at, ptrdiff_t y_at);
typedef void outer_fn(const struct outer *o, ptrdiff_t x_at, ptrdiff_t d_at, float *y, bool add);

#define DEFINE(R, C)                                                                               \
    static void gemm_##R##x##C(const struct gemm *g, ptrdiff_t x_at, ptrdiff_t w_at,               \
                               ptrdiff_t y_at)                                                     \
    {                                                                                              \
        gemm_tile(R, C, false, g, x_at, w_at, y_at);                                               \
    }                                                                                              \
    static void fetching_##R##x##C(const struct gemm *g, ptrdiff_t x_at, ptrdiff_t w_at,           \
                                   ptrdiff_t y_at)                                                 \
    {                                                                                              \
        gemm_tile(R, C, true, g, x_at, w_at, y_at);                                                \
    }                                                                                              \
    static void outer_##R##x##C(const struct outer *o, ptrdiff_t x_at, ptrdiff_t d_at, float *y,   \
                                bool add)                                                          \
    {                                                                                              \
        outer_tile(R, C, false, o, x_at, d_at, y, add);                                            \
    }                                                                                              \
    static void fetching_outer_##R##x##C(const struct outer *o, ptrdiff_t x_at, ptrdiff_t d_at,    \
                                         float *y, bool add)                                       \
    {                                                                                              \
        outer_tile(R, C, true, o, x_at, d_at, y, add);                                             \
    }
#define GEMM(R, C)           [C][R] = gemm_##R##x##C,
#define FETCHING(R, C)       [C][R] = fetching_##R##x##C,
#define OUTER(R, C)          [C][R] = outer_##R##x##C,
#define FETCHING_OUTER(R, C) [C][R] = fetching_outer_##R##x##C,

#define UP_TO_6(X, C)  X(1, C) X(2, C) X(3, C) X(4, C) X(5, C) X(6, C)
#define UP_TO_7(X, C)  UP_TO_6(X, C) X(7, C)
#define UP_TO_8(X, C)  UP_TO_7(X, C) X(8, C)
#define UP_TO_12(X, C) UP_TO_8(X, C) X(9, C) X(10, C) X(11, C) X(12, C)
#if CPU_LANES == 16
#define TILES(X) UP_TO_12(X, 1) UP_TO_12(X, 2) UP_TO_8(X, 3) UP_TO_7(X, 4)
#else
#define TILES(X) UP_TO_6(X, 1) UP_TO_6(X, 2)
#endif

TILES(DEFINE)
static gemm_fn *const gemm_tiles[2][COLS_MAX + 1][ROWS_MAX + 1] = {{TILES(GEMM)},
                                                                   {TILES(FETCHING)}};
static outer_fn *const outer_tiles[2][COLS_MAX + 1][ROWS_MAX + 1] = {{TILES(OUTER)},
                                                                     {TILES(FETCHING_OUTER)}};

/* The size of the next part when `left` are dealt out in parts of at most `most`. */
static int next_part(int left, int most)
{
    int parts = (left + most - 1) / most;
    return (left + parts - 1) / parts;
}

void cpu_gemm(const struct gemm *g, int rows, int cols)
{
    int vectors = cols / LANES;
    for (int c = 0, C; c < vectors; c += C) {
        C = next_part(vectors - c, COLS_MAX);
        for (int r = 0, R; r < rows; r += R) {
            R = next_part(rows - r, rows_max[C]);
            gemm_tiles[g->next_x || g->next_y][C][R](g, r * g->ldx, c * LANES,
                                                     r * g->ldy + c * LANES);
        }
    }
}

void cpu_outer(const struct outer *o, int rows, int cols, float *y, bool add)
{
    int vectors = cols / LANES;
    for (int c = 0, C; c < vectors; c += C) {
        C = next_part(vectors - c, COLS_MAX);
        for (int r = 0, R; r < rows; r += R) {
            R = next_part(rows - r, rows_max[C]);
            outer_tiles[o->next_x && c == 0][C][R](o, r, c * LANES, y + r * o->ldy + c * LANES,
                                                   add);
        }
    }
}

typedef float v4 __attribute__((vector_size(16), may_alias));
typedef float v4_anywhere __attribute__((vector_size(16), may_alias, aligned(4)));

/* to[c][r] = from[r][c] for r, c < 4 */
INLINE void transpose_4x4(const float *from, ptrdiff_t ldfrom, float *to, ptrdiff_t ldto)
{
    v4 a = *(const v4_anywhere *)from, b = *(const v4_anywhere *)(from + ldfrom);
    v4 c = *(const v4_anywhere *)(from + 2 * ldfrom), d = *(const v4_anywhere *)(from + 3 * ldfrom);
    v4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    v4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    v4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    v4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(v4_anywhere *)to = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *(v4_anywhere *)(to + ldto) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *(v4_anywhere *)(to + 2 * ldto) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *(v4_anywhere *)(to + 3 * ldto) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

void cpu_transpose(const float *from, int rows, int cols, int ldfrom, float *to, int ldto)
{
    enum { SIDE = 4 };
    int whole_rows = rows - rows % SIDE, whole_cols = cols - cols % SIDE;
    for (int c = 0; c < whole_cols; c += SIDE)
        for (int r = 0; r < whole_rows; r += SIDE)
            transpose_4x4(from + (ptrdiff_t)r * ldfrom + c, ldfrom, to + (ptrdiff_t)c * ldto + r,
                          ldto);
    for (int c = 0; c < cols; c++)
        for (int r = c < whole_cols ? whole_rows : 0; r < ldto; r++)
            to[(ptrdiff_t)c * ldto + r] = r < rows ? from[(ptrdiff_t)r * ldfrom + c] : 0;
}
