/* store.c - opening the results database, and SQLite's calls in short. */
#include "store/store_sql.h"

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    APPLICATION_ID = 0x6d657465, /* "mete", in the file's header */
    BUSY_MS = 60000,             /* how long a writer waits for the others */
};

int sql_failed(struct store *s, int rc, const char *doing)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return fail(METE_EIO,
                    "%s: %s: the disk is full; what was there is intact: make room and try again",
                    s->path, doing);
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return fail(METE_EIO, "%s: %s: it is read-only; make it and its folder writable", s->path,
                    doing);
    case SQLITE_NOTADB:
        return fail(METE_EFORMAT, "%s is not a results database (no SQLite file)", s->path);
    case SQLITE_CORRUPT:
        return fail(METE_EFORMAT, "%s is damaged (%s); 'sqlite3 %s .recover' saves what it can",
                    s->path, sqlite3_errmsg(s->db), s->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail(METE_EIO, "%s: %s: another process has held it for over %d s", s->path, doing,
                    BUSY_MS / 1000);
    case SQLITE_CANTOPEN:
        return fail(METE_EIO, "%s: %s: cannot open it%s%s", s->path, doing, errno ? ": " : "",
                    errno ? strerror(errno) : "");
    default:
        return fail(METE_EIO, "%s: %s: %s", s->path, doing, sqlite3_errmsg(s->db));
    }
}

int sql_exec(struct store *s, const char *sql, const char *doing)
{
    int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
    return rc ? sql_failed(s, rc, doing) : 0;
}

int sql_prepare(struct store *s, sqlite3_stmt **out, const char *sql)
{
    int rc = sqlite3_prepare_v2(s->db, sql, -1, out, NULL);
    return rc ? sql_failed(s, rc, "cannot read it") : 0;
}

static void bind_list(sqlite3_stmt *stmt, const char *types, va_list args)
{
    sqlite3_reset(stmt);
    for (int i = 1; *types; i++, types++)
        switch (*types) {
        case 'i':
            sqlite3_bind_int(stmt, i, va_arg(args, int));
            break;
        case 'l':
            sqlite3_bind_int64(stmt, i, va_arg(args, int64_t));
            break;
        case 'd': /* SQLite stores NaN as NULL */
            sqlite3_bind_double(stmt, i, va_arg(args, double));
            break;
        default:
            sqlite3_bind_text(stmt, i, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
        }
}

void sql_bind(sqlite3_stmt *stmt, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    bind_list(stmt, types, args);
    va_end(args);
}

static int put_list(struct store *s, sqlite3_stmt *stmt, const char *types, va_list args)
{
    bind_list(stmt, types, args);
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        return sql_failed(s, rc, "cannot write");
    sqlite3_reset(stmt); /* so that a commit finds nothing under way */
    return 0;
}

int sql_put(struct store *s, sqlite3_stmt *stmt, const char *types, ...)
{
    va_list args;
    va_start(args, types);
    int err = put_list(s, stmt, types, args);
    va_end(args);
    return err;
}

int sql_do(struct store *s, const char *sql, const char *types, ...)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, sql);
    if (!err) {
        va_list args;
        va_start(args, types);
        err = put_list(s, stmt, types, args);
        va_end(args);
    }
    sqlite3_finalize(stmt);
    return err;
}

int sql_row(struct store *s, sqlite3_stmt *stmt)
{
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return 1;
    return rc == SQLITE_DONE ? 0 : sql_failed(s, rc, "cannot read");
}

char *sql_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    char *out = mem_string(text ? text : "");
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    return out;
}

int sql_begin(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    int err = s->mode == STORE_READ ? fail(METE_EINVAL, "%s was opened for reading only", s->path)
                                    : sql_exec(s, "BEGIN IMMEDIATE", "cannot write");
    if (err)
        pthread_mutex_unlock(&s->lock);
    return err;
}

int sql_end(struct store *s, int err, const char *doing)
{
    if (!err)
        err = sql_exec(s, "COMMIT", doing);
    if (err) /* a failed rollback has nothing to add: the failure may have rolled back itself */
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static int read_int(struct store *s, const char *sql, int *out)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, sql);
    if (!err) {
        int row = sql_row(s, stmt);
        err = row < 0 ? row : 0;
        if (row == 1)
            *out = sqlite3_column_int(stmt, 0);
    }
    sqlite3_finalize(stmt);
    return err;
}

/* The schema's number; refuses what is not ours or is newer than we are. */
static int check_version(struct store *s, int *version)
{
    int application = 0, objects = 0;
    int err = read_int(s, "PRAGMA user_version", version);
    if (!err)
        err = read_int(s, "PRAGMA application_id", &application);
    if (!err)
        err = read_int(s, "SELECT count(*) FROM sqlite_schema", &objects);
    if (err)
        return err;
    if (objects > 0 && application != APPLICATION_ID)
        return fail(METE_EFORMAT, "%s is an SQLite database, but not one of mete's", s->path);
    if (*version > schema_version)
        return fail(METE_EFORMAT,
                    "%s was written by a newer mete (schema %d; this one knows %d): update mete",
                    s->path, *version, schema_version);
    return 0;
}

/* Where memory runs out SQLite may leave out a CREATE or an ALTER and say that all is well. */
static int check_all_there(struct store *s)
{
    int objects = 0, columns = 0;
    int err =
        read_int(s, "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'", &objects);
    if (!err)
        err = read_int(s,
                       "SELECT count(*) FROM sqlite_schema AS t JOIN pragma_table_info(t.name)"
                       " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'",
                       &columns);
    return err || (objects == schema_objects && columns == schema_columns)
               ? err
               : fail(METE_ENOMEM,
                      "%s: cannot create its tables: %d of %d are there, %d of %d "
                      "columns",
                      s->path, objects, schema_objects, columns, schema_columns);
}

static int upgrade(struct store *s)
{
    int version = 0, err = sql_begin(s);
    if (err)
        return err;
    err = check_version(s, &version); /* again: another process may have been first */
    while (!err && version < schema_version) {
        err = schema_upgrade(s, version);
        version++;
    }
    if (!err)
        err = check_all_there(s);
    char pragma[96];
    sqlite3_snprintf(sizeof pragma, pragma, "PRAGMA application_id=%d; PRAGMA user_version=%d",
                     APPLICATION_ID, version);
    if (!err)
        err = sql_exec(s, pragma, "cannot create its tables");
    return sql_end(s, err, "cannot create its tables");
}

/* SQLite itself does not wait where two connections change the mode at once. */
static int enter_wal(struct store *s)
{
    enum { STEP_MS = 20 };
    for (int waited = 0;; waited += STEP_MS) {
        int rc = sqlite3_exec(s->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if (rc == SQLITE_OK)
            return 0;
        if ((rc & 0xff) != SQLITE_BUSY || waited >= BUSY_MS)
            return sql_failed(s, rc, "cannot open it for writing");
        sqlite3_sleep(STEP_MS);
    }
}

static int open_for_writing(struct store *s)
{
    int version = 0;
    int err = check_version(s, &version);
    if (err)
        return err;
    if (sqlite3_db_readonly(s->db, "main") == 1)
        return sql_failed(s, SQLITE_READONLY, "cannot write it");
    err = enter_wal(s);
    /* Full: a run that was reported as done survives a power cut. */
    if (!err)
        err = sql_exec(s, "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON",
                       "cannot open it for writing");
    return err || version == schema_version ? err : upgrade(s);
}

static int open_for_reading(struct store *s)
{
    int version = 0;
    int err = check_version(s, &version);
    if (!err && version == 0)
        err = fail(METE_EFORMAT, "%s holds no results", s->path);
    return err ? err : schema_for_reading(s, version);
}

/* A WAL database in a folder we may not write opens only as immutable. */
static int connect_db(struct store *s)
{
    int flags =
        s->mode == STORE_READ ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    errno = 0;
    int rc = sqlite3_open_v2(s->path, &s->db, flags, NULL);
    int probe = rc ? 0 : sqlite3_exec(s->db, "SELECT 1 FROM sqlite_schema", NULL, NULL, NULL);
    if (s->mode == STORE_READ && (probe == SQLITE_CANTOPEN || probe == SQLITE_READONLY)) {
        sqlite3_close(s->db);
        s->db = NULL;
        char *uri = sqlite3_mprintf("file:%s?immutable=1", s->path);
        rc = sqlite3_open_v2(uri, &s->db, flags | SQLITE_OPEN_URI, NULL);
        sqlite3_free(uri);
    }
    if (rc)
        return sql_failed(s, rc, s->mode == STORE_READ ? "cannot read it" : "cannot create it");
    sqlite3_busy_timeout(s->db, BUSY_MS);
    sqlite3_extended_result_codes(s->db, 1);
    return 0;
}

int store_open(struct store **out, const char *path, enum store_mode mode)
{
    static int handles;
    if (!path)
        return fail(METE_EINVAL, "a results database needs a path");
    if (mode == STORE_READ && access(path, F_OK) != 0)
        return fail(METE_EIO, "%s: %s", path, strerror(errno));
    struct store *s = mem_alloc(sizeof *s);
    s->path = mem_string(path);
    s->mode = mode;
    s->handle = __atomic_add_fetch(&handles, 1, __ATOMIC_RELAXED);
    pthread_mutex_init(&s->lock, NULL);
    int err = connect_db(s);
    if (!err)
        err = mode == STORE_READ ? open_for_reading(s) : open_for_writing(s);
    if (err) {
        sqlite3_close(s->db);
        s->db = NULL;
        store_close(s);
        return err;
    }
    *out = s;
    return 0;
}

const char *store_path(const struct store *s)
{
    return s->path;
}

int store_run_number(struct store *s, const char *id, int64_t *run)
{
    sqlite3_stmt *stmt = NULL;
    int err = sql_prepare(s, &stmt, "SELECT run FROM runs WHERE id = ?");
    if (!err) {
        sql_bind(stmt, "t", id);
        int row = sql_row(s, stmt);
        if (row == 1)
            *run = sqlite3_column_int64(stmt, 0);
        else
            err = row < 0 ? row : fail(METE_EINVAL, "%s has no run %s", s->path, id);
    }
    sqlite3_finalize(stmt);
    return err;
}
#endif
