/* tensorboard.h - runs as event files for TensorBoard. */
#ifndef REPORT_TENSORBOARD_H
#define REPORT_TENSORBOARD_H

#include <stddef.h>
#include <stdint.h>

struct store;

/* Writes dir/BENCH-METHOD-LABELS-sSEED-ID/events.out.tfevents.0.mete for every run
 * that is done (of the suite `suite`, or of all where it is NULL). */
int tensorboard_write(struct store *s, const char *suite, const char *dir);

/* CRC-32C (Castagnoli), as TFRecord files use it. */
uint32_t crc32c(const void *data, size_t size);

#endif
