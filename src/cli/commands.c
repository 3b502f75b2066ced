/* commands.c - the table of commands, and finding one by its name. */
#include "commands.h"

#include <string.h>

const struct command *const commands[] = {
    &command_train,         &command_eval,       &command_run,
    &command_results,       &command_report,     &command_serve,
    &command_data_import,   &command_data_info,  &command_data_sheet,
    &command_data_fetch,    &command_label_next, &command_label_import,
    &command_label_status,  &command_adapt,      &command_predict,
    &command_export,        &command_tasks,      &command_plan,
    &command_plan_eval,     &command_bound,      &command_stability,
    &command_stability_fit, &command_drift,      &command_list,
    &command_show,          &command_grad,       &command_speed,
    &command_help,          &command_version,    NULL,
};

static const struct command *find(const char *name)
{
    for (int i = 0; commands[i]; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* The commands whose names begin with "first ", as "import|info"; false where there are none. */
static bool second_words(const char *first, char *out, size_t size)
{
    size_t length = strlen(first);
    *out = '\0';
    for (int i = 0; commands[i]; i++) {
        const char *name = commands[i]->name;
        size_t used = strlen(out);
        if (strncmp(name, first, length) == 0 && name[length] == ' ')
            snprintf(out + used, size - used, "%s%s", used ? "|" : "", name + length + 1);
    }
    return *out;
}

/* "lable next" is near "label next", "lable" near "label". */
static int unknown(int argc, char **argv)
{
    enum { MOST = 64 };
    const char *known[2 * MOST], *near = NULL;
    char both[128], first[MOST][32];
    int n = 0;
    for (int i = 0; commands[i] && n < MOST; i++)
        known[n++] = commands[i]->name;
    if (argc > 1) {
        snprintf(both, sizeof both, "%s %s", argv[0], argv[1]);
        near = mete_nearest(both, known, n);
    }
    if (!near || !strchr(near, ' ')) {
        int names = n;
        for (int i = 0; i < names; i++) {
            snprintf(first[i], sizeof first[i], "%.*s", (int)strcspn(known[i], " "), known[i]);
            known[n++] = first[i];
        }
        near = mete_nearest(argv[0], known, n);
    }
    return near ? cli_usage("no command '%s'; did you mean '%s'?", argv[0], near)
                : cli_usage("no command '%s'; 'mete --help' lists them", argv[0]);
}

const struct command *command_find(int argc, char **argv, int *used)
{
    char both[128], choices[256];
    const struct command *c;
    *used = 2;
    if (argc > 1) {
        snprintf(both, sizeof both, "%s %s", argv[0], argv[1]);
        if ((c = find(both)))
            return c;
    }
    *used = 1;
    if ((c = find(argv[0])))
        return c;
    if (second_words(argv[0], choices, sizeof choices))
        cli_unknown(argv[0], argc > 1 ? argv[1] : "nothing", choices);
    else
        unknown(argc, argv);
    return NULL;
}

int command_help_group(const char *first)
{
    size_t length = strlen(first);
    int n = 0;
    for (int i = 0; commands[i] && !find(first); i++)
        if (strncmp(commands[i]->name, first, length) == 0 && commands[i]->name[length] == ' ')
            printf("%s  %-14s %s\n", n++ ? "" : "commands:\n", commands[i]->name,
                   commands[i]->summary);
    if (n)
        printf("\n'mete %s COMMAND --help' says more, with examples.\n", first);
    return n;
}
