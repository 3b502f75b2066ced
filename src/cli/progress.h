/* progress.h - how far long work is, on one line of a terminal, or now and then in a log. */
#ifndef PROGRESS_H
#define PROGRESS_H

/* From now on the library's progress is shown on stderr, and Ctrl-C and SIGTERM ask it to stop. */
void progress_show(void);
void progress_clear(void); /* before anything else is written there */
int progress_signal(void); /* the signal that asked to stop; 0: none */

#endif
