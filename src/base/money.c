/* money.c - reading and printing amounts without rounding. */
#include "base/money.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SCALE = 6 }; /* decimals of a millionth */

/* The digits of a decimal number and where its point is: value = digits * 10^exponent. */
struct decimal {
    int64_t digits;
    int exponent;
    bool any, too_long;
};

static void take_digit(struct decimal *d, char digit, bool fraction)
{
    d->any = true;
    if (d->digits > MONEY_MAX / 10) {
        d->too_long = d->too_long || digit != '0' || !fraction;
        return;
    }
    d->digits = 10 * d->digits + (digit - '0');
    d->exponent -= fraction;
}

static const char *read_digits(struct decimal *d, const char *text)
{
    for (; isdigit((unsigned char)*text); text++)
        take_digit(d, *text, false);
    if (*text == '.' && (d->any || isdigit((unsigned char)text[1])))
        for (text++; isdigit((unsigned char)*text); text++)
            take_digit(d, *text, true);
    return text;
}

/* "e-3"; what is no exponent is left for the caller. */
static const char *read_exponent(struct decimal *d, const char *text)
{
    const char *at = text + 1;
    int sign = 1, value = 0;
    if (*text != 'e' && *text != 'E')
        return text;
    if (*at == '+' || *at == '-')
        sign = *at++ == '-' ? -1 : 1;
    if (!isdigit((unsigned char)*at))
        return text;
    for (; isdigit((unsigned char)*at); at++)
        value = value < 1000 ? 10 * value + (*at - '0') : value;
    d->exponent += sign * value;
    return at;
}

bool money_read(const char *text, const char **end, millionths *out)
{
    struct decimal d = {0};
    const char *at = read_digits(&d, text);
    if (!d.any || d.too_long)
        return false;
    at = read_exponent(&d, at);
    for (d.exponent += SCALE; d.digits && d.exponent > 0; d.exponent--) {
        if (d.digits > MONEY_MAX / 10)
            return false;
        d.digits *= 10;
    }
    for (; d.digits && d.exponent < 0; d.exponent++) {
        if (d.digits % 10)
            return false;
        d.digits /= 10;
    }
    if (d.digits > MONEY_MAX)
        return false;
    *end = at;
    *out = d.digits;
    return true;
}

void money_text(millionths amount, char out[MONEY_TEXT_SIZE])
{
    int64_t one = (int64_t)MILLIONTHS;
    int n = snprintf(out, MONEY_TEXT_SIZE, "%" PRId64, amount / one);
    if (amount % one == 0)
        return;
    n += snprintf(out + n, (size_t)(MONEY_TEXT_SIZE - n), ".%06" PRId64, amount % one);
    while (out[n - 1] == '0')
        out[--n] = '\0';
}
