/* A run of bytes that is written from front to end and then read so, any number of times: in memory
 * as long as a budget has room for it, else through a temporary file (base/spill.h).
 *
 *   file    tail
 *   |=======|----|      bytes are put into the tail; the tail goes to the file when it may not grow
 *
 * Resident: the tail, the first HS_LONG_BUFFER_FREE_BYTES of which (or twice as much) are not
 * reserved, and what a spill needs. */
#ifndef HS_BASE_LONG_BUFFER_H
#define HS_BASE_LONG_BUFFER_H

#include "base/buffer.h"
#include "base/spill.h"

#define HS_LONG_BUFFER_FREE_BYTES ((size_t)2 << 20)

struct hs_long_buffer {
    struct hs_buffer tail;
    struct hs_spill spill; /* what came before the tail; not open: nothing */
    uint64_t n_reserved;   /* bytes of the budget */
    size_t kept_bytes;     /* more goes to a file if one can be made, though the budget has room;
                              0: no such limit. For who knows that the disk has room */
};

/* Makes room for `more` bytes (far fewer than HS_LONG_BUFFER_FREE_BYTES) in the tail. A NULL budget
 * has no limit. HS_IO when the disk is full. */
hs_status hs_long_buffer_grow(struct hs_long_buffer *b, struct hs_budget *budget, size_t more,
                              struct hs_error *err);
static inline hs_status hs_long_buffer_room(struct hs_long_buffer *b, struct hs_budget *budget,
                                            size_t more, struct hs_error *err)
{
    return b->tail.capacity - b->tail.n_bytes >= more ? HS_OK
                                                      : hs_long_buffer_grow(b, budget, more, err);
}

static inline uint64_t hs_long_buffer_bytes(const struct hs_long_buffer *b)
{
    return b->spill.n_bytes + b->tail.n_bytes;
}

/* Calls `visit` for pieces of at most HS_SPILL_BUFFER_BYTES, from the first byte to the last. No
 * byte may be put behind them afterwards but after a clear. */
struct hs_bytes_sink {
    hs_status (*visit)(void *context, const uint8_t *bytes, size_t n_bytes, struct hs_error *err);
    void *context;
};
hs_status hs_long_buffer_read(struct hs_long_buffer *b, const struct hs_bytes_sink *sink,
                              struct hs_error *err);

/* Empties it, without a limit; a small tail is kept, the rest given back. */
void hs_long_buffer_clear(struct hs_long_buffer *b, struct hs_budget *budget);
void hs_long_buffer_fini(struct hs_long_buffer *b, struct hs_budget *budget);

#endif
