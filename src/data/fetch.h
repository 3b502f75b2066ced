/* fetch.h - downloading a file whose checksum is known. */
#ifndef DATA_FETCH_H
#define DATA_FETCH_H

#include "mete.h"

struct fetch_file {
    const char *name, *url;
    int64_t size;
    const char *sha256; /* 64 hex digits */
};

/* Gets `file` into the folder `dir`: nothing is done if it is there already; what
 * an interrupted download left (NAME.part) is continued; the file takes its name
 * when its checksum is right.  `mirror`, if any, replaces the url up to its last
 * slash. */
int fetch_file(const struct fetch_file *file, const char *dir, const char *mirror);

#endif
