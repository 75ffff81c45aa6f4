#include "base/long_buffer.h"

#include "base/alloc.h"

/* Empties the tail into the file. */
static hs_status long_buffer_spill(struct hs_long_buffer *b, const struct hs_budget *budget,
                                   struct hs_error *err)
{
    if (!b->spill.is_open)
        HS_TRY(hs_spill_open(budget, "a long column", &b->spill, err));
    HS_TRY(hs_spill_write(&b->spill, b->tail.bytes, b->tail.n_bytes, err));
    b->tail.n_bytes = 0;
    return HS_OK;
}

hs_status hs_long_buffer_grow(struct hs_long_buffer *b, struct hs_budget *budget, size_t more,
                              struct hs_error *err)
{
    struct hs_error full = HS_ERROR_INIT;

    if (hs_budget_left_bytes(budget) == UINT64_MAX ||
        b->tail.n_bytes + more <= HS_LONG_BUFFER_FREE_BYTES)
        return hs_buffer_reserve(&b->tail, more, err);
    if (!b->spill.is_open && b->kept_bytes != 0 && b->tail.n_bytes + more > b->kept_bytes)
        (void)hs_spill_open(budget, "a long column", &b->spill, &full); /* else in memory */
    /* A tail that has given way once stays small: its bytes are read from the file anyway. */
    uint64_t n_bytes = b->tail.capacity > more ? b->tail.capacity : more; /* it doubles */
    if (!b->spill.is_open && hs_budget_reserve(budget, n_bytes, "a long column", &full) == HS_OK) {
        b->n_reserved += n_bytes;
        return hs_buffer_reserve(&b->tail, more, err);
    }
    HS_TRY(long_buffer_spill(b, budget, err));
    return hs_buffer_reserve(&b->tail, more, err);
}

static hs_status long_buffer_read_file(struct hs_long_buffer *b, const struct hs_bytes_sink *sink,
                                       struct hs_spill_reader *reader, struct hs_error *err)
{
    HS_TRY(hs_spill_read(&b->spill, 0, b->spill.n_bytes, reader, err));
    while (!hs_spill_at_end(reader)) {
        if (reader->next == reader->stop)
            HS_TRY(hs_spill_fill(reader, 1, err));
        HS_TRY(
            sink->visit(sink->context, reader->next, (size_t)(reader->stop - reader->next), err));
        reader->next = reader->stop;
    }
    return HS_OK;
}

hs_status hs_long_buffer_read(struct hs_long_buffer *b, const struct hs_bytes_sink *sink,
                              struct hs_error *err)
{
    struct hs_spill_reader reader = {0};

    if (b->spill.is_open && b->spill.buffer != NULL)
        HS_TRY(hs_spill_seal(&b->spill, err));
    if (b->spill.is_open) {
        hs_status status = long_buffer_read_file(b, sink, &reader, err);
        hs_spill_reader_close(&reader);
        HS_TRY(status);
    }
    for (size_t at = 0; at < b->tail.n_bytes; at += HS_SPILL_BUFFER_BYTES) {
        size_t left = b->tail.n_bytes - at;
        HS_TRY(sink->visit(sink->context, b->tail.bytes + at,
                           left < HS_SPILL_BUFFER_BYTES ? left : HS_SPILL_BUFFER_BYTES, err));
    }
    return HS_OK;
}

void hs_long_buffer_clear(struct hs_long_buffer *b, struct hs_budget *budget)
{
    hs_spill_close(&b->spill);
    b->tail.n_bytes = 0;
    b->kept_bytes = 0;
    if (b->tail.capacity > 2 * HS_LONG_BUFFER_FREE_BYTES)
        hs_buffer_fini(&b->tail);
    hs_budget_release(budget, b->n_reserved);
    b->n_reserved = 0;
}

void hs_long_buffer_fini(struct hs_long_buffer *b, struct hs_budget *budget)
{
    if (b == NULL)
        return;
    hs_long_buffer_clear(b, budget);
    hs_buffer_fini(&b->tail);
}
