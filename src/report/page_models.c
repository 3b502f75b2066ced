/* page_models.c - how sure the models are, and what they do for single users. */
#include "report/page.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"

static const char calibration_sql[] =
    "SELECT panel, line, method AS colour, dash, 100 * confidence / n AS x, 100 * correct / n AS y,"
    "  printf('%d predictions', n) AS note FROM"
    " (SELECT c.panel || ' · ' || c.test_shots || '-shot tests' AS panel, c.method, c.line,"
    "  c.dash, b.bin, sum(b.n) AS n, sum(b.confidence) AS confidence, sum(b.correct) AS correct"
    "  FROM chosen c JOIN runs r USING (variant) JOIN tests t ON t.run = r.run"
    "  AND t.model = 'best' AND t.shots = c.test_shots AND t.support = c.support"
    "  AND t.bn = c.bn JOIN calibration b ON b.run = t.run AND b.test = t.test"
    "  GROUP BY c.variant, c.test_shots, c.support, c.bn, b.bin"
    "  HAVING sum(b.n) >= 20 ORDER BY c.place, b.bin)";

static const char calibration_table_sql[] =
    "SELECT panel AS benchmark, test_shots AS 'test shots', method, dash AS labels,"
    " printf('%.1f', 100 * accuracy) AS 'accuracy, %', bn AS 'batch norm',"
    " printf('%.3f', ece) AS 'calibration error (ECE)' FROM chosen ORDER BY place";

int page_calibration(struct page *p)
{
    double n = 0;
    int err = page_number(
        p, "SELECT count(*) FROM calibration JOIN runs USING (run) JOIN chosen USING (variant)",
        &n);
    if (err || n == 0)
        return err;
    static const struct chart chart = {.id = "calibration",
                                       .title = "Confidence and accuracy",
                                       .kind = CHART_PERCENT,
                                       .x = "confidence, %",
                                       .y = "accuracy, %"};
    page_section(p, "calibration", "How sure are the models?",
                 "Query predictions by their confidence. On the dashed line a model that says "
                 "80 % is right in 80 % of cases; below it, it is overconfident.");
    err = page_chart(p, &chart, "Bins of fewer than 20 predictions are left out.", calibration_sql,
                     calibration_table_sql);
    page_section_end(p);
    return err;
}

static const char users_sql[] =
    "SELECT c.panel || ' · ' || c.test_shots || '-shot tests · ' || c.line AS panel, c.line,"
    " c.method AS colour, c.dash, 'user ' || x.user AS note, x.before AS x, x.after AS y"
    " FROM (SELECT r.variant, t.shots, t.support, t.bn, x.user, avg(100 * x.accuracy_before)"
    "   AS before, avg(100 * x.accuracy) AS after FROM runs r JOIN shown USING (run)"
    "   JOIN tests t ON t.run = r.run AND t.model = 'best' JOIN task_results x"
    "   ON x.run = t.run AND x.test = t.test WHERE x.user IS NOT NULL"
    "   GROUP BY r.variant, t.shots, t.support, t.bn, x.user) x"
    " JOIN chosen c ON c.variant = x.variant AND c.test_shots = x.shots"
    "  AND c.support = x.support AND c.bn = x.bn ORDER BY c.place";

/* How every user fares; `more` columns behind how many are made worse. */
#define USERS_TABLE(more)                                                                          \
    "SELECT c.panel AS benchmark, c.test_shots AS 'test shots', c.method, c.dash AS labels,"       \
    " max(u.users) AS users, printf('%.1f', 100 * avg(u.mean_before)) AS 'before, %',"             \
    " printf('%.1f', 100 * avg(u.mean)) AS 'after, %',"                                            \
    " printf('%.1f', 100 * avg(u.weighted_mean)) AS 'after, by query size, %',"                    \
    " printf('%.1f', 100 * avg((SELECT d.mean FROM user_deciles d WHERE d.run = u.run"             \
    "  AND d.test = u.test AND d.decile = 1))) AS 'worst tenth, %',"                               \
    " printf('%.1f', 100 * avg((SELECT d.mean FROM user_deciles d WHERE d.run = u.run"             \
    "  AND d.test = u.test AND d.decile = 10))) AS 'best tenth, %',"                               \
    " printf('%.1f', 100 * min(u.worst)) AS 'worst, %',"                                           \
    " printf('%.1f', 100 * avg(u.worse_share)) AS 'made worse, % of users'," more                  \
    " c.bn AS 'batch norm'"                                                                        \
    " FROM chosen c JOIN runs r USING (variant) JOIN users u ON u.run = r.run"                     \
    "  AND u.model = 'best' AND u.test_shots = c.test_shots AND u.bn = c.bn"                       \
    " JOIN tests t ON t.run = u.run AND t.test = u.test"                                           \
    " GROUP BY c.variant, c.test_shots, c.bn ORDER BY c.place"

static const char users_table_sql[] = USERS_TABLE("");
static const char users_keep_sql[] =
    USERS_TABLE(" iif(count(t.adapted_worse_share), printf('%.1f', 100 * "
                "avg(t.adapted_worse_share)), '') AS 'worse if all adapt, %',"
                " iif(count(t.adapted_accuracy), printf('%.1f', 100 * avg(t.adapted_accuracy)), "
                "'') AS 'after if all adapt, %',"
                " iif(count(t.kept_share), printf('%.1f', 100 * avg(t.kept_share)), '') AS 'keep "
                "the model for all, %',");

int page_users(struct page *p)
{
    double n = 0, keeps = 0;
    int err = page_number(
        p, "SELECT count(*) FROM users u JOIN shown USING (run) WHERE u.model = 'best'", &n);
    if (!err && n > 0)
        err = page_number(p, "SELECT count(kept_share) FROM tests JOIN shown USING (run)", &keeps);
    if (err || n == 0)
        return err;
    static const struct chart chart = {.id = "users",
                                       .title = "Every user before and after",
                                       .kind = CHART_SCATTER,
                                       .x = "accuracy before, %",
                                       .y = "accuracy after, %"};
    page_section(p, "users", "Who gains, who loses",
                 "Tasks are users here. A point is one user, mean over seeds; above the dashed "
                 "line personalisation helped, below it made things worse.");
    err = page_chart(p, &chart, NULL, users_sql, keeps ? users_keep_sql : users_table_sql);
    page_section_end(p);
    return err;
}
#endif
