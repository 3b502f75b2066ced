/* completion.c - what bash and zsh complete, from the commands' descriptions.
 *
 * What stands for a value in help ("METHOD", "FILE", "csv|json") says what can be its value.
 */
#include "cli.h"

#include <stdlib.h>
#include <string.h>

struct name_printer {
    FILE *to;
    const char *separator;
    int n;
};

static void print_name(void *user, const char *kind, const char *name, const char *summary)
{
    struct name_printer *p = user;
    (void)kind;
    (void)summary;
    fprintf(p->to, "%s%s", p->n++ ? p->separator : "", name);
}

static void print_plugins(struct name_printer *p, const char *kind)
{
    mete_list(kind, print_name, p);
}

static void print_importers(struct name_printer *p, const char *unused)
{
    const char *name, *summary, *arguments;
    (void)unused;
    for (int i = 0; mete_data_importer(i, &name, &summary, &arguments); i++)
        print_name(p, NULL, name, summary);
}

static void print_commands(struct name_printer *p, const char *unused)
{
    (void)unused;
    for (int i = 0; commands[i]; i++)
        if (!strchr(commands[i]->name, ' '))
            print_name(p, NULL, commands[i]->name, NULL);
}

/* The keys of all settings, each once. */
struct keys {
    char at[512][64];
    int n;
};

static void add_key(void *user, const struct mete_setting *s)
{
    struct keys *k = user;
    for (int i = 0; i < k->n; i++)
        if (strcmp(k->at[i], s->key) == 0)
            return;
    if (k->n < (int)(sizeof k->at / sizeof *k->at))
        snprintf(k->at[k->n++], sizeof *k->at, "%s", s->key);
}

static void add_keys_of(void *user, const char *kind, const char *name, const char *summary)
{
    (void)summary;
    if (strcmp(kind, "devices") != 0)
        mete_show(name, &summary, add_key, user);
}

static void print_keys(struct name_printer *p, const char *unused)
{
    struct keys *keys = calloc(1, sizeof *keys);
    (void)unused;
    if (!keys)
        return;
    add_keys_of(keys, "", "run", NULL);
    mete_list(NULL, add_keys_of, keys);
    for (int i = 0; i < keys->n; i++) {
        char text[72];
        snprintf(text, sizeof text, "%s=", keys->at[i]);
        print_name(p, NULL, text, NULL);
    }
    free(keys);
}

static const struct source {
    const char *value; /* in help */
    void (*words)(struct name_printer *p, const char *kind);
    const char *kind;
    const char *bash, *zsh; /* where the shell looks for itself */
} sources[] = {
    {"METHOD", print_plugins, "methods", NULL, NULL},
    {"STRATEGY", print_plugins, "labels", NULL, NULL},
    {"NET", print_plugins, "nets", NULL, NULL},
    {"DEVICE", print_plugins, "devices", NULL, NULL},
    {"NAME", print_plugins, NULL, NULL, NULL},
    {"KIND", print_importers, NULL, NULL, NULL},
    {"COMMAND", print_commands, NULL, NULL, NULL},
    {"KEY=VALUE", print_keys, NULL, NULL, NULL},
    {"KEY=PATTERN", print_keys, NULL, NULL, NULL},
    {"DATASET", NULL, NULL, "_mete_datasets", "_mete_datasets"},
    {"BENCH", NULL, NULL, "_mete_datasets :", "_mete_datasets :"},
    {"FOLDER", NULL, NULL, "_mete_folders", "_files -/"},
    {"FILE", NULL, NULL, "_mete_files", "_files"},
    {"PATH", NULL, NULL, "_mete_files", "_files"},
    {"DB", NULL, NULL, "_mete_files", "_files"},
    {"SUITE", NULL, NULL, "_mete_files", "_files"},
    {"MODEL", NULL, NULL, "_mete_files", "_files"},
    {"DATA", NULL, NULL, "_mete_datasets", "_mete_datasets"},
};
enum { SOURCES = sizeof sources / sizeof *sources };

static const struct source *source_of(const char *value, size_t length)
{
    for (int i = 0; i < SOURCES; i++)
        if (strlen(sources[i].value) == length && strncmp(sources[i].value, value, length) == 0)
            return &sources[i];
    return NULL;
}

/* The words that can stand for a value; false where the shell does not know any. */
static bool print_words(FILE *to, const char *value, const char *separator)
{
    const struct source *s = source_of(value, strlen(value));
    struct name_printer p = {to, separator, 0};
    if (s && s->words)
        s->words(&p, s->kind);
    else if (strchr(value, '|'))
        for (const char *at = value; *at; at++)
            fputs(*at == '|' ? separator : (char[]){*at, '\0'}, to);
    else
        return false;
    return true;
}

/* Word number i of "KIND PATH...", without brackets and dots; past the last, the last if it may
 * be repeated.  False where there is none. */
static bool word_at(const char *words, int i, char *out, size_t size)
{
    bool many = false;
    *out = '\0';
    for (const char *at = words ? words : ""; *at && i >= 0; i--) {
        size_t length = strcspn(at, " ");
        const char *from = at + (*at == '[');
        int n = (int)strcspn(from, " ].");
        many = length > 3 && strncmp(at + length - 3, "...", 3) == 0;
        snprintf(out, size, "%.*s", n, from);
        at += length + strspn(at + length, " ");
        if (i == 0)
            return true;
    }
    return many;
}

/* ---- bash ---- */

static void bash_value(FILE *to, const char *value)
{
    const struct source *s = source_of(value, strlen(value));
    if (s && s->bash) {
        fputs(s->bash, to);
        return;
    }
    fputs("_mete_words '", to);
    print_words(to, value, " ");
    fputc('\'', to);
}

static void bash_command(FILE *to, const struct command *c)
{
    char word[64];
    fprintf(to, "    '%s')\n        case $prev in\n", c->name);
    for (const struct option *o = c->options; o && o->name; o++)
        if (o->value) {
            fprintf(to, "        %s) ", o->name);
            bash_value(to, o->value);
            fputs("; return ;;\n", to);
        }
    fputs("        esac\n        options='", to);
    for (const struct option *o = c->options; o && o->name; o++)
        fprintf(to, "%s ", o->name);
    fputs("--help'\n", to);
    if (word_at(c->words, 0, word, sizeof word)) {
        fputs("        case $word in\n        0) argument=\"", to);
        bash_value(to, word);
        fputs("\" ;;\n", to);
        if (word_at(c->words, 1, word, sizeof word)) {
            fputs("        *) argument=\"", to);
            bash_value(to, word);
            fputs("\" ;;\n", to);
        }
        fputs("        esac\n", to);
    }
    fputs("        ;;\n", to);
}

/* The second words of commands of two. */
static void print_second_words(FILE *to, const char *first, const char *separator)
{
    size_t length = strlen(first);
    int n = 0;
    for (int i = 0; commands[i]; i++)
        if (strncmp(commands[i]->name, first, length) == 0 && commands[i]->name[length] == ' ')
            fprintf(to, "%s%s", n++ ? separator : "", commands[i]->name + length + 1);
}

/* Calls `print` for each first word of commands of two. */
static void each_group(FILE *to, void (*print)(FILE *to, const char *first))
{
    char last[64] = "";
    for (int i = 0; commands[i]; i++) {
        int n = (int)strcspn(commands[i]->name, " ");
        if (!commands[i]->name[n] || (strncmp(last, commands[i]->name, (size_t)n) == 0 && !last[n]))
            continue;
        snprintf(last, sizeof last, "%.*s", n, commands[i]->name);
        print(to, last);
    }
}

static void print_group_name(FILE *to, const char *first)
{
    bool alone = false; /* "stability" is a command itself, too */
    for (int i = 0; commands[i]; i++)
        alone = alone || strcmp(commands[i]->name, first) == 0;
    if (!alone)
        fprintf(to, " %s", first);
}

static void bash_group(FILE *to, const char *first)
{
    fprintf(to, "    %s)\n        [ \"$COMP_CWORD\" -eq 2 ] && _mete_words '", first);
    print_second_words(to, first, " ");
    fputs("' && second=(\"${COMPREPLY[@]}\") COMPREPLY=()\n        case ${COMP_WORDS[2]} in\n      "
          "  ",
          to);
    print_second_words(to, first, " | ");
    fputs(") [ \"$COMP_CWORD\" -gt 2 ] && command+=\" ${COMP_WORDS[2]}\" begin=3 ;;\n"
          "        esac\n        ;;\n",
          to);
}

void completion_bash(FILE *to)
{
    struct name_printer names = {to, " ", 0};
    fputs("# Completion of mete for bash; 'mete help --bash' prints it.\n"
          "_mete_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
          "_mete_files() { compopt -o filenames 2>/dev/null; "
          "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); }\n"
          "_mete_folders() { compopt -o filenames 2>/dev/null; "
          "mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); }\n"
          "_mete_datasets() { # SUFFIX\n"
          "    local folder name found='glyphs glyphs-users'\n"
          "    for folder in ${METE_DATA:+\"$METE_DATA\"} data; do\n"
          "        for name in \"$folder\"/*/meta.json; do\n"
          "            [ -e \"$name\" ] && name=${name%/meta.json} && found+=\" ${name##*/}\"\n"
          "        done\n"
          "    done\n"
          "    _mete_words \"${found// /$1 }$1\"\n"
          "}\n"
          "_mete() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
          "    local command=${COMP_WORDS[1]} options= argument= begin=2 word=0 i second=()\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        _mete_words '",
          to);
    print_commands(&names, NULL);
    each_group(to, print_group_name);
    fputs("'\n        return\n    fi\n    case $command in\n", to);
    each_group(to, bash_group);
    fputs(
        "    esac\n"
        "    for ((i = begin; i < COMP_CWORD; i++)); do\n"
        "        [[ ${COMP_WORDS[i]} != -* && ${COMP_WORDS[i - 1]} != -* ]] && word=$((word + 1))\n"
        "    done\n"
        "    case $command in\n",
        to);
    for (int i = 0; commands[i]; i++)
        bash_command(to, commands[i]);
    fputs("    esac\n"
          "    if [[ $cur == -* ]]; then\n        _mete_words \"$options\"\n"
          "    elif [ -n \"$argument\" ]; then\n        eval \"$argument\"\n    fi\n"
          "    COMPREPLY+=(\"${second[@]}\")\n"
          "    [[ ${COMPREPLY[*]} == *[=:] ]] && compopt -o nospace 2>/dev/null\n"
          "    return 0\n"
          "}\n"
          "complete -F _mete mete\n",
          to);
}

/* ---- zsh ---- */

/* Text within '...[...]...': no quotes, brackets and colons that zsh would read. */
static void zsh_text(FILE *to, const char *text)
{
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:\\", *text))
            fprintf(to, "\\%c", *text);
        else
            fputc(*text, to);
}

static void zsh_value(FILE *to, const char *value)
{
    const struct source *s = source_of(value, strlen(value));
    fputc(':', to);
    zsh_text(to, value);
    fputc(':', to);
    if (s && s->zsh) {
        fprintf(to, "%s%s", strchr(s->zsh, ' ') ? " " : "", s->zsh);
        return;
    }
    char *words = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&words, &size);
    if (!memory)
        return;
    bool some = print_words(memory, value, " ");
    fclose(memory);
    if (some && strchr(words, '='))
        fprintf(to, " compadd -S \"\" - %s", words);
    else if (some)
        fprintf(to, "(%s)", words);
    free(words);
}

static void zsh_command(FILE *to, const struct command *c)
{
    char word[64], next[64];
    fprintf(to, "    ('%s')\n        _arguments -s", c->name);
    for (const struct option *o = c->options; o && o->name; o++) {
        bool longer = o->name[1] == '-';
        fprintf(to, " \\\n            '%s%s%s[", o->kind == OPT_LIST ? "*" : "", o->name,
                o->value ? longer ? "=" : "+" : "");
        zsh_text(to, o->help);
        fputc(']', to);
        if (o->value)
            zsh_value(to, o->value);
        fputc('\'', to);
    }
    for (int i = 0; word_at(c->words, i, word, sizeof word); i++) {
        bool more = word_at(c->words, i + 2, next, sizeof next) &&
                    !word_at(c->words, 99, next, sizeof next);
        bool repeated = !more && word_at(c->words, 99, next, sizeof next) && i > 0;
        if (repeated)
            fputs(" \\\n            '*", to);
        else
            fprintf(to, " \\\n            '%d", i + 1);
        zsh_value(to, word);
        fputc('\'', to);
        if (repeated)
            break;
    }
    fputs(" '(- *)'{-h,--help}'[show its help]'\n        ;;\n", to);
}

static void zsh_group(FILE *to, const char *first)
{
    fprintf(to, "    (%s)\n        if (( CURRENT == 3 )); then\n            compadd - ", first);
    print_second_words(to, first, " ");
    fputs("\n        fi\n        case $words[3] in\n        (", to);
    print_second_words(to, first, "|");
    fputs(")\n            (( CURRENT > 3 )) && command+=\" $words[3]\" && shift words && "
          "(( CURRENT-- )) ;;\n        esac\n        ;;\n",
          to);
}

static void zsh_group_name(FILE *to, const char *first)
{
    bool alone = false;
    for (int i = 0; commands[i]; i++)
        alone = alone || strcmp(commands[i]->name, first) == 0;
    if (!alone) {
        fprintf(to, "        '%s:", first);
        print_second_words(to, first, ", ");
        fputs("'\n", to);
    }
}

void completion_zsh(FILE *to)
{
    fputs("#compdef mete\n"
          "# Completion of mete for zsh; 'mete help --zsh' prints it.\n"
          "_mete_datasets() { # SUFFIX\n"
          "    local -a found\n"
          "    found=(glyphs glyphs-users ${METE_DATA:+$METE_DATA/*/meta.json(N:h:t)} "
          "data/*/meta.json(N:h:t))\n"
          "    compadd -S \"${1:- }\" -a found\n"
          "}\n"
          "_mete() {\n"
          "    local command=$words[2]\n"
          "    local -a names\n"
          "    names=(\n",
          to);
    for (int i = 0; commands[i]; i++)
        if (!strchr(commands[i]->name, ' ')) {
            fprintf(to, "        '%s:", commands[i]->name);
            zsh_text(to, commands[i]->summary);
            fputs("'\n", to);
        }
    each_group(to, zsh_group_name);
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command names\n        "
          "return\n    fi\n    case $command in\n",
          to);
    each_group(to, zsh_group);
    fputs("    esac\n    shift words\n    (( CURRENT-- ))\n    case $command in\n", to);
    for (int i = 0; commands[i]; i++)
        zsh_command(to, commands[i]);
    fputs("    esac\n}\n_mete \"$@\"\n", to);
}
