/* format_text.c - a table for the terminal, and for Markdown. */
#include "report/format.h"
#include "report/sheet.h"
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *cell_text(const struct sheet_cell *c)
{
    if (!*c->text)
        return mem_string(c->from ? "-" : ""); /* the paper need not have it */
    return *c->half ? mem_print("%s ±%s", c->text, c->half) : mem_string(c->text);
}

static int at_least(int width, const char *text)
{
    int w = text_width(text);
    return w > width ? w : width;
}

static int label_width(const struct sheet *s, int l)
{
    int width = text_width(s->label_head[l]);
    for (int i = 0; i < s->lines; i++)
        width = at_least(width, s->label[i * s->labels + l]);
    return width;
}

static int column_width(const struct sheet *s, int j)
{
    int width = 0;
    for (int i = 0; i < s->lines; i++) {
        char *text = cell_text(&s->cell[i * s->columns + j]);
        width = at_least(width, text);
        free(text);
    }
    return s->heads ? at_least(width, s->head[(s->heads - 1) * s->columns + j]) : width;
}

/* Columns from..to of a table, beside each other. */
struct block {
    int from, to;
};

/* A header line: names centred over the columns that share them. */
static void print_head(struct text *out, const struct sheet *s, const int *width, int level,
                       struct block b)
{
    for (int j = b.from; j < b.to;) {
        int n = sheet_span(s, level, j);
        n = n < b.to - j ? n : b.to - j;
        int total = 2 * (n - 1);
        for (int k = j; k < j + n; k++)
            total += width[k];
        const char *name = s->head[level * s->columns + j];
        int blanks = n > 1 ? (total - text_width(name)) / 2 : 0;
        text_add(out, "  ");
        text_pad(out, "", blanks);
        if (j + n < b.to || n == 1)
            text_pad(out, name, n > 1 ? -(total - blanks) : total);
        else
            text_add(out, name);
        j += n;
    }
    text_add(out, "\n");
}

static void print_heads(struct text *out, const struct sheet *s, const int *labels,
                        const int *width, struct block b)
{
    for (int h = 0; h < s->heads || h == 0; h++) {
        bool last = h >= s->heads - 1;
        for (int l = 0; l < s->labels; l++) {
            text_add(out, l ? "  " : "");
            text_pad(out, last ? s->label_head[l] : "", -labels[l]);
        }
        if (s->heads)
            print_head(out, s, width, h, b);
        else
            text_add(out, "  accuracy\n");
    }
}

static void print_line(struct text *out, const struct sheet *s, int i, const int *labels,
                       const int *width, struct block b, bool colour)
{
    bool dim = colour && s->paper[i];
    text_add(out, dim ? "\033[2m" : "");
    for (int l = 0; l < s->labels; l++) {
        text_add(out, l ? "  " : "");
        text_pad(out, s->label[i * s->labels + l], -labels[l]);
    }
    for (int j = b.from; j < b.to; j++) {
        const struct sheet_cell *c = &s->cell[i * s->columns + j];
        char *text = cell_text(c), *marked = mem_print("%s%s", c->best && !colour ? "*" : "", text);
        text_add(out, c->best && colour ? " \033[1m" : " ");
        text_pad(out, marked, width[j] + 1);
        text_add(out, c->best && colour ? "\033[0m" : "");
        free(text);
        free(marked);
    }
    text_add(out, dim ? "\033[0m\n" : "\n");
}

/* The columns from `from` on that fit beside the labels, at least one: those that share a header
 * stay together where they can. */
static struct block next_block(const struct sheet *s, const int *labels, const int *width, int from,
                               int most)
{
    struct block b = {from, from};
    int used = 2 * (s->labels - 1);
    for (int l = 0; l < s->labels; l++)
        used += labels[l];
    while (b.to < s->columns && (b.to == from || most == 0 || used + 2 + width[b.to] <= most))
        used += 2 + width[b.to++];
    for (int j = from; s->heads > 1 && j < b.to && b.to < s->columns;) {
        int n = sheet_span(s, 0, j);
        if (j + n > b.to && j > from)
            b.to = j;
        j += n;
    }
    return b;
}

/* A sentence in lines of at most `most` columns; 0: in one. */
static void print_note(struct text *out, const char *note, int most)
{
    int at = 0;
    for (const char *word = note; *word;) {
        size_t bytes = strcspn(word, " ");
        char *copy = mem_print("%.*s", (int)bytes, word);
        int columns = text_width(copy);
        bool breaks = most > 0 && at > 0 && at + 1 + columns > most;
        text_add(out, breaks ? "\n" : at > 0 ? " " : "");
        text_add(out, copy);
        at = (breaks || at == 0 ? 0 : at + 1) + columns;
        word += bytes + strspn(word + bytes, " ");
        free(copy);
    }
    text_add(out, "\n");
}

void format_text(struct text *out, const struct table *t, bool colour, int most)
{
    struct sheet s;
    sheet_open(&s, t);
    int *labels = mem_array((size_t)s.labels + 1, sizeof *labels);
    int *width = mem_array((size_t)s.columns + 1, sizeof *width);
    for (int l = 0; l < s.labels; l++)
        labels[l] = label_width(&s, l);
    for (int j = 0; j < s.columns; j++)
        width[j] = column_width(&s, j);
    text_print(out, "%s%s%s\n", colour ? "\033[1m" : "", t->title, colour ? "\033[0m" : "");
    struct block b = {0, 0};
    while (s.lines && (b.to < s.columns || (b.to == 0 && s.columns == 0))) {
        text_add(out, b.to ? "\n" : "");
        b = next_block(&s, labels, width, b.to, most);
        print_heads(out, &s, labels, width, b);
        for (int i = 0; i < s.lines; i++)
            print_line(out, &s, i, labels, width, b, colour);
        if (s.columns == 0)
            break;
    }
    char *note;
    for (int i = 0; (note = table_note(t, i)); i++, free(note))
        print_note(out, note, most);
    if (s.lines)
        print_note(out,
                   colour ? "Bold: the best of its row, or not told apart from it by the intervals."
                          : "*: the best of its row, or not told apart from it by the intervals.",
                   most);
    free(labels);
    free(width);
    sheet_release(&s);
}

/* What would end a cell, or be a tag, code or emphasis. */
static void add_markdown(struct text *out, const char *s)
{
    for (; *s; s++) {
        if (strchr("|\\`*<", *s))
            text_add(out, "\\");
        text_add_bytes(out, s, 1);
    }
}

static void add_styled(struct text *out, const char *text, const char *style)
{
    text_print(out, "%s%s", *text ? " " : "", *text ? style : "");
    add_markdown(out, text);
    text_print(out, "%s |", *text ? style : "");
}

void format_markdown(struct text *out, const struct table *t)
{
    struct sheet s;
    sheet_open(&s, t);
    text_add(out, "### ");
    add_markdown(out, t->title);
    text_add(out, "\n\n|");
    for (int l = 0; l < s.labels; l++)
        add_styled(out, s.label_head[l], "");
    for (int j = 0; j < s.columns; j++) {
        for (int h = 0; h < s.heads; h++) {
            text_add(out, " ");
            add_markdown(out, s.head[h * s.columns + j]);
        }
        text_add(out, s.heads ? " |" : " accuracy |");
    }
    text_add(out, "\n|");
    for (int k = 0; k < s.labels + s.columns; k++)
        text_add(out, k < s.labels ? "---|" : "---:|");
    text_add(out, "\n");
    for (int i = 0; i < s.lines; i++) {
        text_add(out, "|");
        for (int l = 0; l < s.labels; l++)
            add_styled(out, s.label[i * s.labels + l], s.paper[i] ? "*" : "");
        for (int j = 0; j < s.columns; j++) {
            const struct sheet_cell *c = &s.cell[i * s.columns + j];
            char *text = cell_text(c);
            add_styled(out, text, c->best ? "**" : s.paper[i] ? "*" : "");
            free(text);
        }
        text_add(out, "\n");
    }
    text_add(out, "\n");
    char *note;
    for (int i = 0; (note = table_note(t, i)); i++, free(note))
        add_markdown(out, note), text_add(out, "\n");
    sheet_release(&s);
}
#endif
