/* cli.c - reading options, and saying what went wrong. */
#include "cli.h"
#include "progress.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- sentences ---- */

static void print_sentence(const char *sentence)
{
    progress_clear();
    fflush(stdout);
    fprintf(stderr, "mete: %s\n", sentence);
}

int cli_usage(const char *fmt, ...)
{
    char sentence[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    print_sentence(sentence);
    return EXIT_USAGE;
}

int cli_failed(int code)
{
    int signal_number = progress_signal();
    if (code == METE_ESTOPPED && signal_number) {
        print_sentence(signal_number == SIGINT ? "stopped by Ctrl-C" : "stopped by SIGTERM");
        return 128 + signal_number;
    }
    print_sentence(mete_errmsg());
    return code == METE_EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

void cli_json_text(const char *key, const char *text)
{
    printf("\"%s\": \"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c < 0x20 || *c == 0x7f)
            printf("\\u%04x", *c);
        else
            printf(*c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    putchar('"');
}

void cli_json_real(const char *key, const char *format, double value)
{
    printf("\"%s\": ", key);
    if (isfinite(value))
        printf(format, value);
    else
        fputs("null", stdout);
}

int cli_finish(int status)
{
    bool wrote = ferror(stdout) || __fpending(stdout) > 0, failed = ferror(stdout);
    if (fclose(stdout) != 0)
        failed = failed || wrote || errno != EBADF; /* closed from the start, and not used */
    if (!failed)
        return status;
    fprintf(stderr, "mete: cannot write the output: %s\n", errno ? strerror(errno) : "write error");
    return status ? status : EXIT_FAILED;
}

/* The words of "a|b|c" into `at`; how many.  They lie in `copy`. */
static int split_choices(const char *choices, char *copy, size_t size, const char *at[], int most)
{
    int n = 0;
    snprintf(copy, size, "%s", choices);
    for (char *save = NULL, *word = strtok_r(copy, "|", &save); word && n < most;
         word = strtok_r(NULL, "|", &save))
        at[n++] = word;
    return n;
}

int cli_unknown(const char *what, const char *got, const char *choices)
{
    enum { MOST = 32 };
    char copy[512], list[600] = "";
    const char *at[MOST];
    int n = split_choices(choices, copy, sizeof copy, at, MOST);
    for (int i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s",
                 i == 0       ? ""
                 : i == n - 1 ? " or "
                              : ", ",
                 at[i]);
    const char *near = mete_nearest(got, at, n);
    return near ? cli_usage("%s: expected %s, got '%s'; did you mean '%s'?", what, list, got, near)
                : cli_usage("%s: expected %s, got '%s'", what, list, got);
}

/* ---- options ---- */

static const struct option *find_option(const struct command *c, const char *name, size_t n)
{
    for (const struct option *o = c->options; o && o->name; o++)
        if (strlen(o->name) == n && strncmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static const char *without_dashes(const char *name)
{
    return name + strspn(name, "-");
}

static int unknown_option(const struct command *c, const char *arg, size_t length)
{
    enum { MOST = 64 };
    char name[64];
    const char *known[MOST + 1];
    int n = 0;
    for (const struct option *o = c->options; o && o->name && n < MOST; o++)
        known[n++] = without_dashes(o->name); /* a dash in common makes no two alike */
    known[n++] = "help";
    snprintf(name, sizeof name, "%.*s", (int)length, arg);
    const char *near = mete_nearest(without_dashes(name), known, n);
    if (!near)
        return cli_usage("%s has no option '%s'; 'mete %s --help' lists them", c->name, name,
                         c->name);
    return cli_usage("%s has no option '%s'; did you mean '%s%s'?", c->name, name,
                     near[1] ? "--" : "-", near);
}

static int add_text(struct text_list *list, const char *text)
{
    if (list->n == TEXT_LIST_MAX)
        return cli_usage("more than %d arguments", TEXT_LIST_MAX);
    list->at[list->n++] = text;
    list->at[list->n] = NULL;
    return 0;
}

static int store_count(const struct option *o, int *to, const char *text)
{
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < 0 || value > INT_MAX)
        return cli_usage("%s: expected a whole number of 0 or more, got '%s'", o->name, text);
    *to = (int)value;
    return 0;
}

static int store_real(const struct option *o, double *to, const char *text)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno)
        return cli_usage("%s: expected a number, got '%s'", o->name, text);
    *to = value;
    return 0;
}

static int store_choice(const struct option *o, const char **to, const char *text)
{
    size_t length = strlen(text);
    *to = text;
    for (const char *at = o->value; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strcspn(at, "|") == length && strncmp(at, text, length) == 0)
            return 0;
    return cli_unknown(o->name, text, o->value);
}

static int store(const struct option *o, void *values, const char *text)
{
    void *to = (char *)values + o->offset;
    switch (o->kind) {
    case OPT_FLAG:
        *(bool *)to = true;
        return 0;
    case OPT_COUNT:
        return store_count(o, to, text);
    case OPT_REAL:
        return store_real(o, to, text);
    case OPT_TEXT:
        *(const char **)to = text;
        return 0;
    case OPT_CHOICE:
        return store_choice(o, to, text);
    case OPT_LIST:
        return add_text(to, text);
    }
    return EXIT_USAGE;
}

/* Reads the option at argv[i]; *i moves on where its value is the next argument. */
static int read_option(const struct command *c, int argc, char **argv, int *i, void *values)
{
    const char *arg = argv[*i], *equals = strchr(arg, '=');
    size_t length = equals && arg[1] == '-' ? (size_t)(equals - arg) : strlen(arg);
    const struct option *o = find_option(c, arg, length);
    if (!o)
        return unknown_option(c, arg, length);
    const char *text = length < strlen(arg) ? equals + 1 : NULL;
    if (o->kind == OPT_FLAG)
        return text ? cli_usage("%s takes no value", o->name) : store(o, values, NULL);
    if (!text && *i + 1 == argc)
        return cli_usage("%s needs a value: %s %s", o->name, o->name, o->value);
    return store(o, values, text ? text : argv[++*i]);
}

/* How many words "MODEL [BENCH]" asks for: at least and at most. */
static void count_words(const char *words, int *least, int *most)
{
    *least = *most = 0;
    for (const char *at = words; at && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        bool many = n > 3 && strncmp(at + n - 3, "...", 3) == 0;
        *least += at[0] != '[';
        *most = many ? TEXT_LIST_MAX : *most + 1;
    }
}

static int check_words(const struct command *c, const struct text_list *words)
{
    int least, most;
    count_words(c->words, &least, &most);
    if (words->n >= least && words->n <= most)
        return 0;
    if (most == 0)
        return cli_usage("%s takes options only, got '%s'; 'mete %s --help' lists them", c->name,
                         words->at[0], c->name);
    int first = c->examples ? (int)strcspn(c->examples, "\n") : 0;
    char got[32] = "nothing";
    if (words->n)
        snprintf(got, sizeof got, "%d arguments", words->n);
    return cli_usage("%s takes %s, got %s; for example: %.*s", c->name, c->words,
                     words->n == 1 ? "one argument" : got, first, c->examples ? c->examples : "");
}

int cli_options(const struct command *c, int argc, char **argv, void *values,
                struct text_list *words)
{
    int err = 0;
    for (int i = 1; i < argc && !err; i++)
        err = argv[i][0] == '-' && argv[i][1] ? read_option(c, argc, argv, &i, values)
                                              : add_text(words, argv[i]);
    return err ? err : check_words(c, words);
}

/* ---- printing ---- */

int cli_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    if (!isatty(STDOUT_FILENO))
        return 0;
    if (columns && atoi(columns) > 0)
        return atoi(columns);
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : TEXT_WIDTH;
}

int cli_columns(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

void cli_fill(FILE *to, const char *text, int at, int indent, int width)
{
    bool first = true; /* of its line */
    for (const char *word = text + strspn(text, " "); *word && *word != '\n';) {
        int bytes = (int)strcspn(word, " \n"), columns = 0;
        for (int i = 0; i < bytes; i++)
            columns += ((unsigned char)word[i] & 0xc0) != 0x80;
        if (!first && at + 1 + columns > width) {
            fprintf(to, "\n%*s", indent, "");
            at = indent;
            first = true;
        }
        fprintf(to, "%s%.*s", first ? "" : " ", bytes, word);
        at += columns + !first;
        first = false;
        word += bytes + strspn(word + bytes, " ");
    }
    fputc('\n', to);
}
