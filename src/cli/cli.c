/* cli.c - reading options, and saying what went wrong. */
#include "cli.h"
#include "progress.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_usage(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    progress_clear();
    fputs("mete: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_USAGE;
}

int cli_failed(int code)
{
    progress_clear();
    fprintf(stderr, "mete: %s\n", mete_errmsg());
    return code == METE_EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static const struct option_row *find_row(const struct option_row *rows, const char *name, size_t n)
{
    for (const struct option_row *row = rows; row->name; row++)
        if (strlen(row->name) == n && strncmp(row->name, name, n) == 0)
            return row;
    return NULL;
}

static int add_text(struct text_list *list, const char *text)
{
    if (list->n == TEXT_LIST_MAX)
        return cli_usage("more than %d arguments", TEXT_LIST_MAX);
    list->at[list->n++] = text;
    list->at[list->n] = NULL;
    return 0;
}

static int store(const struct option_row *row, const char *text)
{
    char *end = NULL;
    errno = 0;
    switch (row->kind) {
    case OPT_FLAG:
        *(bool *)row->to = true;
        return 0;
    case OPT_INT: {
        long value = strtol(text, &end, 10);
        if (end == text || *end || errno || value < INT_MIN || value > INT_MAX)
            return cli_usage("%s: expected a whole number, got '%s'", row->name, text);
        *(int *)row->to = (int)value;
        return 0;
    }
    case OPT_REAL: {
        double value = strtod(text, &end);
        if (end == text || *end || errno)
            return cli_usage("%s: expected a number, got '%s'", row->name, text);
        *(double *)row->to = value;
        return 0;
    }
    case OPT_TEXT:
        *(const char **)row->to = text;
        return 0;
    case OPT_LIST:
        return add_text(row->to, text);
    }
    return EXIT_USAGE;
}

int cli_options(int argc, char **argv, const char *usage, const struct option_row *rows,
                struct text_list *words)
{
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            fputs(usage, stdout);
            exit(EXIT_DONE);
        }
        if (arg[0] != '-' || !arg[1]) {
            int err = add_text(words, arg);
            if (err)
                return err;
            continue;
        }
        const char *equals = strchr(arg, '=');
        size_t length = equals && arg[1] == '-' ? (size_t)(equals - arg) : strlen(arg);
        const struct option_row *row = find_row(rows, arg, length);
        if (!row)
            return cli_usage("no option '%s'; --help shows them", arg);
        const char *text = length < strlen(arg) ? equals + 1 : NULL;
        if (row->kind == OPT_FLAG && text)
            return cli_usage("%s takes no value", row->name);
        if (row->kind != OPT_FLAG && !text) {
            if (i + 1 == argc)
                return cli_usage("%s needs a value", row->name);
            text = argv[++i];
        }
        int err = store(row, text);
        if (err)
            return err;
    }
    return 0;
}
