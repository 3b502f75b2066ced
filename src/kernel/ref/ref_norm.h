/* ref_norm.h - batch norm with statistics of the first `stat` images, and its
 * tangents, for one channel of one task.
 *
 * A channel's values lie at base + image * step + pixel.  M = stat * pixels.
 * 1A is 1 for the images that make the statistics, 0 for the others:
 *   dz  = gamma s (dy - 1A (c1 + xh c2)),   c1 = sum dy / M, c2 = sum dy xh / M
 *   Rxh = s (Rz - m1 - xh m2),              m1 = mean_A Rz,  m2 = mean_A (xh Rz)
 *   Rdz = (Rgamma s - gamma s^2 m2) u + gamma s Ru,   u = dz / (gamma s)
 *   Ru  = Rdy - 1A (Rc1 + Rxh c2 + xh Rc2)
 * With stat 0, mu and s are given and c1, c2, m2 are 0; the convolution's bias,
 * inert otherwise, is part of z, so that m1 = -Rbias.
 */
struct channel {
    int n, stat, pixels;
    size_t step;
    double mu, s, gamma, c1, c2, m1, m2, rgamma;
};

#define EACH_VALUE(ch, i, at)                                                                      \
    for (int i = 0; i < (ch)->n; i++)                                                              \
        for (size_t at = (size_t)i * (ch)->step;                                                   \
             at < (size_t)i * (ch)->step + (size_t)(ch)->pixels; at++)

static void norm_statistics(struct channel *ch, const REAL *z, double eps)
{
    double m = (double)ch->stat * ch->pixels, sum = 0, square = 0;
    EACH_VALUE(ch, i, at)
    if (i < ch->stat)
        sum += z[at];
    ch->mu = sum / m;
    EACH_VALUE(ch, i, at)
    if (i < ch->stat)
        square += (z[at] - ch->mu) * (z[at] - ch->mu);
    ch->s = 1 / sqrt(square / m + eps);
}

static double xhat(const struct channel *ch, const REAL *z, size_t at)
{
    return (z[at] - ch->mu) * ch->s;
}

static double rxhat(const struct channel *ch, const REAL *z, const REAL *rz, size_t at)
{
    return ch->s * (rz[at] - ch->m1 - xhat(ch, z, at) * ch->m2);
}

/* dz from dy; the sums are dbeta and dgamma, and leave c1 and c2. */
static void norm_backward(struct channel *ch, const REAL *z, const REAL *dy, REAL *dz,
                          double *dgamma, double *dbeta)
{
    double sum = 0, product = 0, m = (double)ch->stat * ch->pixels;
    EACH_VALUE(ch, i, at)
    {
        sum += dy[at];
        product += dy[at] * xhat(ch, z, at);
    }
    *dbeta = sum;
    *dgamma = product;
    ch->c1 = m > 0 ? sum / m : 0;
    ch->c2 = m > 0 ? product / m : 0;
    EACH_VALUE(ch, i, at)
    {
        double correction = i < ch->stat ? ch->c1 + xhat(ch, z, at) * ch->c2 : 0;
        dz[at] = (REAL)(ch->gamma * ch->s * (dy[at] - correction));
    }
}

static void norm_tangent_means(struct channel *ch, const REAL *z, const REAL *rz)
{
    double sum = 0, product = 0, m = (double)ch->stat * ch->pixels;
    EACH_VALUE(ch, i, at)
    if (i < ch->stat) {
        sum += rz[at];
        product += rz[at] * xhat(ch, z, at);
    }
    ch->m1 = sum / m;
    ch->m2 = product / m;
}

static void norm_backward_tangent(const struct channel *ch, const REAL *z, const REAL *rz,
                                  const REAL *dy, const REAL *rdy, REAL *rdz, double *rdgamma,
                                  double *rdbeta)
{
    double sum = 0, product = 0, m = (double)ch->stat * ch->pixels;
    EACH_VALUE(ch, i, at)
    {
        sum += rdy[at];
        product += rdy[at] * xhat(ch, z, at) + dy[at] * rxhat(ch, z, rz, at);
    }
    *rdbeta = sum;
    *rdgamma = product;
    double rc1 = m > 0 ? sum / m : 0, rc2 = m > 0 ? product / m : 0;
    double scale = ch->gamma * ch->s,
           rscale = ch->rgamma * ch->s - ch->gamma * ch->s * ch->s * ch->m2;
    EACH_VALUE(ch, i, at)
    {
        bool in = i < ch->stat;
        double xh = xhat(ch, z, at), rxh = rxhat(ch, z, rz, at);
        double u = dy[at] - (in ? ch->c1 + xh * ch->c2 : 0);
        double ru = rdy[at] - (in ? rc1 + rxh * ch->c2 + xh * rc2 : 0);
        rdz[at] = (REAL)(rscale * u + scale * ru);
    }
}
