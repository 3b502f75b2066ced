/* sha256.h - the SHA-256 checksum (FIPS 180-4). */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_HEX = 65 }; /* 64 digits and a 0 */

struct sha256 {
    uint32_t h[8];
    uint64_t bytes;
    unsigned char block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t size);
void sha256_hex(struct sha256 *s, char out[SHA256_HEX]); /* ends it */

void sha256_of(const void *data, size_t size, char out[SHA256_HEX]);
int sha256_file(const char *path, char out[SHA256_HEX]);

#endif
