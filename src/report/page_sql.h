/* page_sql.h - pieces of the queries behind the page's studies. */
#ifndef REPORT_PAGE_SQL_H
#define REPORT_PAGE_SQL_H

/* The rows of a chart of lines, from a query (and a closing bracket) that gives panel, line,
 * colour, dash, x, y and bar, half the width of its interval or NULL. */
#define SQL_ROWS "SELECT *, y - bar AS lo, y + bar AS hi FROM ("

/* In a query over value and half of single runs; then the mean over seeds y and half widths
 * of two intervals, h over seeds (NULL for fewer than three) and w of the runs' own. */
#define SQL_SUMS                                                                                   \
    "count(*) AS k, sum(value) AS total, sum(value * value) AS squares,"                           \
    " iif(count(half) = count(*), sum(half * half), NULL) AS halves"
#define SQL_OVER_SEEDS                                                                             \
    "total / k AS y, iif(k >= 3, (SELECT t FROM student WHERE df = min(k, 1001) - 1)"              \
    " * sqrt(max(0, squares - total * total / k) / (k - 1) / k), NULL) AS h,"                      \
    " sqrt(halves) / k AS w"

#endif
