/* money.h - costs and budgets, as whole numbers of a millionth of a label.
 *
 * Sums of whole numbers are exact, so that the last label is bought or refused for the
 * right reason.  Nothing here rounds: a number that is no multiple of a millionth is refused.
 */
#ifndef BASE_MONEY_H
#define BASE_MONEY_H

#include "mete.h"

typedef int64_t millionths;

#define MILLIONTHS 1e6

enum { MONEY_TEXT_SIZE = 32 };
#define MONEY_MAX INT64_C(1000000000000000000) /* 1e12 labels */

/* Reads a decimal number from the front of `text`, such as 30, 0.25 or 1e-3, without sign;
 * *end is what follows it.  False where there is none, where it has more than six decimals,
 * or where it is more than MONEY_MAX. */
bool money_read(const char *text, const char **end, millionths *out);
/* The shortest decimal that money_read() reads back. */
void money_text(millionths amount, char out[MONEY_TEXT_SIZE]);

/* What is too large for a sum is INT64_MAX.  For amounts of 0 or more. */
static inline millionths money_add(millionths a, millionths b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static inline millionths money_times(millionths a, int64_t n)
{
    return n > 0 && a > INT64_MAX / n ? INT64_MAX : a * n;
}

static inline double money_labels(millionths amount)
{
    return (double)amount / MILLIONTHS;
}

#endif
