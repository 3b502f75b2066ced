/* bench.c - reading and printing benchmark names. */
#include "task/bench.h"
#include "base/money.h"
#include "base/error.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads digits followed by `unit`; *at moves past both. */
static bool read_count(const char **at, char unit, int *out)
{
    const char *s = *at;
    int64_t value = 0;
    for (; isdigit((unsigned char)*s) && value <= INT32_MAX; s++)
        value = value * 10 + (*s - '0');
    if (s == *at || *s != unit || value < 1 || value > INT32_MAX)
        return false;
    *out = (int)value;
    *at = s + 1;
    return true;
}

/* "30K", "1.2M", "500": a whole number of labels. */
static bool read_budget(const char *text, int64_t *out)
{
    const char *end;
    millionths value;
    if (!money_read(text, &end, &value))
        return false;
    if (*end == 'K' || *end == 'k')
        value = money_times(value, 1000), end++;
    else if (*end == 'M')
        value = money_times(value, 1000000), end++;
    *out = value / (int64_t)MILLIONTHS;
    return !*end && *out >= 1 && value <= MONEY_MAX && value % (int64_t)MILLIONTHS == 0;
}

static int parse(struct bench *out, const char *text)
{
    struct bench b = {0};
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text)
        return fail(METE_EINVAL, "a benchmark is written omniglot:5w-1s@30K, got '%s'", text);
    size_t length = (size_t)(colon - text);
    if (length >= sizeof b.dataset)
        return fail(METE_EINVAL, "the dataset of a benchmark has at most %zu letters, got %zu",
                    sizeof b.dataset - 1, length);
    memcpy(b.dataset, text, length);

    const char *at = colon + 1;
    if (read_count(&at, 'w', &b.ways) && *at++ != '-')
        return fail(METE_EINVAL, "%s: expected ways-shots as in 5w-1s after the colon", text);
    if (!read_count(&at, 's', &b.shots))
        return fail(METE_EINVAL, "%s: expected a number of shots as in 5w-1s", text);
    if (*at == '@' && !read_budget(at + 1, &b.budget))
        return fail(METE_EINVAL,
                    "%s: expected a whole number of labels after '@', as in @30K, up to 1e12",
                    text);
    if (*at && *at != '@')
        return fail(METE_EINVAL, "%s: '%s' is left over after the shots", text, at);
    *out = b;
    return 0;
}

/* The digits at or after *at that come before '@', as a number; *at moves past them. */
static int next_number(const char **at)
{
    const char *s = *at + strcspn(*at, "0123456789@");
    int value = 0, digits = 0;
    for (; isdigit((unsigned char)*s) && digits < 7; s++, digits++)
        value = 10 * value + (*s - '0');
    *at = s;
    return value;
}

/* What may have been meant: "omniglot:5way1shot@30k" is omniglot:5w-1s@30K.  False where nothing
 * sensible can be made of it. */
static bool guess(const char *text, char *out, size_t size)
{
    struct bench b;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || strlen(text) >= size / 2)
        return false;
    const char *at = colon + 1, *budget = strchr(colon, '@');
    int ways = next_number(&at), shots = next_number(&at), n = (int)(colon - text);
    if (shots)
        n = snprintf(out, size, "%.*s:%dw-%ds", n, text, ways, shots);
    else
        n = snprintf(out, size, "%.*s:%ds", n, text, ways);
    if (budget && isdigit((unsigned char)budget[1])) {
        int digits = (int)strspn(budget + 1, "0123456789.");
        char unit = (char)toupper((unsigned char)budget[1 + digits]);
        snprintf(out + n, size - (size_t)n, "@%.*s%s", digits, budget + 1,
                 unit == 'K'   ? "K"
                 : unit == 'M' ? "M"
                               : "");
    }
    return strcmp(out, text) != 0 && parse(&b, out) == 0;
}

int bench_parse(struct bench *out, const char *text)
{
    char sentence[1024], meant[600];
    if (!text)
        return fail(METE_EINVAL, "say which benchmark, as in omniglot:5w-1s@30K");
    int err = parse(out, text);
    if (!err)
        return 0;
    snprintf(sentence, sizeof sentence, "%s", mete_errmsg());
    return guess(text, meant, sizeof meant) ? fail(err, "%s; did you mean '%s'?", sentence, meant)
                                            : fail(err, "%s", sentence);
}

void bench_text(const struct bench *b, char *out, size_t size)
{
    char ways[24] = "", budget[32] = "";
    if (b->ways)
        snprintf(ways, sizeof ways, "%dw-", b->ways);
    if (b->budget && b->budget % 1000 == 0)
        snprintf(budget, sizeof budget, "@%" PRId64 "K", b->budget / 1000);
    else if (b->budget)
        snprintf(budget, sizeof budget, "@%" PRId64, b->budget);
    snprintf(out, size, "%s:%s%ds%s", b->dataset, ways, b->shots, budget);
}

int shots_parse(const char *text, int shots[TEST_SHOTS_MAX])
{
    int n = 0;
    for (const char *at = text; *at || n == 0;) {
        char *end;
        long value = strtol(at, &end, 10);
        if (end == at || value < 1 || value > 1000000 || (*end && *end != ',') ||
            (*end == ',' && !end[1]) || n == TEST_SHOTS_MAX)
            return fail(METE_EINVAL, "expected up to %d numbers such as 1,5, got '%s'",
                        TEST_SHOTS_MAX, text);
        shots[n++] = (int)value;
        at = *end ? end + 1 : end;
    }
    return n;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int shots_canonical(char text[PARAM_TEXT_SIZE])
{
    int shots[TEST_SHOTS_MAX], n = shots_parse(text, shots);
    size_t used = 0;
    if (n < 0)
        return n;
    qsort(shots, (size_t)n, sizeof *shots, by_number);
    for (int i = 0; i < n; i++) {
        if (i > 0 && shots[i] == shots[i - 1])
            return fail(METE_EINVAL, "%d is there twice", shots[i]);
        used +=
            (size_t)snprintf(text + used, PARAM_TEXT_SIZE - used, "%s%d", i ? "," : "", shots[i]);
    }
    return 0;
}
