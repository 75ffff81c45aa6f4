/* Protocol buffers: keys, numbers, and lengths that are filled in. */
#include "proto.h"

enum { NUMBER = 0, LENGTH = 2, LENGTH_BYTES = 5, KEY_BYTES = HS_VARINT_MAX_BYTES };

void hs_proto_fini(struct hs_proto *p)
{
    hs_buffer_fini(&p->buffer);
}

static bool room(struct hs_proto *p, size_t n_bytes)
{
    if (p->status == HS_OK)
        p->status = hs_buffer_reserve(&p->buffer, n_bytes, &p->error);
    return p->status == HS_OK;
}

static void put_key(struct hs_proto *p, unsigned field, unsigned kind)
{
    hs_buffer_put_varint(&p->buffer, (uint64_t)field << 3 | kind);
}

size_t hs_proto_begin(struct hs_proto *p, unsigned field)
{
    if (!room(p, KEY_BYTES + LENGTH_BYTES))
        return 0;
    put_key(p, field, LENGTH);
    p->buffer.n_bytes += LENGTH_BYTES;
    return p->buffer.n_bytes;
}

void hs_proto_end(struct hs_proto *p, size_t begun)
{
    if (p->status != HS_OK)
        return;
    uint64_t n_bytes = p->buffer.n_bytes - begun;
    if (n_bytes > UINT32_MAX) {
        p->status = hs_fail(&p->error, HS_LIMIT, "a message of more than 4 GiB");
        return;
    }
    uint8_t *length = p->buffer.bytes + begun - LENGTH_BYTES;
    for (unsigned i = 0; i < LENGTH_BYTES; i++, n_bytes >>= 7)
        length[i] = (uint8_t)((n_bytes & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

void hs_proto_number(struct hs_proto *p, unsigned field, uint64_t value)
{
    if (!room(p, 2 * KEY_BYTES))
        return;
    put_key(p, field, NUMBER);
    hs_buffer_put_varint(&p->buffer, value);
}

void hs_proto_text(struct hs_proto *p, const char *text)
{
    if (room(p, strlen(text)))
        hs_buffer_put_bytes(&p->buffer, text, strlen(text));
}

void hs_proto_clean(struct hs_proto *p, const char *name)
{
    if (p->status == HS_OK)
        p->status = hs_text_sanitise(name, strlen(name), HS_TEXT_TERMINAL, &p->buffer, &p->error);
}

void hs_proto_name(struct hs_proto *p, unsigned field, const char *name)
{
    size_t begun = hs_proto_begin(p, field);
    hs_proto_clean(p, name);
    hs_proto_end(p, begun);
}

void hs_proto_packed(struct hs_proto *p, uint64_t value)
{
    if (room(p, HS_VARINT_MAX_BYTES))
        hs_buffer_put_varint(&p->buffer, value);
}

void hs_proto_flush(struct hs_proto *p, struct hs_pen *pen)
{
    if (p->status == HS_OK)
        hs_pen_bytes(pen, p->buffer.bytes, p->buffer.n_bytes);
    else if (pen->status == HS_OK) {
        pen->status = p->status;
        pen->error = p->error;
    }
    p->buffer.n_bytes = 0;
}
