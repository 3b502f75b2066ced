/* store_sql.h - the store from inside: its connection and short forms of SQLite's
 * calls.  For store/ and for readers of results in report/.
 */
#ifndef STORE_STORE_SQL_H
#define STORE_STORE_SQL_H

#include "store/store.h"

#ifdef METE_HAVE_SQLITE
#include <pthread.h>
#include <sqlite3.h>

struct store {
    sqlite3 *db;
    char *path;
    pthread_mutex_t lock; /* held over every transaction: threads share the connection */
    int handle;           /* tells the claims of this store from others of the process */
    enum store_mode mode;
};

extern const int schema_version;
extern const int schema_objects; /* of mete, in a file of that version */
extern const int schema_columns; /* of its tables */
/* Brings a file of schema `from` to `from` + 1, inside a transaction. */
int schema_upgrade(struct store *s, int from);
/* What a file of an older schema lacks to be read; leaves the file alone. */
int schema_for_reading(struct store *s, int version);

/* The sentence for SQLite's last failure; `doing`: "cannot write the run". */
int sql_failed(struct store *s, int rc, const char *doing);

int sql_exec(struct store *s, const char *sql, const char *doing);
int sql_prepare(struct store *s, sqlite3_stmt **out, const char *sql);

/* Binds from the first parameter on: i int, l int64_t, d double (NaN is NULL), t text (NULL is
 * NULL).  Resets the statement first. */
void sql_bind(sqlite3_stmt *stmt, const char *types, ...);
/* Binds and runs a statement that gives no rows. */
int sql_put(struct store *s, sqlite3_stmt *stmt, const char *types, ...);
/* The same for a statement that is needed once. */
int sql_do(struct store *s, const char *sql, const char *types, ...);
/* 1: a row is there, 0: no more, negative: failed. */
int sql_row(struct store *s, sqlite3_stmt *stmt);

/* A copy of a text, "" for NULL, with '?' for what is not to be printed: names in a database may be
 * anybody's, and are to steer no terminal and to end no line of a table.  free() it. */
char *sql_text(sqlite3_stmt *row, int column);

/* A write transaction under the lock: begin waits for other writers; end commits
 * when `err` is 0, else rolls back, and returns the first failure. */
int sql_begin(struct store *s);
int sql_end(struct store *s, int err, const char *doing);

/* The number of the run with this id; METE_EINVAL when there is none. */
int store_run_number(struct store *s, const char *id, int64_t *run);

#endif
#endif
