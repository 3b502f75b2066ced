/* cost.c - reading the price of labels. */
#include "task/cost.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cost_release(struct cost *c)
{
    free(c->of_class);
    free(c->of_item);
    *c = (struct cost){0};
}

static const char price_expected[] = "expected a cost from 0 to a million, with at most 6 decimals";

static bool read_price(const char *text, millionths *out)
{
    const char *end;
    while (*text == ' ')
        text++;
    if (!money_read(text, &end, out) || *out > (millionths)(1e6 * MILLIONTHS))
        return false;
    while (*end == ' ' || *end == '\r' || *end == '\n')
        end++;
    return !*end;
}

static bool names_file(const char *text)
{
    return strncmp(text, "class:", 6) == 0 || strncmp(text, "item:", 5) == 0;
}

bool cost_content(const struct cost *c, const struct dataset *d, char out[CONTENT_SIZE])
{
    struct sha256 sum;
    sha256_init(&sum);
    if (c->of_class)
        sha256_add(&sum, c->of_class, (size_t)d->classes * sizeof *c->of_class);
    if (c->of_item)
        sha256_add(&sum, c->of_item, (size_t)d->items * sizeof *c->of_item);
    content_word(&sum, out);
    return c->of_class || c->of_item;
}

int cost_canonical(char text[PARAM_TEXT_SIZE])
{
    millionths price;
    if (names_file(text))
        return 0;
    if (!read_price(text, &price))
        return fail(METE_EINVAL,
                    "expected a number from 0 to a million with at most 6 decimals, class:FILE or "
                    "item:FILE, got '%s'",
                    text);
    money_text(price, text);
    return 0;
}

static int find_class(const struct dataset *d, const char *name)
{
    char *end;
    for (int c = 0; d->class_names && c < d->classes; c++)
        if (strcmp(d->class_names[c], name) == 0)
            return c;
    long number = strtol(name, &end, 10);
    return end != name && !*end && number >= 0 && number < d->classes ? (int)number : -1;
}

static int class_line(struct cost *c, const struct dataset *d, char *line)
{
    char *comma = strrchr(line, ',');
    millionths price;
    if (!comma)
        return fail(METE_EFORMAT, "expected name,cost");
    if (!read_price(comma + 1, &price))
        return fail(METE_EFORMAT, "%s", price_expected);
    *comma = '\0';
    int klass = find_class(d, line);
    if (klass < 0)
        return fail(METE_EFORMAT, "%s has no class '%s'", d->name, line);
    if (c->of_class[klass] >= 0)
        return fail(METE_EFORMAT, "class '%s' has a cost already", line);
    c->of_class[klass] = price;
    return 0;
}

static int item_line(struct cost *c, const struct dataset *d, const char *line, int64_t number)
{
    if (number >= d->items)
        return fail(METE_EFORMAT, "%s has only %lld items", d->name, (long long)d->items);
    if (!read_price(line, &c->of_item[number]))
        return fail(METE_EFORMAT, "%s", price_expected);
    return 0;
}

static int all_named(const struct cost *c, const struct dataset *d, int64_t lines)
{
    if (c->of_item && lines != d->items)
        return fail(METE_EFORMAT, "expected a line for each of %lld items, got %lld",
                    (long long)d->items, (long long)lines);
    for (int k = 0; c->of_class && k < d->classes; k++)
        if (c->of_class[k] < 0)
            return fail(METE_EFORMAT, "class '%s' (number %d) has no cost",
                        d->class_names ? d->class_names[k] : "", k);
    return 0;
}

static int read_file(struct cost *c, const struct dataset *d, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int64_t number = 0;
    int err = 0;
    if (!file)
        return fail(METE_EIO, "budget.cost: cannot read %s: %s", path, strerror(errno));
    for (; !err && getline(&line, &room, file) >= 0; number++) {
        err = c->of_item ? item_line(c, d, line, number) : class_line(c, d, line);
        if (err)
            fail_within(err, "%s:%lld", path, (long long)number + 1);
    }
    if (!err && ferror(file))
        err = fail(METE_EIO, "budget.cost: cannot read %s: %s", path, strerror(errno));
    if (!err && (err = all_named(c, d, number)))
        fail_within(err, "%s", path);
    free(line);
    fclose(file);
    return err;
}

/* A label that somebody gave costs what was paid for it, whatever the others cost. */
static void charge_as_paid(struct cost *c, const struct dataset *d)
{
    millionths *price = mem_array((size_t)d->items, sizeof *price);
    for (int64_t i = 0; i < d->items; i++)
        price[i] = d->paid[i] >= 0       ? d->paid[i]
                   : d->y[i] == NO_LABEL ? 0
                                         : cost_of(c, d, (int32_t)i);
    free(c->of_item);
    free(c->of_class);
    c->of_item = price;
    c->of_class = NULL;
}

int cost_open(struct cost *out, const struct dataset *d, const char *text)
{
    struct cost c = {.constant = (millionths)MILLIONTHS};
    int err = 0;
    if (strncmp(text, "class:", 6) == 0) {
        c.of_class = mem_array((size_t)d->classes, sizeof *c.of_class);
        for (int k = 0; k < d->classes; k++)
            c.of_class[k] = -1;
        err = read_file(&c, d, text + 6);
    } else if (strncmp(text, "item:", 5) == 0) {
        c.of_item = mem_array((size_t)d->items, sizeof *c.of_item);
        err = read_file(&c, d, text + 5);
    } else if (!read_price(text, &c.constant)) {
        err = fail(METE_EINVAL, "budget.cost: %s, got '%s'", price_expected, text);
    }
    if (!err && d->paid)
        charge_as_paid(&c, d);
    if (err)
        cost_release(&c);
    else
        *out = c;
    return err;
}
