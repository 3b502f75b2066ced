/* tensorboard.c - event files, written by hand.
 *
 * An event file is a sequence of TFRecords: length (8 bytes, little endian), its
 * masked CRC-32C, the data, the data's masked CRC-32C.  Each holds one message
 * tensorflow.Event in protocol-buffer wire format; the few fields used here are
 *   Event:   wall_time = 1 (double), step = 2 (varint), file_version = 3 (string),
 *            summary = 5 (message)
 *   Summary: value = 1 (message);  Value: tag = 1 (string), simple_value = 2 (float)
 * Times between start and end of a run are spread evenly over its steps: the database
 * keeps no clock for single checkpoints.
 */
#include "report/tensorboard.h"
#include "store/store_sql.h"

uint32_t crc32c(const void *data, size_t size)
{
    uint32_t crc = ~(uint32_t)0;
    const unsigned char *at = data;
    while (size--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0x82f63b78u & -(crc & 1u));
    }
    return ~crc;
}

#ifdef METE_HAVE_SQLITE
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_little(struct text *t, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        text_add_bytes(t, &(unsigned char){(unsigned char)(value >> (8 * i))}, 1);
}

static void add_varint(struct text *t, uint64_t value)
{
    for (; value > 127; value >>= 7)
        add_little(t, value | 128, 1);
    add_little(t, value, 1);
}

static void add_bytes(struct text *t, int field, const void *data, size_t size)
{
    add_varint(t, (uint64_t)field << 3 | 2);
    add_varint(t, size);
    text_add_bytes(t, data, size);
}

static void add_time(struct text *t, double wall_time)
{
    uint64_t bits;
    memcpy(&bits, &wall_time, sizeof bits);
    add_varint(t, 1 << 3 | 1);
    add_little(t, bits, 8);
}

/* TFRecord's mask, so that a CRC of data that holds CRCs stays a good one. */
static uint32_t masked_crc(const void *data, size_t size)
{
    uint32_t crc = crc32c(data, size);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void add_record(struct text *file, struct text *event)
{
    struct text length = {0};
    add_little(&length, event->size, 8);
    text_add_bytes(file, length.at, length.size);
    add_little(file, masked_crc(length.at, length.size), 4);
    text_add_bytes(file, event->at, event->size);
    add_little(file, masked_crc(event->at, event->size), 4);
    text_release(&length);
    text_release(event);
}

static void add_version(struct text *file, double wall_time)
{
    static const char version[] = "brain.Event:2";
    struct text event = {0};
    add_time(&event, wall_time);
    add_bytes(&event, 3, version, sizeof version - 1);
    add_record(file, &event);
}

static void add_scalar(struct text *file, double wall_time, int64_t step, const char *tag,
                       double value)
{
    struct text event = {0}, summary = {0}, entry = {0};
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    add_bytes(&entry, 1, tag, strlen(tag));
    add_varint(&entry, 2 << 3 | 5);
    add_little(&entry, bits, 4);
    add_bytes(&summary, 1, entry.at, entry.size);
    add_time(&event, wall_time);
    add_varint(&event, 2 << 3);
    add_varint(&event, (uint64_t)step);
    add_bytes(&event, 5, summary.at, summary.size);
    add_record(file, &event);
    text_release(&entry);
    text_release(&summary);
}

/* Rows (time, step, tag, value) of a run, in order of their steps. */
static const char scalars_sql[] =
    "WITH run_times AS (SELECT t.started + t.train_seconds * x.step / max(1.0, o.steps) AS time,"
    "  x.step, x.tag, x.value FROM times t JOIN outcomes o USING (run), ("
    "   SELECT step, 'validation/accuracy, ' || shots || '-shot' AS tag, accuracy AS value"
    "    FROM checkpoints WHERE run = ?1"
    "   UNION ALL SELECT step, 'validation/loss, ' || shots || '-shot', loss FROM checkpoints"
    "    WHERE run = ?1"
    "   UNION ALL SELECT step, 'training/loss', max(train_loss) FROM checkpoints WHERE run = ?1"
    "    GROUP BY step"
    "   UNION ALL SELECT step, 'budget/labels', max(labels_used) FROM checkpoints WHERE run = ?1"
    "    GROUP BY step"
    "   UNION ALL SELECT step, 'budget/tasks', max(tasks) FROM checkpoints WHERE run = ?1"
    "    GROUP BY step"
    "   UNION ALL SELECT step, printf('test/accuracy, %d-shot, %s, bn %s', shots, support, bn),"
    "    accuracy FROM tests WHERE run = ?1 AND model = 'best') x WHERE t.run = ?1)"
    " SELECT time, step, tag, value FROM run_times WHERE value IS NOT NULL ORDER BY step, tag";

static char *folder_name(const char *dir, const char *name)
{
    char *path = mem_print("%s/%s", dir, name);
    for (char *c = path + strlen(dir) + 1; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.@", *c))
            *c = '-';
    return path;
}

static int write_run(struct store *s, int64_t run, const char *name, const char *dir)
{
    struct text file = {0};
    sqlite3_stmt *rows = NULL;
    char *folder = folder_name(dir, name);
    char *path = mem_print("%s/events.out.tfevents.0.mete", folder);
    int row = 0, err = sql_prepare(s, &rows, scalars_sql);
    if (!err)
        sql_bind(rows, "l", run);
    while (!err && (row = sql_row(s, rows)) == 1) {
        if (!file.size)
            add_version(&file, sqlite3_column_double(rows, 0));
        add_scalar(&file, sqlite3_column_double(rows, 0), sqlite3_column_int64(rows, 1),
                   (const char *)sqlite3_column_text(rows, 2), sqlite3_column_double(rows, 3));
    }
    sqlite3_finalize(rows);
    err = err ? err : row < 0 ? row : file_make_folder(folder);
    if (!err)
        err = file_write(path, file.at ? file.at : "", file.size);
    text_release(&file);
    free(folder);
    free(path);
    return err;
}

int tensorboard_write(struct store *s, const char *suite, const char *dir)
{
    sqlite3_stmt *runs = NULL;
    int row = 0, err = sql_prepare(s, &runs,
                                   "SELECT run, bench || '-' || method || '-' || labels || '-'"
                                   " || shots || 's-seed' || seed || '-' || substr(id, 1, 8)"
                                   " FROM runs WHERE status = 'done' AND (?1 IS NULL OR run IN"
                                   " (SELECT run FROM suite_runs JOIN suites USING (suite)"
                                   "  WHERE name = ?1)) ORDER BY run");
    if (!err)
        sql_bind(runs, "t", suite);
    while (!err && (row = sql_row(s, runs)) == 1)
        err = write_run(s, sqlite3_column_int64(runs, 0),
                        (const char *)sqlite3_column_text(runs, 1), dir);
    sqlite3_finalize(runs);
    return err ? err : row < 0 ? row : 0;
}
#endif
