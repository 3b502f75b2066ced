/* commands.h - the commands, one cmd_NAME.c each (or a few that belong together). */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "cli.h"

extern const struct command command_train, command_eval, command_run, command_results,
    command_report, command_serve, command_bound, command_plan, command_plan_eval,
    command_stability, command_stability_fit, command_drift, command_tasks, command_data_import,
    command_data_info, command_data_sheet, command_data_fetch, command_label_next,
    command_label_import, command_label_status, command_adapt, command_predict, command_export,
    command_list, command_show, command_grad, command_speed, command_help, command_version;

/* Prints the commands whose names begin with "FIRST ", unless FIRST is a command itself; how many
 * there are. */
int command_help_group(const char *first);

#endif
