/* format.h - tables as text, Markdown, LaTeX, CSV and JSON. */
#ifndef REPORT_FORMAT_H
#define REPORT_FORMAT_H

#include "base/text.h"
#include "report/table.h"

/* In lines of at most `most` columns, if it is not 0: columns that do not fit follow below. */
void format_text(struct text *out, const struct table *t, bool colour, int most);
void format_markdown(struct text *out, const struct table *t);
void format_latex(struct text *out, const struct table *t); /* needs booktabs */

/* Long: a line for every variant and test, chosen or not; the header with the first. */
void format_csv(struct text *out, const struct table *t, const char *suite, bool header);

struct jsonw;
void format_json(struct jsonw *w, const struct table *t, const char *suite); /* one object */

#endif
