/* protobuf.c - the wire format of Protocol Buffers: a key (field number and wire type) before each
 * value. */
#include "model/protobuf.h"

#include <string.h>

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

/* Seven bits a byte, the lowest first; the high bit says that more follow. */
static void put_varint(struct protobuf *p, uint64_t value)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (unsigned char)(value & 0x7f);
        value >>= 7;
        bytes[n++] |= value ? 0x80 : 0;
    } while (value);
    text_add_bytes(&p->bytes, bytes, n);
}

static void put_key(struct protobuf *p, int field, enum wire wire)
{
    put_varint(p, (uint64_t)field << 3 | (uint64_t)wire);
}

void protobuf_int(struct protobuf *p, int field, int64_t value)
{
    put_key(p, field, WIRE_VARINT);
    put_varint(p, (uint64_t)value);
}

void protobuf_bytes(struct protobuf *p, int field, const void *data, size_t size)
{
    put_key(p, field, WIRE_BYTES);
    put_varint(p, size);
    text_add_bytes(&p->bytes, data, size);
}

void protobuf_text(struct protobuf *p, int field, const char *text)
{
    protobuf_bytes(p, field, text, strlen(text));
}

void protobuf_message(struct protobuf *p, int field, struct protobuf *inner)
{
    protobuf_bytes(p, field, inner->bytes.at ? inner->bytes.at : "", inner->bytes.size);
    protobuf_release(inner);
}

void protobuf_release(struct protobuf *p)
{
    text_release(&p->bytes);
}
