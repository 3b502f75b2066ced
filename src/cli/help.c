/* help.c - `mete --help` and `mete COMMAND --help`, from the commands' descriptions. */
#include "cli.h"

#include <string.h>

/* Help is for reading: as wide as the terminal, up to 80 columns. */
static int help_width(void)
{
    int width = cli_width();
    return width >= 40 && width < TEXT_WIDTH ? width : TEXT_WIDTH;
}

/* Paragraphs are filled; a line that begins with a blank is printed as it is. */
static void print_about(FILE *to, const char *text)
{
    for (const char *at = text; *at;) {
        const char *end = strchr(at, '\n');
        int length = end ? (int)(end - at) : (int)strlen(at);
        if (*at == ' ')
            fprintf(to, "%.*s\n", length, at);
        else
            cli_fill(to, at, 0, 0, help_width());
        at += length + (end != NULL);
    }
}

static void print_options(FILE *to, const struct command *c)
{
    enum { COLUMN = 18 };
    fputs("\noptions:\n", to);
    for (const struct option *o = c->options; o->name; o++) {
        int at = fprintf(to, "  %s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        at = at < COLUMN ? at + fprintf(to, "%*s", COLUMN - at, "")
                         : fprintf(to, "\n%*s", COLUMN, "") - 1;
        cli_fill(to, o->help, at, COLUMN, help_width());
    }
}

static void print_examples(FILE *to, const char *examples)
{
    fputs("\nexamples:\n", to);
    for (const char *at = examples; *at;) {
        int length = (int)strcspn(at, "\n");
        fprintf(to, "  %.*s\n", length, at);
        at += length + (at[length] == '\n');
    }
}

void help_print(FILE *to, const struct command *c)
{
    fprintf(to, "usage: mete %s%s%s%s\n\n", c->name, c->words ? " " : "", c->words ? c->words : "",
            c->options ? " [options]" : "");
    print_about(to, c->about);
    if (c->more)
        c->more(to);
    if (c->options)
        print_options(to, c);
    if (c->examples)
        print_examples(to, c->examples);
}

void help_list(FILE *to)
{
    fputs("mete - meta-learning on a label budget\n\nusage: mete COMMAND [options]\n\n", to);
    for (int i = 0; commands[i]; i++)
        fprintf(to, "  %-14s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'mete COMMAND --help' says more, with examples.\n", to);
}
