/* ref_float.c - the specification with float storage: what other sets are held to. */
#define REAL        float
#define REF_TABLE   kernels_ref
#define REF_NAME    "ref"
#define REF_SUMMARY "plain loops: the specification"
#include "ref_table.h"
