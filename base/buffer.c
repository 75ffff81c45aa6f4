/* The growing side of struct hs_buffer; the hot encoders are inline in the header. */
#include "base/buffer.h"

#include "base/alloc.h"

hs_status hs_buffer_reserve(struct hs_buffer *b, size_t more, struct hs_error *err)
{
    size_t needed;
    if (__builtin_add_overflow(b->n_bytes, more, &needed))
        return hs_fail(err, HS_LIMIT, "cannot allocate %zu more bytes: too large", more);
    return HS_GROW(&b->bytes, &b->capacity, needed, err);
}

void hs_buffer_fini(struct hs_buffer *b)
{
    if (b == NULL)
        return;
    hs_free(b->bytes);
    *b = (struct hs_buffer){0};
}

static void buffer_put_number(struct hs_buffer *b, uint64_t value, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hs_buffer_put_u8(b, (uint8_t)(value >> (8 * i)));
}

void hs_buffer_put_u32(struct hs_buffer *b, uint32_t value)
{
    buffer_put_number(b, value, 4);
}

void hs_buffer_put_u64(struct hs_buffer *b, uint64_t value)
{
    buffer_put_number(b, value, 8);
}
