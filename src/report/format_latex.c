/* format_latex.c - a table for a paper: tabular with booktabs rules. */
#include "report/format.h"
#include "report/sheet.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include <stdlib.h>
#include <string.h>

/* LaTeX's ten special characters. */
static void add_escaped(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (strncmp(s, "±", 2) == 0) {
            text_add(out, "$\\pm$");
            s++;
        } else if (strchr("&%$#_{}", *s)) {
            text_print(out, "\\%c", *s);
        } else if (strchr("~^\\", *s)) {
            text_print(out, "\\char`\\%c{}", *s);
        } else {
            text_add_bytes(out, s, 1);
        }
    }
}

static void add_heads(struct text *out, const struct sheet *s)
{
    for (int h = 0; h < s->heads || h == 0; h++) {
        bool last = h >= s->heads - 1;
        for (int l = 0; l < s->labels; l++) {
            text_add(out, l ? " & " : "        ");
            add_escaped(out, last ? s->label_head[l] : "");
        }
        for (int j = 0; s->heads && j < s->columns;) {
            int n = last ? 1 : sheet_span(s, h, j);
            if (n > 1)
                text_print(out, " & \\multicolumn{%d}{c}{\\textbf{", n);
            else
                text_add(out, " & ");
            add_escaped(out, s->head[h * s->columns + j]);
            text_add(out, n > 1 ? "}}" : "");
            j += n;
        }
        text_add(out, s->heads ? " \\\\\n" : " & accuracy \\\\\n");
    }
    text_add(out, "        \\midrule\n");
}

static void add_cell(struct text *out, const struct sheet_cell *c)
{
    text_add(out, " & ");
    if (!*c->text) {
        text_add(out, "--");
        return;
    }
    text_print(out, c->best ? "\\textbf{%s}" : "%s", c->text);
    if (*c->half)
        text_print(out, " {\\tiny $\\pm$%s}", c->half);
}

void format_latex(struct text *out, const struct table *t)
{
    struct sheet s;
    sheet_open(&s, t);
    text_add(out, "\\begin{table}[t]\n    \\centering\n    \\caption{");
    add_escaped(out, t->title);
    text_add(out, ".");
    char *note;
    for (int i = 0; (note = table_note(t, i)); i++, free(note)) {
        text_add(out, " ");
        add_escaped(out, note);
    }
    text_add(out, "}\n    \\begin{tabular}{");
    for (int k = 0; k < s.labels + s.columns; k++)
        text_add(out, k < s.labels ? "l" : "r");
    text_add(out, "}\n        \\toprule\n");
    add_heads(out, &s);
    for (int i = 0; i < s.lines; i++) {
        text_add(out, "        ");
        for (int l = 0; l < s.labels; l++) {
            text_add(out, l ? " & " : "");
            text_add(out, s.paper[i] && l == s.labels - 1 ? "\\emph{" : "");
            add_escaped(out, s.label[i * s.labels + l]);
            text_add(out, s.paper[i] && l == s.labels - 1 ? "}" : "");
        }
        for (int j = 0; j < s.columns; j++)
            add_cell(out, &s.cell[i * s.columns + j]);
        text_add(out, " \\\\\n");
    }
    text_add(out, "        \\bottomrule\n    \\end{tabular}\n\\end{table}\n");
    sheet_release(&s);
}
#endif
