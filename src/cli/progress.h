/* progress.h - how far long work is, on one line of a terminal, or now and then in a log. */
#ifndef PROGRESS_H
#define PROGRESS_H

/* From now on the library's progress is shown on stderr, and Ctrl-C asks it to stop. */
void progress_show(void);
void progress_clear(void); /* before anything else is written there */

#endif
