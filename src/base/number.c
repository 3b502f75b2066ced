/* number.c - strtod and printf in the "C" locale, whatever the program has set. */
#include "base/number.h"

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t c_locale; /* lives as long as the program */

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t number_enter(void)
{
    pthread_once(&once, make_locale);
    return uselocale(c_locale);
}

void number_leave(locale_t *before)
{
    uselocale(*before);
}

double number_read(const char *text, char **end)
{
    pthread_once(&once, make_locale);
    return strtod_l(text, end, c_locale);
}

static void print_digits(double value, int digits, char out[NUMBER_TEXT])
{
    pthread_once(&once, make_locale);
    locale_t before = uselocale(c_locale);
    snprintf(out, NUMBER_TEXT, "%.*g", digits, value);
    uselocale(before);
}

void number_print(double value, char out[NUMBER_TEXT])
{
    for (int digits = 15; digits <= 17; digits++) {
        print_digits(value, digits, out);
        if (number_read(out, NULL) == value)
            return;
    }
}

void number_print_float(float value, char out[NUMBER_TEXT])
{
    for (int digits = 6; digits <= 9; digits++) {
        print_digits(value, digits, out);
        if ((float)number_read(out, NULL) == value)
            return;
    }
}
