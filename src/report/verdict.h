/* verdict.h - what a database comes to, in a few sentences: who leads at each budget and by how
 * much, and whether choosing labels paid.  "Leads" and "helps" mean: by more than the interval
 * of the paired difference (prepare.h); else it says "undecided".
 */
#ifndef REPORT_VERDICT_H
#define REPORT_VERDICT_H

struct store;

/* After report_prepare().  "" where nothing has been measured; free() it. */
int verdict_read(struct store *s, char **out);

/* A table of 80 columns, a row for each method and strategy, and the verdict below; free() it. */
int summary_read(struct store *s, char **out);

#endif
