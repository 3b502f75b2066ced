/* test_strategies.c - the strategies on constructed pools, where what they should do
 * can be worked out.
 */
#include "test.h"
#include "chisquared.h"
#include "mete.h"
#include "base/memory.h"
#include "label/label_own.h"

enum { DRAWS = 20000 };

/* The chances of each ordered triple that k-means++ chooses of n points, by its
 * definition. */
static void seed_chances(const double *d2, int n, double *p)
{
    for (int a = 0; a < n; a++) {
        double sum1 = 0;
        for (int i = 0; i < n; i++)
            sum1 += d2[a * n + i];
        for (int b = 0; b < n; b++) {
            double sum2 = 0;
            for (int i = 0; i < n; i++)
                sum2 += fmin(d2[a * n + i], d2[b * n + i]);
            for (int c = 0; c < n; c++)
                p[(a * n + b) * n + c] = sum2 == 0 ? 0
                                                   : 1.0 / n * d2[a * n + b] / sum1 *
                                                         fmin(d2[a * n + c], d2[b * n + c]) / sum2;
        }
    }
}

TEST(seeding_has_the_published_distribution)
{
    enum { N = 5 };
    static const float x[N][2] = {{0, 0}, {1, 0}, {0, 3}, {4, 4}, {9, 1}};
    static const int32_t row[N] = {0, 1, 2, 3, 4};
    struct points p = {&x[0][0], row, N, 2};
    double d2[N * N], chance[N * N * N], seen[N * N * N] = {0};
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            d2[i * N + k] = pow(x[i][0] - x[k][0], 2) + pow(x[i][1] - x[k][1], 2);
    seed_chances(d2, N, chance);
    for (int i = 0; i < DRAWS; i++) {
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t pick[3];
        CHECK_EQ(seed_points(N, 3, points_distance, &p, &r, pick), 3);
        seen[(pick[0] * N + pick[1]) * N + pick[2]]++;
    }
    CHECK(chi_deviations(seen, chance, N * N * N) < 4);
}

TEST(seeding_stops_where_all_points_are_taken)
{
    static const float x[6] = {1, 1, 1, 5, 5, 1};
    static const int32_t row[6] = {0, 1, 2, 3, 4, 5};
    struct points p = {x, row, 6, 1};
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    int32_t pick[6];
    CHECK_EQ(seed_points(6, 4, points_distance, &p, &r, pick), 2);
    CHECK(x[pick[0]] != x[pick[1]]);
    CHECK_EQ(seed_points(6, 0, points_distance, &p, &r, pick), 0);
}

/* Groups of `each` points around k far corners of f dimensions. */
static float *blobs(int k, int each, int f, double spread)
{
    float *x = mem_array((size_t)(k * each * f), sizeof *x);
    struct rng r = rng_make(3, RNG_TEST, 0, 0);
    for (int i = 0; i < k * each; i++)
        for (int j = 0; j < f; j++)
            x[i * f + j] = (float)((j == i % k ? 20 : 0) + spread * rng_normal(&r));
    return x;
}

TEST(kmeans_ends_where_nothing_moves)
{
    enum { K = 4, EACH = 30, F = 37, N = K * EACH };
    float *x = blobs(K, EACH, F, 6); /* far from separated */
    int32_t row[N], cluster[N], nearest[K];
    static const double draw[K - 1] = {0.2, 0.7, 0.4};
    for (int i = 0; i < N; i++)
        row[i] = i;
    struct clustering clustering = {.x = x,
                                    .row = row,
                                    .n = N,
                                    .k = K,
                                    .rounds = 1000,
                                    .first = 11,
                                    .draw = draw,
                                    .cluster = cluster,
                                    .nearest = nearest};
    host_kmeans(NULL, 1, F, &clustering);
    CHECK_EQ(clustering.found, K);
    double mean[K * F] = {0}, count[K] = {0};
    for (int i = 0; i < N; i++) {
        count[cluster[i]]++;
        for (int j = 0; j < F; j++)
            mean[cluster[i] * F + j] += x[i * F + j];
    }
    for (int i = 0; i < N; i++) {
        double best = INFINITY, own = 0;
        for (int c = 0; c < K; c++) {
            double d = 0;
            for (int j = 0; j < F; j++)
                d += pow((double)x[i * F + j] - mean[c * F + j] / count[c], 2);
            best = fmin(best, d);
            own = c == cluster[i] ? d : own;
        }
        CHECK_NEAR(own, best, 1e-3 * best);
    }
    free(x);
}

/* As many numbers are taken from the stream as there were draws. */
TEST(seeding_leaves_the_random_numbers_it_did_not_use)
{
    static const float x[6] = {1, 1, 1, 5, 5, 1};
    static const int32_t row[6] = {0, 1, 2, 3, 4, 5};
    static const int k[] = {1, 2, 3, 40}, draws[] = {0, 1, 2, 2};
    struct points p = {x, row, 6, 1};
    for (int i = 0; i < 4; i++) {
        struct rng r = rng_make(1, RNG_TEST, 0, 0), same = r;
        int32_t pick[40];
        seed_points(6, k[i], points_distance, &p, &r, pick);
        CHECK_EQ(rng_below(&same, 6), pick[0]);
        for (int j = 0; j < draws[i]; j++)
            rng_uniform(&same);
        CHECK_EQ(rng_u32(&r), rng_u32(&same));
    }
}

/* Not even one whose distance to itself is no number. */
TEST(seeding_takes_no_point_twice)
{
    static const float x[5] = {NAN, NAN, NAN, NAN, NAN};
    static const int32_t row[5] = {0, 1, 2, 3, 4};
    struct points p = {x, row, 5, 1};
    for (int i = 0; i < 20; i++) {
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t pick[5];
        int seen = 0;
        CHECK_EQ(seed_points(5, 5, points_distance, &p, &r, pick), 5);
        for (int j = 0; j < 5; j++)
            seen |= 1 << pick[j];
        CHECK_EQ(seen, 31);
    }
}

TEST(quotas_are_equal_and_the_rest_is_spread_uniformly)
{
    /* 7 over sizes 10, 1, 0, 4: 7/3 = 2 each, but one has only 1; the last two labels
     * go to the first or the last, a toss each. */
    static const int size[4] = {10, 1, 0, 4};
    static const double chance[3] = {0.25, 0.5, 0.25};
    double seen[3] = {0};
    for (int i = 0; i < DRAWS; i++) {
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int quota[4];
        CHECK_EQ(active_quota(size, 4, 7, &r, quota), 7);
        CHECK(quota[0] >= 2 && quota[1] == 1 && quota[2] == 0 && quota[3] >= 2);
        seen[quota[3] - 2]++;
    }
    CHECK(chi_deviations(seen, chance, 3) < 4);
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    int quota[4];
    CHECK_EQ(active_quota(size, 4, 100, &r, quota), 15);
    CHECK(quota[0] == 10 && quota[1] == 1 && quota[2] == 0 && quota[3] == 4);
}

TEST(full_clusters_get_no_more)
{
    /* 6 over sizes 1, 2, 9: 2 each, 1 given back: it can go only to the third. */
    static const int size[3] = {1, 2, 9};
    for (int i = 0; i < 100; i++) {
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int quota[3];
        CHECK_EQ(active_quota(size, 3, 6, &r, quota), 6);
        CHECK(quota[0] == 1 && quota[1] == 2 && quota[2] == 3);
    }
}

/* A pool of two clusters of three points each; point i is predicted class 0 with
 * chance sure[i], class 1 otherwise. */
enum { POOL = 6 };
static const float sure[POOL] = {0.5f, 0.8f, 0.97f, 0.6f, 0.9f, 0.999f};
static float pool_probs[POOL * 2], pool_reps[POOL * 2];
static int32_t pool_memo[POOL], pool_known[POOL];
static uint8_t pool_available[POOL];

static struct label_view pool_view(void)
{
    for (int i = 0; i < POOL; i++) {
        pool_probs[2 * i] = sure[i];
        pool_probs[2 * i + 1] = 1 - sure[i];
        pool_reps[2 * i] = i < 3 ? -10 : 10;
        pool_reps[2 * i + 1] = (float)(0.1 * i);
        pool_available[i] = 1;
        pool_known[i] = pool_memo[i] = -1;
    }
    return (struct label_view){.n = POOL,
                               .ways = 2,
                               .shots = 1,
                               .features = 2,
                               .available = pool_available,
                               .known = pool_known,
                               .probs = pool_probs,
                               .reps = pool_reps,
                               .memo = pool_memo};
}

/* What the strategy chooses when it is given what it needs, as the driver does. */
static int choose_from(const struct labeller *l, struct label_view v, int want, struct rng *r,
                       int32_t *picks)
{
    float *entropy = mem_array((size_t)v.n, sizeof *entropy);
    int32_t *cluster = mem_array(2 * (size_t)v.n, sizeof *cluster), *central = cluster + v.n;
    if (l->ops->needs & LABEL_ENTROPY)
        host_entropy(NULL, (size_t)v.n, v.ways, v.probs, entropy);
    if (l->ops->needs & LABEL_CLUSTERS) {
        struct clustering c;
        int k = l->ops->clusters(l->state, &v, want);
        clustering_open(&c, &v, k, r);
        c.x = v.reps;
        host_kmeans(NULL, 1, v.features, &c);
        v.clusters = clustering_close(&c, k, r, cluster, central);
    }
    v.entropy = entropy;
    v.cluster = cluster;
    v.central = central;
    int picked = l->ops->choose(l->state, &v, want, r, picks);
    free(entropy);
    free(cluster);
    return picked;
}

/* Points 0 and 3 are labelled: the others' numbers in the pool are not their numbers among those
 * that can be chosen. */
TEST(kmeans_chooses_central_points_that_are_available)
{
    struct labeller l = {0};
    CHECK_OK(labeller_open(&l, "kmeans"));
    for (int i = 0; i < 20; i++) {
        struct label_view v = pool_view();
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t picks[2];
        pool_available[0] = pool_available[3] = 0;
        CHECK_EQ(choose_from(&l, v, 2, &r, picks), 2);
        int left = picks[0] < picks[1] ? picks[0] : picks[1], right = picks[0] + picks[1] - left;
        CHECK(left == 1 || left == 2);
        CHECK(right == 4 || right == 5);
    }
    labeller_close(&l);
}

static struct labeller active_with(const char *setting)
{
    struct labeller l = {0};
    struct param_set set = {0};
    const char *settings[] = {setting, NULL};
    if (labeller_open(&l, "active") == 0) {
        labeller_params(&l, &set);
        if (param_set_all(&set, settings) != 0)
            fprintf(stderr, "active_with: %s\n", mete_errmsg());
    }
    return l;
}

/* Chances of the unordered pairs (0,1), (0,2), (1,2) drawn from three weights one
 * after the other. */
static void pair_chances(const double w[3], double p[3])
{
    double sum = w[0] + w[1] + w[2];
    for (int k = 0, i = 0; i < 3; i++)
        for (int j = i + 1; j < 3; j++, k++)
            p[k] = w[i] / sum * w[j] / (sum - w[i]) + w[j] / sum * w[i] / (sum - w[j]);
}

/* Draws `want` points many times; counts what each cluster gave: a point, or a pair. */
static void active_matches(const char *setting, int want, bool exponential)
{
    struct labeller l = active_with(setting);
    double weight[POOL], seen[2][3] = {{0}}, chance[2][3];
    for (int i = 0; i < POOL; i++) {
        double h = -sure[i] * log(sure[i]) - (1 - sure[i]) * log(1 - (double)sure[i]);
        weight[i] = exponential ? exp(h) : h;
    }
    for (int c = 0; c < 2; c++) {
        double sum = weight[3 * c] + weight[3 * c + 1] + weight[3 * c + 2];
        for (int i = 0; i < 3; i++)
            chance[c][i] = weight[3 * c + i] / sum;
        if (want == 4)
            pair_chances(weight + 3 * c, chance[c]);
    }
    for (int i = 0; i < DRAWS; i++) {
        struct label_view v = pool_view();
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t picks[4];
        CHECK_EQ(choose_from(&l, v, want, &r, picks), want);
        int mask[2] = {0, 0};
        for (int k = 0; k < want; k++)
            mask[picks[k] / 3] |= 1 << picks[k] % 3;
        for (int c = 0; c < 2; c++) {
            static const int single[8] = {-1, 0, 1, -1, 2, -1, -1, -1};
            static const int pair[8] = {-1, -1, -1, 0, -1, 1, 2, -1};
            int which = want == 2 ? single[mask[c]] : pair[mask[c]];
            CHECK(which >= 0); /* the quota of each cluster is want / 2 */
            seen[c][which]++;
        }
    }
    CHECK(chi_deviations(seen[0], chance[0], 3) < 4);
    CHECK(chi_deviations(seen[1], chance[1], 3) < 4);
    labeller_close(&l);
}

TEST(active_draws_in_proportion_to_entropy)
{
    active_matches("labels.probability=entropy", 2, false);
    active_matches("labels.probability=entropy", 4, false);
}

TEST(active_draws_in_proportion_to_the_exponential_of_entropy)
{
    active_matches("labels.probability=exp-entropy", 2, true);
    active_matches("labels.probability=exp-entropy", 4, true);
}

TEST(active_leaves_what_is_bought_and_takes_all_there_is)
{
    struct labeller l = active_with("labels.clusters=3");
    for (int i = 0; i < 200; i++) {
        struct label_view v = pool_view();
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t picks[POOL];
        pool_available[i % POOL] = 0;
        int n = choose_from(&l, v, POOL, &r, picks);
        CHECK_EQ(n, POOL - 1);
        for (int k = 0; k < n; k++)
            CHECK(picks[k] != i % POOL);
    }
    labeller_close(&l);
}

TEST(clusters_may_be_kept_from_the_first_round)
{
    struct labeller l = active_with("labels.recluster=no");
    struct label_view v = pool_view();
    struct rng r = rng_make(1, RNG_TEST, 0, 0);
    int32_t picks[2], first[POOL];
    CHECK_EQ(choose_from(&l, v, 2, &r, picks), 2);
    memcpy(first, pool_memo, sizeof first);
    CHECK(first[0] == first[1] && first[1] == first[2] && first[3] == first[5]);
    CHECK(first[0] != first[3]);
    pool_available[picks[0]] = pool_available[picks[1]] = 0;
    for (int i = 0; i < POOL * 2; i++)
        pool_reps[i] = 0; /* of no use: the first round's clusters must do */
    v.round = 1;
    CHECK_EQ(choose_from(&l, v, 2, &r, picks), 2);
    CHECK_EQ(memcmp(first, pool_memo, sizeof first), 0);
    CHECK(first[picks[0]] != first[picks[1]]);
    labeller_close(&l);
}

static int choose_named(const char *name, const struct label_view *v, int want, int32_t *picks)
{
    struct labeller l = {0};
    struct rng r = rng_make(9, RNG_TEST, 0, 0);
    if (labeller_open(&l, name) != 0)
        return -1;
    int n = choose_from(&l, *v, want, &r, picks);
    labeller_close(&l);
    return n;
}

TEST(entropy_and_margin_take_the_least_certain_first)
{
    struct label_view v = pool_view();
    int32_t picks[3];
    static const char *const names[] = {"entropy", "margin"};
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(choose_named(names[i], &v, 3, picks), 3);
        CHECK(picks[0] == 0 && picks[1] == 3 && picks[2] == 1); /* 0.5, 0.6, 0.8 */
    }
    /* The two disagree over three classes. */
    static const float three[6] = {0.48f, 0.47f, 0.05f, 0.5f, 0.25f, 0.25f};
    v.probs = three;
    v.ways = 3;
    v.n = 2;
    CHECK_EQ(choose_named("margin", &v, 1, picks), 1);
    CHECK_EQ(picks[0], 0);
    CHECK_EQ(choose_named("entropy", &v, 1, picks), 1);
    CHECK_EQ(picks[0], 1);
    /* The second best may come after the best, or before it. */
    static const float order[6] = {0.5f, 0.45f, 0.05f, 0.25f, 0.5f, 0.25f};
    v.probs = order;
    CHECK_EQ(choose_named("margin", &v, 1, picks), 1);
    CHECK_EQ(picks[0], 0);
}

TEST(equal_scores_are_taken_in_random_order)
{
    struct labeller l = {0};
    double seen[POOL] = {0}, chance[POOL];
    CHECK_OK(labeller_open(&l, "entropy"));
    for (int i = 0; i < 3000; i++) {
        struct label_view v = pool_view();
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t pick;
        for (int k = 0; k < POOL * 2; k++)
            pool_probs[k] = 0.5f;
        CHECK_EQ(choose_from(&l, v, 1, &r, &pick), 1);
        seen[pick]++;
    }
    for (int i = 0; i < POOL; i++)
        chance[i] = 1.0 / POOL;
    CHECK(chi_deviations(seen, chance, POOL) < 4);
    labeller_close(&l);
}

TEST(kcenter_takes_the_farthest_from_what_is_labelled)
{
    static const float line[5] = {0, 1, 2, 7, 10};
    uint8_t available[5] = {0, 1, 1, 1, 1};
    struct label_view v = {.n = 5, .ways = 2, .features = 1, .available = available, .reps = line};
    int32_t picks[4];
    CHECK_EQ(choose_named("kcenter", &v, 4, picks), 4);
    CHECK(picks[0] == 4 && picks[1] == 3 && picks[2] == 2 && picks[3] == 1);
    available[0] = 1; /* nothing labelled: somewhere, then the far end */
    CHECK_EQ(choose_named("kcenter", &v, 2, picks), 2);
    CHECK(picks[1] == (line[picks[0]] > 5 ? 0 : 4));
}

TEST(kmeans_and_kcenter_take_one_of_each_far_group)
{
    enum { K = 5, EACH = 12, N = K * EACH };
    float *x = blobs(K, EACH, 16, 1);
    uint8_t available[N];
    memset(available, 1, sizeof available);
    struct label_view v = {.n = N, .ways = K, .features = 16, .available = available, .reps = x};
    static const char *const names[] = {"kcenter", "kmeans"};
    for (int s = 0; s < 2; s++) {
        int32_t picks[K];
        int seen = 0;
        CHECK_EQ(choose_named(names[s], &v, K, picks), K);
        for (int i = 0; i < K; i++)
            seen |= 1 << picks[i] % K;
        CHECK(s == 1 || seen == (1 << K) - 1); /* k-means may end in a lesser optimum */
        CHECK(__builtin_popcount((unsigned)seen) >= K - 1);
    }
    free(x);
}

TEST(badge_seeds_by_the_distances_of_gradients)
{
    /* Against the definition, gradients written out: the first uniformly, the second
     * in proportion to the squared distance. */
    enum { N = 4, WAYS = 3, F = 2 };
    static const float reps[N * F] = {1, 0, 0, 2, -1, 1, 3, 3};
    static const float probs[N * WAYS] = {0.6f, 0.3f, 0.1f, 0.2f,  0.5f,  0.3f,
                                          0.4f, 0.3f, 0.3f, 0.96f, 0.02f, 0.02f};
    uint8_t available[N] = {1, 1, 1, 1};
    double g[N][WAYS * F], chance[N * N], seen[N * N] = {0};
    for (int i = 0; i < N; i++) {
        int best = 0;
        for (int c = 1; c < WAYS; c++)
            best = probs[i * WAYS + c] > probs[i * WAYS + best] ? c : best;
        for (int c = 0; c < WAYS; c++)
            for (int f = 0; f < F; f++)
                g[i][c * F + f] = (probs[i * WAYS + c] - (c == best)) * (double)reps[i * F + f];
    }
    for (int i = 0; i < N; i++) {
        double sum = 0;
        for (int k = 0; k < N; k++) {
            chance[i * N + k] = 0;
            for (int e = 0; e < WAYS * F; e++)
                chance[i * N + k] += (g[i][e] - g[k][e]) * (g[i][e] - g[k][e]);
            sum += chance[i * N + k];
        }
        for (int k = 0; k < N; k++)
            chance[i * N + k] /= N * sum;
    }
    struct labeller l = {0};
    CHECK_OK(labeller_open(&l, "badge"));
    struct label_view v = {
        .n = N, .ways = WAYS, .features = F, .available = available, .probs = probs, .reps = reps};
    for (int i = 0; i < DRAWS; i++) {
        struct rng r = rng_make(1, RNG_TEST, (uint64_t)i, 0);
        int32_t picks[2];
        CHECK_EQ(choose_from(&l, v, 2, &r, picks), 2);
        seen[picks[0] * N + picks[1]]++;
    }
    CHECK(chi_deviations(seen, chance, N * N) < 4);
    labeller_close(&l);
}

TEST(points_that_coincide_are_still_bought_once_each)
{
    static const char *const names[] = {"active",  "kmeans", "kcenter", "badge",
                                        "entropy", "margin", "random"};
    struct label_view v = pool_view();
    for (int i = 0; i < POOL * 2; i++) {
        pool_reps[i] = 1;
        pool_probs[i] = 0.5f;
    }
    for (int s = 0; s < 7; s++) {
        int32_t picks[POOL];
        int seen = 0;
        CHECK_EQ(choose_named(names[s], &v, POOL, picks), POOL);
        for (int i = 0; i < POOL; i++)
            seen |= 1 << picks[i];
        CHECK_EQ(seen, (1 << POOL) - 1);
    }
}

TESTS(T(seeding_has_the_published_distribution), T(seeding_stops_where_all_points_are_taken),
      T(seeding_takes_no_point_twice), T(kmeans_chooses_central_points_that_are_available),
      T(kmeans_ends_where_nothing_moves), T(seeding_leaves_the_random_numbers_it_did_not_use),
      T(quotas_are_equal_and_the_rest_is_spread_uniformly), T(full_clusters_get_no_more),
      T(active_draws_in_proportion_to_entropy),
      T(active_draws_in_proportion_to_the_exponential_of_entropy),
      T(active_leaves_what_is_bought_and_takes_all_there_is),
      T(clusters_may_be_kept_from_the_first_round),
      T(entropy_and_margin_take_the_least_certain_first), T(equal_scores_are_taken_in_random_order),
      T(kcenter_takes_the_farthest_from_what_is_labelled),
      T(kmeans_and_kcenter_take_one_of_each_far_group),
      T(badge_seeds_by_the_distances_of_gradients),
      T(points_that_coincide_are_still_bought_once_each))
