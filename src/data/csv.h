/* csv.h - comma-separated values (RFC 4180), one record at a time.
 *
 * Fields may be quoted, with "" for a quote; quoted fields may hold separators and
 * line ends.  Lines end in LF or CRLF.  Blank lines, and a byte-order mark at the
 * start, are skipped.  Text is UTF-8.  Every failure says name:line:column (columns count bytes).
 */
#ifndef DATA_CSV_H
#define DATA_CSV_H

#include "base/json.h" /* json_read_fn: where the bytes come from */

enum { CSV_RECORD_MAX = 16 << 20 }; /* bytes of a record */
enum { CSV_ANY_SEPARATOR = 0 };     /* comma, semicolon or tab: what the first line has most of */

struct csv {
    /* the current record */
    char **field;
    int n;
    int64_t line; /* where it begins */
    /* private */
    char *name;
    json_read_fn *read;
    void *user;
    char separator;
    char *buffer;
    size_t at, end;
    bool at_end;
    int64_t next_line, column; /* of the next byte */
    char *text;                /* of the record: its fields, each 0-terminated */
    size_t text_size, text_room;
    bool beyond_ascii; /* in the field that is being read */
    struct csv_place {
        size_t offset; /* in `text` */
        int64_t line, column;
    } * place;
    int room; /* of field and place */
};

/* `name` is what errors call the input; the separator is a character, or CSV_ANY_SEPARATOR. */
void csv_open(struct csv *c, const char *name, char separator, json_read_fn *read, void *user);
void csv_close(struct csv *c); /* zeroed is fine */

int csv_next(struct csv *c, bool *more);
/* The number of the field of the current record that reads `word`, or -1. */
int csv_find(const struct csv *c, const char *word);
/* A failure at field `i` of the current record. */
int csv_fail(const struct csv *c, int i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
