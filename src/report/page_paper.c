/* page_paper.c - our numbers beside the paper's, cell by cell. */
#include "report/beside.h"
#include "report/page.h"

#ifdef METE_HAVE_SQLITE
#include <math.h>
#include <stdlib.h>

static void add_cell(struct text *t, const struct beside_cell *c)
{
    text_add(t, "<tr><td>");
    html_add(t, c->test);
    text_add(t, "</td><td>");
    html_add(t, c->method);
    text_add(t, "</td><td>");
    html_add(t, c->labels);
    text_print(t, "</td><td class=\"n\">%.1f", c->accuracy);
    if (!isnan(c->half))
        text_print(t, " ±%.1f", c->half);
    text_print(t, "</td><td class=\"n\">%.1f</td><td class=\"n\">%+.1f</td><td>%s</td></tr>\n",
               c->paper.accuracy, c->accuracy - c->paper.accuracy, beside_word(c->verdict));
}

int page_paper(struct page *p)
{
    struct beside_cells c;
    int err = beside_read(&c, p->s);
    if (!err && c.n > 0) {
        char *sentence = beside_sentence(&c);
        page_section(p, "paper", "Beside the paper", sentence);
        text_add(&p->html,
                 "<details><summary>Cell by cell</summary>\n<div class=\"scroll\" tabindex=\"0\" "
                 "role=\"region\" aria-label=\"Cell by cell beside the paper\"><table><thead><tr>"
                 "<th scope=\"col\">test</th><th scope=\"col\">method</th><th scope=\"col\">labels"
                 "</th><th scope=\"col\" class=\"n\">here, %</th><th scope=\"col\" class=\"n\">"
                 "paper, %</th><th scope=\"col\" class=\"n\">apart</th><th "
                 "scope=\"col\">verdict</th></tr>"
                 "</thead><tbody>\n");
        for (int i = 0; i < c.n; i++)
            add_cell(&p->html, &c.at[i]);
        text_add(&p->html, "</tbody></table></div></details>\n");
        page_section_end(p);
        free(sentence);
    }
    beside_release(&c);
    return err;
}
#endif
