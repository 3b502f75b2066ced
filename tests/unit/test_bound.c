/* test_bound.c - the closed forms against 60 digits, their limits, and their domain. */
#include "theory/bound.h"

#include "test.h"

enum { INPUTS = 15, OUTPUTS = 7, COLUMNS = INPUTS + OUTPUTS };

static struct mete_bound_setting setting_of(const double *row)
{
    struct mete_bound_setting s = mete_bound_defaults();
    s.estimator = row[0] != 0 ? METE_ESTIMATOR_EMPIRICAL : METE_ESTIMATOR_HELDOUT;
    s.n = row[1];
    s.m = row[2];
    s.delta = row[3];
    s.max_loss = row[4];
    s.rescale = row[5] != 0;
    s.tight = row[6] != 0;
    struct mete_sgm *loops[] = {&s.outer, &s.inner};
    for (int i = 0; i < 2; i++) {
        loops[i]->lipschitz = row[7 + 4 * i];
        loops[i]->smooth = row[8 + 4 * i];
        loops[i]->c = row[9 + 4 * i];
        loops[i]->steps = row[10 + 4 * i];
    }
    return s;
}

static bool read_row(FILE *file, double row[COLUMNS])
{
    for (int i = 0; i < COLUMNS; i++)
        if (fscanf(file, i ? ",%lf" : " %lf", &row[i]) != 1)
            return false;
    return true;
}

static double relative(double a, double b)
{
    return a == b ? 0 : fabs(a - b) / fabs(b);
}

TEST(closed_forms_agree_with_60_digits_to_1e_12)
{
    FILE *file = fopen("tests/golden/bound.csv", "r");
    CHECK(file);
    double row[COLUMNS], worst = 0;
    int rows = 0, skipped = fscanf(file, "%*[^\n]");
    (void)skipped; /* the header */
    while (read_row(file, row)) {
        struct mete_bound_setting s = setting_of(row);
        struct mete_bound b;
        CHECK_OK(mete_bound(&s, &b));
        bool inner = s.estimator == METE_ESTIMATOR_EMPIRICAL;
        const double got[OUTPUTS] = {b.outer_c,
                                     b.outer_beta,
                                     b.outer,
                                     inner ? b.inner_c : row[INPUTS + 3],
                                     inner ? b.inner_beta : row[INPUTS + 4],
                                     b.inner,
                                     b.total};
        for (int i = 0; i < OUTPUTS; i++) {
            double off = relative(got[i], row[INPUTS + i]);
            if (!(off <= 1e-12))
                FAIL_TEST("row %d, output %d is %.17g, not %.17g", rows + 2, i, got[i],
                          row[INPUTS + i]);
            worst = fmax(worst, off);
        }
        CHECK_EQ(b.vacuous, row[COLUMNS - 1] > s.max_loss);
        rows++;
    }
    CHECK(feof(file));
    fclose(file);
    CHECK(rows > 300);
    CHECK(worst > 0); /* the golden values do not come from here */
}

TEST(the_appendix_form_of_b_prime_is_theorem_2_with_the_lemma)
{
    const double ns[] = {2, 3, 10, 1e3, 3e4, 1e6, 1e12}, deltas[] = {1e-12, 0.05, 1};
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 3; j++) {
            struct mete_bound_setting s = mete_bound_defaults();
            struct mete_bound b;
            s.n = ns[i];
            s.delta = deltas[j];
            s.max_loss = 0.7;
            s.outer = (struct mete_sgm){
                .lipschitz = 3, .smooth = 0.4, .c = 0.2, .steps = 5000, .batch = 1, .beta = NAN};
            CHECK_OK(mete_bound(&s, &b));
            double n = s.n, c = b.outer_c, ratio = 1 + 1 / (n - 1);
            double form = 2 * c / n * ratio +
                          2 * c * sqrt(2 * log(1 / s.delta) / n) * (ratio + s.max_loss / (4 * c));
            CHECK(relative(b.total, form) < 1e-13);
            s.outer.beta = c / (n - 1);
            struct mete_bound direct;
            CHECK_OK(mete_bound(&s, &direct));
            CHECK(relative(direct.total, b.total) < 1e-15);
        }
}

TEST(empirical_bound_adds_twice_the_inner_stability)
{
    struct mete_bound_setting s = mete_bound_defaults();
    struct mete_bound heldout, empirical;
    s.n = 100;
    s.m = 20;
    s.inner.steps = 7;
    CHECK_OK(mete_bound(&s, &heldout));
    s.estimator = METE_ESTIMATOR_EMPIRICAL;
    CHECK_OK(mete_bound(&s, &empirical));
    CHECK(isnan(heldout.inner_beta));
    CHECK_NEAR(empirical.total - heldout.total, 2 * empirical.inner_beta, 1e-12);
    CHECK_NEAR(empirical.inner_beta, 2 * sqrt(2 * 7.0) / 19, 1e-14);
    s.inner.beta = 0.25; /* Theorem 1, with a stability that is known */
    CHECK_OK(mete_bound(&s, &empirical));
    CHECK_NEAR(empirical.inner, 0.5, 0);
}

TEST(gamma_zero_is_infinite_as_printed_and_finite_when_tight)
{
    struct mete_sgm a = {.lipschitz = 1, .smooth = 0, .c = 1, .steps = 1000};
    CHECK(isinf(bound_lemma(&a, 1, false)));
    CHECK_NEAR(bound_lemma(&a, 1, true), exp(1) * 2 * log(500), 1e-12);
    a.smooth = 1e-300; /* as printed it grows as 2 L^2 / gamma */
    CHECK(relative(bound_lemma(&a, 1, false), 2e300) < 1e-12);
    a.smooth = 50; /* large enough: tight changes nothing */
    CHECK(relative(bound_lemma(&a, 1, true), bound_lemma(&a, 1, false)) == 0);
}

/* mete_bound_best() by trying every pair. */
static struct mete_bound every_pair(struct mete_bound_setting s, double budget, double per_task)
{
    struct mete_bound best = {.total = INFINITY}, b;
    double least = s.m;
    for (s.m = least; 2 * (s.m + per_task) <= budget; s.m++)
        for (s.n = 2; s.n * (s.m + per_task) <= budget; s.n++)
            if (mete_bound(&s, &b) == 0 && b.total < best.total)
                best = b;
    return best;
}

TEST(the_best_split_of_a_budget_is_the_best_of_all_pairs)
{
    const double budgets[] = {8, 37, 100, 1000, 1999}, costs[] = {0, 1, 7.5};
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) {
                struct mete_bound_setting s = mete_bound_defaults();
                struct mete_bound best;
                s.m = 2;
                s.estimator = k ? METE_ESTIMATOR_EMPIRICAL : METE_ESTIMATOR_HELDOUT;
                s.inner.lipschitz = k; /* 1 to 3: ever more points per task are worth while */
                if (budgets[i] < 2 * (2 + costs[j]))
                    continue;
                CHECK_OK(mete_bound_best(&s, budgets[i], costs[j], &best));
                struct mete_bound all = every_pair(s, budgets[i], costs[j]);
                CHECK_NEAR(best.total, all.total, 0);
                CHECK_NEAR(best.n, all.n, 0);
                CHECK_NEAR(best.m, all.m, 0);
                CHECK(best.n * (best.m + costs[j]) <= budgets[i]);
            }
}

TEST(a_split_keeps_the_least_number_of_points_asked_for)
{
    struct mete_bound_setting s = mete_bound_defaults();
    struct mete_bound best;
    s.m = 60;
    CHECK_OK(mete_bound_best(&s, 1000, 15, &best));
    CHECK_EQ(best.m, 60);
    CHECK_EQ(best.n, 13);
    s.m = 0;
    CHECK_OK(mete_bound_best(&s, 1e12, 0, &best));
    CHECK_EQ(best.n, 500000000000);
    CHECK_EQ(mete_bound_best(&s, 3, 0, &best), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "does not pay for two tasks");
    CHECK_EQ(mete_bound_best(&s, NAN, 0, &best), METE_EINVAL);
    CHECK_EQ(mete_bound_best(&s, 1e13, 0, &best), METE_EINVAL);
}

static const char *why(struct mete_bound_setting s)
{
    struct mete_bound b = {.total = 42};
    int err = mete_bound(&s, &b);
    return err == METE_EINVAL && b.total == 42 ? mete_errmsg() : "(accepted)";
}

TEST(what_is_out_of_domain_is_refused_with_a_sentence)
{
    struct mete_bound_setting ok = mete_bound_defaults(), s;
    ok.n = 10;
    ok.m = 10;
    ok.estimator = METE_ESTIMATOR_EMPIRICAL;
    CHECK_STR(why(ok), "(accepted)");
    s = ok, s.n = 1;
    CHECK_STR(why(s), "n, the number of tasks, must be a whole number of at least 2, got 1");
    s = ok, s.n = 10.5;
    CHECK_HAS(why(s), "whole number");
    s = ok, s.n = INFINITY;
    CHECK_HAS(why(s), "whole number");
    s = ok, s.m = 1;
    CHECK_HAS(why(s), "m, the number of points per task,");
    s = ok, s.delta = 0;
    CHECK_STR(why(s), "delta must lie in (0, 1], got 0");
    s = ok, s.delta = 1.5;
    CHECK_HAS(why(s), "delta");
    s = ok, s.delta = NAN;
    CHECK_HAS(why(s), "delta");
    s = ok, s.outer.smooth = -1;
    CHECK_STR(why(s), "outer gamma must be a number of at least 0, got -1");
    s = ok, s.inner.lipschitz = -1e-9;
    CHECK_HAS(why(s), "inner L must be");
    s = ok, s.inner.steps = 2.5;
    CHECK_HAS(why(s), "inner T must be a whole number");
    s = ok, s.outer.beta = -0.1;
    CHECK_HAS(why(s), "outer beta");
    s = ok, s.max_loss = 0;
    CHECK_HAS(why(s), "M must be");
    s = ok, s.loss_seen = 1.2;
    CHECK_STR(why(s), "M = 1 is below the largest loss seen, 1.2: the loss must lie in [0, M]");
    enum mete_estimator e;
    CHECK_EQ(mete_bound_method("mamll", &e), METE_EINVAL);
    CHECK_HAS(mete_errmsg(), "'mamll'");
}

/* The ids of a setting's notes, those of broken assumptions marked with '!'. */
static const char *notes_of(const struct mete_bound_setting *s)
{
    static char all[256];
    char text[256];
    const char *id;
    bool broken;
    all[0] = 0;
    for (int i = 0; mete_bound_note(s, i, &id, &broken, text, sizeof text); i++) {
        strcat(strcat(strcat(all, i ? " " : ""), broken ? "!" : ""), id);
        if (!text[0] || strlen(text) + 1 == sizeof text)
            return "(no sentence, or cut off)";
    }
    return all;
}

TEST(notes_name_the_assumptions_a_setting_breaks)
{
    struct mete_bound_setting s = mete_bound_defaults();
    s.n = s.m = 10;
    CHECK_OK(mete_bound_method("maml", &s.estimator));
    CHECK_STR(notes_of(&s), "outer-gamma no-m"); /* gamma c = 1 and T = 1: T bounds C already */
    CHECK_OK(mete_bound_method("fedavg", &s.estimator));
    s.tight = true;
    CHECK_STR(notes_of(&s), "");
    s.max_loss = 2;
    CHECK_STR(notes_of(&s), "!outer-range !inner-range");
    s.rescale = true;
    CHECK_STR(notes_of(&s), "");
    s.inner.lr = 0.1;
    s.inner.steps = 5;
    s.inner.c = 0.4;
    CHECK_STR(notes_of(&s), "!inner-step");
    s.inner.c = 0.5;
    CHECK_STR(notes_of(&s), "inner-step");
    s.inner.c = 0; /* taken as lr * T */
    CHECK_STR(notes_of(&s), "inner-step");
    s.outer.adam = true;
    s.outer.batch = 20;
    CHECK_STR(notes_of(&s), "inner-step !outer-adam !outer-batch");
    s.outer.beta = s.inner.beta = 0.01; /* no lemma, no assumptions of the lemma */
    CHECK_STR(notes_of(&s), "");
}

TESTS(T(closed_forms_agree_with_60_digits_to_1e_12),
      T(the_appendix_form_of_b_prime_is_theorem_2_with_the_lemma),
      T(empirical_bound_adds_twice_the_inner_stability),
      T(gamma_zero_is_infinite_as_printed_and_finite_when_tight),
      T(the_best_split_of_a_budget_is_the_best_of_all_pairs),
      T(a_split_keeps_the_least_number_of_points_asked_for),
      T(what_is_out_of_domain_is_refused_with_a_sentence),
      T(notes_name_the_assumptions_a_setting_breaks))
