/* page_pairs.c - does choosing labels pay?  Every variant beside its control. */
#include "report/page.h"
#include "report/prepare.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"

#include <stdlib.h>

#define SQL_ORDER                                                                                  \
    " ORDER BY r.dataset, r.ways, p.test_shots, coalesce(r.budget, 1e18), (SELECT min(run) FROM"   \
    " runs m WHERE m.method = r.method), r.shots, r.run"

#define SQL_PAIRS                                                                                  \
    " FROM pairs p JOIN (SELECT r.*, min(r.run), iif(n.apart = '', '', ', ' || n.apart) AS more"   \
    "  FROM runs r JOIN named n USING (variant) GROUP BY variant) r USING (variant)" SQL_ORDER

static const char forest_sql[] =
    "SELECT r.dataset || ' · ' || r.ways || 'w-' || p.test_shots || 's · ' ||"
    "  coalesce(show_count(r.budget) || ' labels', 'no cap') AS panel, r.method || ', ' || r.labels"
    "  || more AS line, r.method AS colour, r.labels || more AS dash, r.method || ', ' || r.labels"
    "  || more || ', ' || r.shots || iif(r.shots = 1, ' shot', ' shots') AS label,"
    "  100 * difference AS x, 100 * (difference - half) AS lo, 100 * (difference + half) AS"
    "  hi, " SQL_VERDICT " AS note" SQL_PAIRS;

static const char table_sql[] =
    "SELECT r.dataset AS 'data set', printf('%dw-%ds', r.ways, p.test_shots) AS task,"
    " coalesce(show_count(r.budget), 'no cap') AS budget, r.method, r.labels || more AS strategy,"
    " r.shots AS 'training shots', printf('%+.1f', 100 * difference) AS difference,"
    " '±' || printf('%.1f', 100 * half_tasks) AS 'over tasks', '±' || printf('%.1f', 100 *"
    " half_seeds) AS 'over seeds', seeds, better AS 'tasks better', worse AS 'tasks "
    "worse', " SQL_VERDICT " AS verdict, p.bn AS 'batch norm'" SQL_PAIRS;

static int count_verdict(struct page *p, const char *verdict, double *out)
{
    char *sql = mem_print("SELECT count(*) FROM pairs WHERE " SQL_VERDICT " LIKE '%s'", verdict);
    int err = page_number(p, sql, out);
    free(sql);
    return err;
}

static int add_verdict(struct page *p)
{
    double n = 0, better = 0, worse = 0, by_task = 0;
    int err = count_verdict(p, "%", &n);
    if (!err)
        err = count_verdict(p, "better", &better);
    if (!err)
        err = count_verdict(p, "worse", &worse);
    if (!err)
        err = page_number(p, "SELECT count(half_tasks) FROM pairs", &by_task);
    text_print(&p->html,
               "<p>Each run beside the run that differs only in who chose the labels: the same "
               "method, training shots, seed and test tasks. Of %.0f comparisons the strategy is "
               "better in %.0f and worse in %.0f, by more than the 95 %% interval; the others are "
               "undecided. Among so many some are decided by chance.%s</p>\n",
               n, better, worse,
               by_task == 0 ? " This database keeps no results of single test tasks, so that the "
                              "intervals are over seeds alone."
                            : "");
    return err;
}

int page_pairs(struct page *p)
{
    static const struct chart chart = {.id = "pairs",
                                       .title = "Difference from random labels",
                                       .kind = CHART_FOREST,
                                       .x = "difference in points of accuracy",
                                       .y = ""};
    double n = 0;
    int err = prepare_pairs(p->s);
    if (!err)
        err = page_number(p, "SELECT count(*) FROM pairs", &n);
    if (err || n == 0)
        return err;
    page_section(p, "labels", "Does choosing labels pay?", NULL);
    err = add_verdict(p);
    if (!err)
        err = page_chart(p, &chart,
                         "To the right of 0 the strategy is better. The interval is the wider of "
                         "those over seeds and over test tasks, or with fewer than three seeds "
                         "the one over tasks.",
                         forest_sql, table_sql);
    page_section_end(p);
    return err;
}
#endif
