/* process.h - processes of this machine by more than their number, which may be given again. */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* The machine as far as process numbers go: containers of one host name differ in
 * their process name space. */
void process_host(char *out, size_t size);

/* When the process was born, in the kernel's ticks; 0: it is gone, -1: cannot tell. */
int64_t process_born(int64_t pid);

#endif
