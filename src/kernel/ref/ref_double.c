/* ref_double.c - the specification in double: for checking gradients by differences. */
#define REAL        double
#define REF_TABLE   kernels_ref64
#define REF_NAME    "ref64"
#define REF_SUMMARY "plain loops in double: for gradient checks"
#include "ref_table.h"
