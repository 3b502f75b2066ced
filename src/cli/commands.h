/* commands.h - the verbs, one cmd_NAME.c each. */
#ifndef COMMANDS_H
#define COMMANDS_H

int cmd_eval(int argc, char **argv);
int cmd_grad(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_show(int argc, char **argv);
int cmd_speed(int argc, char **argv);
int cmd_train(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_results(int argc, char **argv);
int cmd_tasks(int argc, char **argv);
int cmd_version(int argc, char **argv);
int cmd_bound(int argc, char **argv);
int cmd_data(int argc, char **argv);
int cmd_stability(int argc, char **argv);
int cmd_drift(int argc, char **argv);

#endif
