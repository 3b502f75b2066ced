/* heads.h - connections that wait for the head of a request.
 *
 * libmicrohttpd ends a connection that is silent; one on which a byte of a head comes now and then
 * would stay for ever, and with a few of those nobody else could connect.  Here each has a time.
 */
#ifndef SERVE_HEADS_H
#define SERVE_HEADS_H

#include "mete.h"

struct heads;
struct head; /* one connection's */

/* Up to `most` connections, each of which is shut down where a head takes `seconds`. */
int heads_open(struct heads **out, int most, double seconds);
void heads_close(struct heads *h); /* after the connections; NULL is fine */

struct head *heads_add(struct heads *h, int fd); /* waits from now on; NULL: there are too many */
void heads_remove(struct heads *h,
                  struct head *one); /* before the socket is closed; NULL is fine */
void heads_wait(struct heads *h, struct head *one, bool waits); /* from now on, or no longer */

#endif
