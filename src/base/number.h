/* number.h - numbers as text, the same in every locale and read back to the bit. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <locale.h>
#include <stddef.h>

enum { NUMBER_TEXT = 32 };

/* At the head of every public function that reads or writes numbers: until it returns, this
 * thread reads and writes them as in the "C" locale, whatever the program has set. */
#define NUMBER_LOCALE                                                                              \
    __attribute__((cleanup(number_leave), unused)) locale_t number_before_ = number_enter()
locale_t number_enter(void); /* a thread of the library's own calls it once */
void number_leave(locale_t *before);

/* strtod as in the "C" locale. */
double number_read(const char *text, char **end);

/* The shortest of %.15g, %.16g and %.17g that reads back as `value`. */
void number_print(double value, char out[NUMBER_TEXT]);
/* The same for a float: the shortest of %.6g .. %.9g. */
void number_print_float(float value, char out[NUMBER_TEXT]);

#endif
