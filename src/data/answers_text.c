/* answers_text.c - the lines of answers.log.
 *
 *   mete-answers TAB 1 TAB sha256 of the dataset
 *   label TAB when TAB who TAB item TAB class TAB cost
 *   unknown TAB when TAB who TAB item TAB cost
 *   second TAB when TAB who TAB item TAB class TAB cost
 *   undo TAB when TAB who TAB row
 *   class TAB when TAB who TAB name
 *   budget TAB when TAB who TAB amount
 *   end TAB rows TAB checksum of the checksum before and the lines since
 *
 * In names \t, \n, \r and \\ stand for what would end a field.
 */
#include "data/answers_own.h"
#include "base/error.h"
#include "base/memory.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MAX = 6, VERSION = 1 };
static const char *const kind_words[ANSWER_KINDS] = {"label", "unknown", "second",
                                                     "undo",  "class",   "budget"};
static const int kind_fields[ANSWER_KINDS] = {6, 5, 6, 4, 4, 4};
static const char plain[] = "\t\n\r\\", escaped[] = "tnr\\";

static bool has_class(int kind)
{
    return kind == ANSWER_LABEL || kind == ANSWER_SECOND || kind == ANSWER_CLASS;
}

/* ---- writing ---- */

static void print_name(struct text *to, const char *name)
{
    text_add(to, "\t");
    for (const char *c = name; *c; c++) {
        const char *at = strchr(plain, *c);
        if (at)
            text_print(to, "\\%c", escaped[at - plain]);
        else
            text_add_bytes(to, c, 1);
    }
}

static void print_money(struct text *to, millionths amount)
{
    char words[MONEY_TEXT_SIZE];
    money_text(amount, words);
    text_print(to, "\t%s", words);
}

void answers_header(struct text *to, const struct dataset *d)
{
    text_print(to, "mete-answers\t%d\t%s\n", VERSION, *d->sha256 ? d->sha256 : "-");
}

void answer_print(struct text *to, const struct answer *r)
{
    text_print(to, "%s\t%s", kind_words[r->kind], r->when);
    print_name(to, r->who);
    if (answer_has_item(r))
        text_print(to, "\t%" PRId64, r->item);
    if (has_class(r->kind))
        print_name(to, r->klass);
    if (r->kind == ANSWER_UNDO)
        text_print(to, "\t%" PRId64, r->undoes);
    else if (r->kind != ANSWER_CLASS)
        print_money(to, r->cost);
    text_add(to, "\n");
}

static void sum_of(const char *body, size_t size, const char before[SHA256_HEX],
                   char out[SHA256_HEX])
{
    struct sha256 s;
    sha256_init(&s);
    sha256_add(&s, before, strlen(before));
    sha256_add(&s, body, size);
    sha256_hex(&s, out);
}

void answers_end(struct text *to, const char *body, size_t size, int64_t rows,
                 const char before[SHA256_HEX], char sum[SHA256_HEX])
{
    sum_of(body, size, before, sum);
    text_print(to, "end\t%" PRId64 "\t%s\n", rows, sum);
}

/* ---- reading ---- */

/* Cuts a line at its tabs, in place; how many fields, or FIELDS_MAX + 1 where there are more. */
static int cut_fields(char *line, char *field[FIELDS_MAX])
{
    int n = 0;
    for (char *at = line; at; n++) {
        char *tab = strchr(at, '\t');
        if (n == FIELDS_MAX)
            return FIELDS_MAX + 1;
        field[n] = at;
        if (tab)
            *tab = '\0';
        at = tab ? tab + 1 : NULL;
    }
    return n;
}

/* Puts in what an escape stands for, in place. */
static bool read_name(char *name)
{
    char *to = name;
    for (const char *c = name; *c; c++) {
        const char *at = *c == '\\' && c[1] ? strchr(escaped, c[1]) : NULL;
        if (*c == '\\' && !at)
            return false;
        *to++ = at ? plain[at - escaped] : *c;
        c += at != NULL;
    }
    *to = '\0';
    return *name;
}

static bool read_count(const char *text, int64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*text) || strlen(text) > 18)
        return false;
    *out = strtoll(text, &end, 10);
    return !*end;
}

static bool read_time(const char *text, char out[ANSWER_TIME])
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    memcpy(out, text, sizeof form);
    return true;
}

static bool read_money(const char *text, millionths *out)
{
    const char *end;
    return money_read(text, &end, out) && !*end;
}

/* One row of a batch. */
static int read_row(char *line, struct answer *out)
{
    char *field[FIELDS_MAX];
    int n = cut_fields(line, field);
    struct answer r = {.item = -1};
    while (r.kind < ANSWER_KINDS && strcmp(kind_words[r.kind], field[0]) != 0)
        r.kind++;
    if (r.kind == ANSWER_KINDS || n != kind_fields[r.kind])
        return fail(METE_EFORMAT, "expected an answer, got '%.40s'", field[0]);
    bool item = answer_has_item(&r), klass = has_class(r.kind);
    int class_at = item ? 4 : 3;
    bool good = read_time(field[1], r.when) && read_name(field[2]);
    if (good && item)
        good = read_count(field[3], &r.item);
    if (good && klass)
        good = read_name(field[class_at]);
    if (good && r.kind == ANSWER_UNDO)
        good = read_count(field[3], &r.undoes);
    else if (good && r.kind != ANSWER_CLASS)
        good = read_money(field[n - 1], &r.cost);
    if (!good)
        return fail(METE_EFORMAT, "a field of this '%s' is not as expected", kind_words[r.kind]);
    r.who = field[2];
    r.klass = klass ? field[class_at] : NULL;
    *out = r;
    return 0;
}

/* The rows of a batch, whose checksum is right and which begins with line `line`.  Every one must
 * be news. */
static int take_rows(struct answers *a, char *body, char *end, int64_t rows, int64_t line)
{
    int64_t n = 0;
    for (; body < end; n++) {
        struct answer r;
        char *stop = memchr(body, '\n', (size_t)(end - body));
        *stop = '\0';
        int err = read_row(body, &r);
        r.batch = a->totals.batches + 1;
        if (!err && (err = answers_apply(a, &r)) >= 0)
            err = err == 1 ? 0 : fail(METE_EFORMAT, "an answer that was given before");
        if (err)
            return fail_within(err == METE_ENOMEM ? err : METE_EFORMAT, "%s:%" PRId64, a->path,
                               line + n);
        body = stop + 1;
    }
    return n == rows
               ? 0
               : fail(METE_EFORMAT, "%s:%" PRId64 ": %" PRId64 " rows before it, not %" PRId64,
                      a->path, line + n, n, rows);
}

static int64_t count_lines(const char *at, const char *end)
{
    int64_t n = 0;
    for (; at < end; at++)
        n += *at == '\n';
    return n;
}

void answers_closed(struct answers *a, int64_t lines, size_t bytes, const char sum[SHA256_HEX])
{
    a->lines += lines;
    a->size += (int64_t)bytes;
    a->totals.batches++;
    memcpy(a->sum, sum, SHA256_HEX);
}

/* A batch from `start` to before `stop`: perhaps the header, the rows from `body`, and the line
 * `last` that closes it. */
static int take_batch(struct answers *a, const char *start, char *body, char *last, char *stop)
{
    char want[SHA256_HEX], *field[FIELDS_MAX];
    int64_t rows, line = a->lines + (body > start) + 1, lines = count_lines(body, last);
    sum_of(body, (size_t)(last - body), a->sum, want);
    *stop = '\0';
    if (cut_fields(last, field) != 3 || !read_count(field[1], &rows) || strcmp(field[2], want) != 0)
        return fail(METE_EFORMAT,
                    "%s:%" PRId64 ": the lines before it do not have the checksum that it names; "
                    "put back a copy of this file from before it was changed",
                    a->path, line + lines);
    int err = take_rows(a, body, last, rows, line);
    if (!err)
        answers_closed(a, lines + 1 + (body > start), (size_t)(stop + 1 - start), want);
    return err;
}

/* Whether the log begins as one of this dataset does; what a killed writer left may be cut short.
 */
static int check_header(const struct answers *a, const char *text, size_t size)
{
    struct text want = {0};
    answers_header(&want, a->d);
    size_t n = size < want.size ? size : want.size;
    int err = memcmp(text, want.at, n) == 0
                  ? 0
                  : fail(METE_EFORMAT,
                         "%s:1: these are not the answers of this dataset, or of a later version "
                         "of mete; move the file away to begin without answers",
                         a->path);
    text_release(&want);
    return err;
}

int answers_take(struct answers *a, const char *text, size_t size)
{
    int err = a->size == 0 ? check_header(a, text, size) : 0;
    if (err || size == 0)
        return err;
    char *copy = NULL;
    err = mem_try(&copy, size + 1, 1, a->path);
    if (err)
        return err;
    memcpy(copy, text, size);
    char *start = copy, *end = copy + size;
    char *header = a->size == 0 ? memchr(copy, '\n', size) : NULL, *body = copy;
    if (a->size == 0)
        body = header ? header + 1 : end;
    for (char *at = body, *stop; !err && at < end; at = stop + 1) {
        if (!(stop = memchr(at, '\n', (size_t)(end - at))))
            break; /* what a killed writer left */
        if (strncmp(at, "end\t", 4) != 0)
            continue;
        err = take_batch(a, start, body, at, stop);
        start = body = stop + 1;
    }
    free(copy);
    return err;
}
