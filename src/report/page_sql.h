/* page_sql.h - pieces of the queries behind the page's studies. */
#ifndef REPORT_PAGE_SQL_H
#define REPORT_PAGE_SQL_H

/* The rows of a chart of lines, from a query (and a closing bracket) that gives panel, line,
 * colour, dash, x, y and bar, half the width of its interval or NULL. */
#define SQL_ROWS                                                                                   \
    "SELECT json_group_array(json_object('panel', panel, 'line', line, 'colour', colour, 'dash',"  \
    "  dash, 'x', x, 'y', y, 'lo', y - bar, 'hi', y + bar)) FROM ("

/* In a query over value and half of single runs; then the mean over seeds y and half widths
 * of two intervals, h over seeds (NULL for one) and w of the runs' own. */
#define SQL_SUMS                                                                                   \
    "count(*) AS k, sum(value) AS total, sum(value * value) AS squares,"                           \
    " iif(count(half) = count(*), sum(half * half), NULL) AS halves"
#define SQL_OVER_SEEDS                                                                             \
    "total / k AS y, (SELECT t FROM student WHERE df = min(k, 1001) - 1)"                          \
    " * sqrt(max(0, squares - total * total / k) / (k - 1) / k) AS h, sqrt(halves) / k AS w"

#endif
