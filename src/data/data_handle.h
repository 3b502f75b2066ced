/* data_handle.h - what stands behind struct mete_data. */
#ifndef DATA_DATA_HANDLE_H
#define DATA_DATA_HANDLE_H

#include "data/dataset.h"

struct mete_data {
    struct dataset *d;
};

#endif
