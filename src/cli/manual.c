/* manual.c - the manual page mete(1), from the commands' descriptions. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

/* Text as troff takes it: no control lines, hyphens that can be copied. */
static void put(FILE *to, const char *text, int length)
{
    if (length > 0 && (*text == '.' || *text == '\''))
        fputs("\\&", to);
    for (int i = 0; i < length; i++)
        if (text[i] == '\\')
            fputs("\\e", to);
        else if (text[i] == '-')
            fputs("\\-", to);
        else
            fputc(text[i], to);
}

static void put_text(FILE *to, const char *text)
{
    put(to, text, (int)strlen(text));
}

/* Lines: those that begin with a blank stay as they are, the others are filled. */
static void put_lines(FILE *to, const char *text)
{
    bool fixed = false;
    for (const char *at = text; *at;) {
        int length = (int)strcspn(at, "\n");
        bool keep = *at == ' ';
        if (keep != fixed)
            fputs(keep ? ".PP\n.nf\n" : ".fi\n", to);
        fixed = keep;
        if (length == 0)
            fputs(".PP\n", to);
        else {
            put(to, at, length);
            fputc('\n', to);
        }
        at += length + (at[length] == '\n');
    }
    if (fixed)
        fputs(".fi\n", to);
}

static void put_more(FILE *to, void (*more)(FILE *to))
{
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return;
    more(memory);
    fclose(memory);
    put_lines(to, text + strspn(text, "\n"));
    free(text);
}

static void put_command(FILE *to, const struct command *c)
{
    fputs(".SS \"mete ", to);
    put_text(to, c->name);
    if (c->words) {
        fputc(' ', to);
        put_text(to, c->words);
    }
    fputs(c->options ? " [options]\"\n" : "\"\n", to);
    put_lines(to, c->about);
    if (c->more)
        put_more(to, c->more);
    for (const struct option *o = c->options; o && o->name; o++) {
        fputs(".TP\n\\fB", to);
        put_text(to, o->name);
        fputs("\\fR", to);
        if (o->value) {
            fputs(" \\fI", to);
            put_text(to, o->value);
            fputs("\\fR", to);
        }
        fputc('\n', to);
        put_text(to, o->help);
        fputc('\n', to);
    }
    if (c->examples) {
        fputs(".PP\nExamples:\n.PP\n.nf\n.RS\n", to);
        for (const char *at = c->examples; *at;) {
            int length = (int)strcspn(at, "\n");
            put(to, at, length);
            fputc('\n', to);
            at += length + (at[length] == '\n');
        }
        fputs(".RE\n.fi\n", to);
    }
}

void manual_print(FILE *to)
{
    fprintf(to, ".TH METE 1 \"\" \"mete %s\" \"mete\"\n", mete_version());
    fputs(".SH NAME\nmete \\- meta\\-learning on a label budget\n"
          ".SH SYNOPSIS\n.B mete\n.I COMMAND\n[options]\n"
          ".SH DESCRIPTION\n"
          "mete trains and compares meta\\-learning methods under a hard limit on the number of "
          "labels that\nthey may buy.  A benchmark is written "
          "\\fIdataset\\fR:\\fIWAYS\\fRw\\-\\fISHOTS\\fRs@\\fIBUDGET\\fR, for example "
          "omniglot:5w\\-1s@30K.\n"
          ".SH COMMANDS\n",
          to);
    for (int i = 0; commands[i]; i++)
        put_command(to, commands[i]);
    fputs(".SH EXIT STATUS\n"
          ".TP\n0\nThe work is done.\n.TP\n1\nThe work failed.\n"
          ".TP\n2\nThe command was asked wrongly: an unknown option, setting or name.\n"
          ".TP\n130, 143\nThe work was stopped by Ctrl\\-C or by SIGTERM.\n"
          ".SH ENVIRONMENT\n"
          ".TP\n.B METE_DATA\nA folder in which datasets are looked for, before ./data.\n"
          ".TP\n.B NO_COLOR\nIf set, tables have no colours and no bold numbers.\n"
          ".TP\n.B COLUMNS\nThe width of tables, instead of the terminal's.\n",
          to);
}
