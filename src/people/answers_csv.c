/* answers_csv.c - answers in the CSV that the questions were written in.
 *
 * Needed are the columns item and label; user, line, file and who are looked at where they are
 * there, so that a row of another table or person is noticed.  Others are passed over.
 */
#include "people/ask_file.h"
#include "data/csv.h"
#include "data/file_iter.h"
#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    const struct people *p;
    struct places places;
    int item, label, user, place, who; /* columns, or -1 */
    struct given_list *out;
};

/* Of two columns of a name that is looked at, nobody knows which is meant. */
static int check_twice(const struct reading *r, const struct csv *c)
{
    const int columns[] = {r->item, r->label, r->user, r->who, r->place};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++)
        for (int i = columns[k] + 1; columns[k] >= 0 && i < c->n; i++)
            if (strcmp(c->field[i], c->field[columns[k]]) == 0)
                return csv_fail(c, i, "a second column named '%s'", c->field[i]);
    return 0;
}

static int find_columns(struct reading *r, const struct csv *c)
{
    r->item = csv_find(c, "item");
    r->label = csv_find(c, "label");
    r->user = csv_find(c, "user");
    r->who = csv_find(c, "who");
    r->place = r->places.word ? csv_find(c, r->places.word) : -1;
    if (r->item >= 0 && r->label >= 0)
        return check_twice(r, c);
    return csv_fail(c, 0,
                    "no column '%s'; expected item and label, as 'mete label next' writes "
                    "them",
                    r->item < 0 ? "item" : "label");
}

static int read_item(const struct reading *r, const struct csv *c, int64_t *item)
{
    const char *text = c->field[r->item];
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (end == text || *end || errno || *text == '-' || *text == '+' || *text == ' ')
        return csv_fail(c, r->item, "expected the number of an item, got '%.40s'", text);
    if (n >= r->p->d->items)
        return csv_fail(c, r->item, "no item %lld: %s has items 0 to %" PRId64, n, r->p->d->name,
                        r->p->d->items - 1);
    *item = n;
    return 0;
}

/* An item of somebody else, or of another table, is a slip of the pen. */
static int check_place(const struct reading *r, const struct csv *c, int64_t item)
{
    char name[16], place[PLACE_SIZE];
    if (r->user >= 0 && r->p->d->users) {
        const char *is = people_name(r->p, r->p->d->user[item], name);
        if (strcmp(c->field[r->user], is) != 0)
            return csv_fail(c, r->user, "item %" PRId64 " is of user '%s', and not of '%.60s'",
                            item, is, c->field[r->user]);
    }
    if (r->place >= 0) {
        const char *is = places_of(&r->places, item, place);
        if (strcmp(c->field[r->place], is) != 0)
            return csv_fail(c, r->place, "item %" PRId64 " is %s %.100s, and not %.60s", item,
                            r->places.word, is, c->field[r->place]);
    }
    return 0;
}

/* The text without blanks around it; free() it. */
static char *trimmed(const char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t", text[n - 1]))
        n--;
    return mem_print("%.*s", (int)n, text);
}

static int read_row(struct reading *r, const struct csv *c)
{
    int64_t item = 0;
    int err = read_item(r, c, &item);
    if (!err)
        err = check_place(r, c, item);
    if (err)
        return err;
    char *klass = trimmed(c->field[r->label]);
    char *who = r->who >= 0 ? trimmed(c->field[r->who]) : mem_string("");
    struct given g = {.item = item,
                      .line = c->place[r->label].line,
                      .column = c->place[r->label].column,
                      .who = *who ? who : NULL};
    if (!*who)
        free(who);
    if (!*klass) {
        r->out->blank++;
        free(klass);
        free(g.who);
        return 0;
    }
    if (strcmp(klass, ANSWER_DO_NOT_KNOW) == 0)
        free(klass);
    else
        g.klass = klass;
    given_add(r->out, &g);
    return 0;
}

int answers_read_csv(struct given_list *out, const struct people *p, const char *path)
{
    struct reading r = {.p = p, .out = out};
    struct file_iter *file = NULL;
    struct csv c = {0};
    bool more = false;
    int err = places_open(&r.places, p->d);
    if (!err)
        err = file_iter_open_plain(&file, path);
    if (!err) {
        csv_open(&c, path, CSV_ANY_SEPARATOR, file_iter_read, file);
        err = csv_next(&c, &more);
    }
    int width = c.n;
    if (!err)
        err = more ? find_columns(&r, &c) : csv_fail(&c, 0, "expected a line of column names");
    while (!err && !(err = csv_next(&c, &more)) && more)
        err = c.n == width ? read_row(&r, &c)
                           : csv_fail(&c, c.n - 1, "%d fields, expected %d", c.n, width);
    csv_close(&c);
    file_iter_close(file);
    places_close(&r.places);
    return err;
}
