/* prepare.h - what the page and the summary read, as temporary tables of the database:
 *
 *   shown     the runs looked at
 *   named     of each variant the settings that keep it apart from others of its cell
 *   chosen    for every cell and test the variant with the best validation accuracy, in the
 *             order of the page (`place`); settings that vary within what a cell would be keep
 *             cells apart, and are named in `line` and `dash` ("active, train.resplit=yes")
 *   cells     one test of each cell
 *   head      of `chosen` the tests of one protocol: one kind of support and of batch norm, and
 *             learners that have none
 *   cell_seeds  the single runs behind `chosen`
 *   contests  pairs of `head` compared run by run: kind 'labels', a strategy against random
 *             labels with the same method; kind 'method', the leader against the best of each
 *             other method.  `half` is the wider of the 95 % intervals over seeds and over test
 *             tasks; with fewer than three seeds it is the one over tasks; NULL: none.
 *   pairs     the same for every variant and its control (prepare_pairs)
 */
#ifndef REPORT_PREPARE_H
#define REPORT_PREPARE_H

struct store;

enum { SEEDS_ENOUGH = 3 }; /* for an interval over seeds: of two, Student's t is 12.7 */

int report_prepare_runs(struct store *s, const char *suite); /* shown and named alone */
int report_prepare(struct store *s, const char *suite);      /* `suite` NULL: all runs */
int prepare_pairs(struct store *s);

/* For queries: shown or not, by one interval; `of` is the table, "c." or "". */
#define SQL_VERDICT_OF(of)                                                                         \
    "CASE WHEN " of "half IS NULL THEN 'undecided' WHEN difference > " of "half THEN 'better'"     \
    " WHEN -difference > " of "half THEN 'worse' ELSE 'undecided' END"
#define SQL_VERDICT SQL_VERDICT_OF("")

#endif
