/* protobuf.h - writing Protocol Buffers (protobuf.dev/programming-guides/encoding), as far as ONNX
 * needs them: numbers, texts, bytes, and messages within messages.
 *
 *   struct protobuf inner = {0}, outer = {0};
 *   protobuf_text(&inner, 1, "name");
 *   protobuf_message(&outer, 7, &inner);     // released by it
 *   ... outer.bytes.at, outer.bytes.size ...
 *   protobuf_release(&outer);
 */
#ifndef MODEL_PROTOBUF_H
#define MODEL_PROTOBUF_H

#include "base/text.h"

#include <stdint.h>

struct protobuf { /* a message; zeroed is empty */
    struct text bytes;
};

void protobuf_int(struct protobuf *p, int field, int64_t value);
void protobuf_text(struct protobuf *p, int field, const char *text);
void protobuf_bytes(struct protobuf *p, int field, const void *data, size_t size);
void protobuf_message(struct protobuf *p, int field, struct protobuf *inner);
void protobuf_release(struct protobuf *p);

#endif
