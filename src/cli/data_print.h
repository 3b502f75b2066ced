/* data_print.h - what is in a dataset, for people and for programs. */
#ifndef DATA_PRINT_H
#define DATA_PRINT_H

#include "mete.h"

void data_print(const struct mete_data_info *info);
void data_print_json(const struct mete_data_info *info);

#endif
