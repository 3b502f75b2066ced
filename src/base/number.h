/* number.h - numbers as text, the same in every locale and read back to the bit. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>

enum { NUMBER_TEXT = 32 };

/* strtod as in the "C" locale. */
double number_read(const char *text, char **end);

/* The shortest of %.15g, %.16g and %.17g that reads back as `value`. */
void number_print(double value, char out[NUMBER_TEXT]);
/* The same for a float: the shortest of %.6g .. %.9g. */
void number_print_float(float value, char out[NUMBER_TEXT]);

#endif
