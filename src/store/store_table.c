/* store_table.c - a table of the database as columns in memory, typed by what they hold. */
#include "store/store_sql.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#include <stdlib.h>
#include <string.h>

struct column {
    char *name;
    bool has_text;
    double *numbers; /* (rows), NaN for NULL */
    char **texts;    /* (rows), where some are texts */
};

struct mete_table {
    struct column *column;
    int columns;
    int64_t rows, room;
};

int32_t mete_table_columns(const struct mete_table *t, int64_t *rows)
{
    if (rows)
        *rows = t ? t->rows : 0;
    return t ? t->columns : 0;
}

const char *mete_table_column(const struct mete_table *t, int32_t i, const double **numbers,
                              const char *const **texts)
{
    if (!t || i < 0 || i >= t->columns)
        return NULL;
    const struct column *c = &t->column[i];
    if (numbers)
        *numbers = c->has_text ? NULL : c->numbers;
    if (texts)
        *texts = c->has_text ? (const char *const *)c->texts : NULL;
    return c->name;
}

void mete_table_close(struct mete_table *t)
{
    for (int i = 0; t && i < t->columns; i++) {
        struct column *c = &t->column[i];
        for (int64_t r = 0; c->texts && r < t->rows; r++)
            free(c->texts[r]);
        free(c->texts);
        free(c->numbers);
        free(c->name);
    }
    if (t)
        free(t->column);
    free(t);
}

#ifdef METE_HAVE_SQLITE
#include <math.h>

/* Room for one row more, in all columns. */
static void grow(struct mete_table *t)
{
    if (t->rows < t->room)
        return;
    t->room = 2 * t->room + 64;
    for (int i = 0; i < t->columns; i++) {
        struct column *c = &t->column[i];
        c->numbers = mem_grow(c->numbers, (size_t)t->room, sizeof *c->numbers);
        c->texts = mem_grow(c->texts, (size_t)t->room, sizeof *c->texts);
    }
}

/* A number is also kept as text, for a column in which a later row has a text. */
static void take_row(struct mete_table *t, sqlite3_stmt *row)
{
    grow(t);
    for (int i = 0; i < t->columns; i++) {
        struct column *c = &t->column[i];
        int type = sqlite3_column_type(row, i);
        bool text = type == SQLITE_TEXT || type == SQLITE_BLOB;
        c->has_text = c->has_text || text;
        c->numbers[t->rows] = text || type == SQLITE_NULL ? NAN : sqlite3_column_double(row, i);
        c->texts[t->rows] = type == SQLITE_NULL ? NULL : sql_text(row, i);
    }
    t->rows++;
}

/* Columns of numbers alone need no texts. */
static void drop_texts(struct mete_table *t)
{
    for (int i = 0; i < t->columns; i++) {
        struct column *c = &t->column[i];
        for (int64_t r = 0; !c->has_text && r < t->rows; r++)
            free(c->texts[r]);
        if (!c->has_text) {
            free(c->texts);
            c->texts = NULL;
        }
    }
}

static int check_name(struct store *s, const char *table)
{
    sqlite3_stmt *find = NULL;
    int err = sql_prepare(s, &find,
                          "SELECT 1 FROM (SELECT * FROM sqlite_master UNION ALL"
                          " SELECT * FROM sqlite_temp_master)"
                          " WHERE type IN ('table', 'view') AND name = ?1");
    if (!err) {
        sql_bind(find, "t", table);
        int row = sql_row(s, find);
        err = row == 1  ? 0
              : row < 0 ? row
                        : fail(METE_EINVAL, "%s has no table '%.60s'", store_path(s), table);
    }
    sqlite3_finalize(find);
    return err;
}

static int read_table(struct mete_table *t, struct store *s, const char *name)
{
    sqlite3_stmt *stmt = NULL;
    char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", name);
    int row = 0,
        err = sql ? sql_prepare(s, &stmt, sql) : fail(METE_ENOMEM, "no memory for a query");
    sqlite3_free(sql);
    if (err)
        return err;
    t->columns = sqlite3_column_count(stmt);
    t->column = mem_array((size_t)t->columns, sizeof *t->column);
    for (int i = 0; i < t->columns; i++)
        t->column[i].name = mem_string(sqlite3_column_name(stmt, i));
    while ((row = sql_row(s, stmt)) == 1)
        take_row(t, stmt);
    sqlite3_finalize(stmt);
    drop_texts(t);
    return row < 0 ? row : 0;
}

int mete_table_open(struct mete_table **out, const char *db, const char *table)
{
    NUMBER_LOCALE;
    struct store *s = NULL;
    if (!db || !table || !out)
        return fail(METE_EINVAL, "a table needs a database, a name and somewhere to put it");
    int err = store_open(&s, db, STORE_READ);
    if (!err)
        err = check_name(s, table);
    if (err) {
        store_close(s);
        return err;
    }
    struct mete_table *t = mem_alloc(sizeof *t);
    err = read_table(t, s, table);
    store_close(s);
    if (err)
        mete_table_close(t);
    else
        *out = t;
    return err;
}
#else
int mete_table_open(struct mete_table **out, const char *db, const char *table)
{
    struct store *s = NULL;
    (void)out, (void)table;
    return store_open(&s, db, STORE_READ); /* says what is missing */
}
#endif
