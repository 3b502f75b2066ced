/* progress.h - how far long work is, on one line of a terminal. */
#ifndef PROGRESS_H
#define PROGRESS_H

/* From now on the library's progress is shown on stderr, if that is a terminal, and
 * Ctrl-C asks it to stop. */
void progress_show(void);
void progress_clear(void); /* before anything else is written there */

#endif
