/* A temporary file for what does not fit in memory: written once from front to end, then read by
 * any number of readers. It has no name from the moment it is opened (O_TMPFILE, else unlinked), so
 * nothing is left behind however we end.
 *
 *   write:   buffer of HS_SPILL_BUFFER_BYTES -> file; what is written is pushed to disk piece by
 *            piece and dropped from the page cache, so that it does not count as ours
 *   read:    forward or backward, each reader with a buffer of its own; what was read is dropped
 *            from the page cache, too
 *
 * Resident: a spill that is written HS_SPILL_BUFFER_BYTES and up to two pieces of page cache, a
 * reader HS_SPILL_BUFFER_BYTES and a piece. A full disk is HS_IO, naming the directory and the
 * bytes. */
#ifndef HS_BASE_SPILL_H
#define HS_BASE_SPILL_H

#include <assert.h>
#include <string.h>

#include "base/budget.h"
#include "base/cursor.h"

#define HS_SPILL_BUFFER_BYTES ((size_t)256 << 10)
#define HS_SPILL_PIECE_BYTES ((uint64_t)1 << 20)

struct hs_spill {
    int fd; /* of a zeroed object: not open; see is_open */
    bool is_open;
    const char *what;      /* borrowed: for messages */
    const char *directory; /* the same */
    uint64_t n_bytes;      /* written, buffered ones included */
    uint64_t n_pushed;     /* of these on their way to disk */
    uint8_t *buffer;       /* owned; NULL once sealed */
    size_t n_buffered;
    bool is_read_often; /* set by whoever reads it many times: what was read stays in the page cache
                           as long as the system has room for it */
    bool stays_cached;  /* the same of what is written, set before that */
    bool ends_in_hole;
    bool is_temporary; /* of hs_spill_open: counted in hs_spill_most_bytes */
    uint64_t n_stored; /* of these, what is in the file */
};

/* Returns the largest number of bytes that all temporary files of this process held at one time. */
uint64_t hs_spill_most_bytes(void);
/* Counts the largest number from now on. */
void hs_spill_most_again(void);
/* Tells that the file reaches `end`, for those who write to the descriptor themselves. Its holes
 * count. */
void hs_spill_stored(struct hs_spill *spill, uint64_t end);

/* Returns the directory of temporary files: the budget's directory; else TMPDIR, unless that is
 * made of memory; else /var/tmp. A NULL budget names none. */
const char *hs_spill_directory(const struct hs_budget *budget);

/* Opens a spill; `what` ("the reversed edges") is kept. */
hs_status hs_spill_open(const struct hs_budget *budget, const char *what, struct hs_spill *ret,
                        struct hs_error *err);
/* The same over an open file of which n_bytes are kept: what is written comes behind them. Takes
 * the descriptor over in any case; `directory` is kept. */
hs_status hs_spill_over(int fd, uint64_t n_bytes, const char *directory, const char *what,
                        struct hs_spill *ret, struct hs_error *err);
hs_status hs_spill_write(struct hs_spill *spill, const void *bytes, size_t n_bytes,
                         struct hs_error *err);
/* Empties the buffer into the file. */
hs_status hs_spill_flush(struct hs_spill *spill, struct hs_error *err);

/* Writes n_bytes zeros that take no disk: for runs of pages. Writes what is buffered first. */
hs_status hs_spill_skip(struct hs_spill *spill, uint64_t n_bytes, struct hs_error *err);

/* Writes LEB128 as hs_buffer_put_varint. */
static inline hs_status hs_spill_put_varint(struct hs_spill *spill, uint64_t value,
                                            struct hs_error *err)
{
    if (HS_SPILL_BUFFER_BYTES - spill->n_buffered < 10)
        HS_TRY(hs_spill_flush(spill, err));
    uint8_t *out = spill->buffer + spill->n_buffered;
    const uint8_t *first = out;
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    spill->n_buffered += (size_t)(out - first);
    spill->n_bytes += (uint64_t)(out - first);
    return HS_OK;
}

/* Writes the lower n_bytes (at most 8) of a number, little-endian: for arrays read backward or at
 * places. */
static inline hs_status hs_spill_put_fixed(struct hs_spill *spill, uint64_t value, unsigned n_bytes,
                                           struct hs_error *err)
{
    assert(n_bytes <= 8);
    if (HS_SPILL_BUFFER_BYTES - spill->n_buffered < 8)
        HS_TRY(hs_spill_flush(spill, err));
    memcpy(spill->buffer + spill->n_buffered, &value, 8); /* little-endian machines only */
    spill->n_buffered += n_bytes;
    spill->n_bytes += n_bytes;
    return HS_OK;
}

/* Writes the rest and frees the buffer; only reading from here on. */
hs_status hs_spill_seal(struct hs_spill *spill, struct hs_error *err);
void hs_spill_close(struct hs_spill *spill);

/* Reads n_bytes at `at` of a sealed spill, or of what was flushed; for readers with buffers of
 * their own, of a sealed one in any thread. */
hs_status hs_spill_read_at(const struct hs_spill *spill, uint64_t at, void *bytes, size_t n_bytes,
                           struct hs_error *err);
/* Begins to bring [begin, end) into the page cache, without waiting for it. */
void hs_spill_expect(const struct hs_spill *spill, uint64_t begin, uint64_t end);
/* Drops [begin, end) from the page cache. */
void hs_spill_drop(const struct hs_spill *spill, uint64_t begin, uint64_t end);

/* Reads [begin, end) of a sealed spill. Zero it first. */
struct hs_spill_reader {
    const struct hs_spill *spill;
    uint64_t at, end;    /* file bytes not yet taken into the buffer */
    uint64_t dropped;    /* where the file bytes that were taken and not yet dropped begin or end */
    uint8_t *buffer;     /* owned */
    const uint8_t *next; /* what is left of it: [next, stop) */
    const uint8_t *stop;
};

hs_status hs_spill_read(const struct hs_spill *spill, uint64_t begin, uint64_t end,
                        struct hs_spill_reader *ret, struct hs_error *err);
void hs_spill_reader_close(struct hs_spill_reader *reader);
static inline bool hs_spill_at_end(const struct hs_spill_reader *reader)
{
    return reader->next == reader->stop && reader->at == reader->end;
}

/* Takes as many bytes into the buffer as there is room for, behind what is left of it; HS_BUG when
 * fewer than n_bytes are left then. */
hs_status hs_spill_fill(struct hs_spill_reader *reader, size_t n_bytes, struct hs_error *err);
/* The same from the end, before what is left. */
hs_status hs_spill_fill_back(struct hs_spill_reader *reader, size_t n_bytes, struct hs_error *err);
hs_status hs_spill_get_varint_slowly(struct hs_spill_reader *reader, uint64_t *ret,
                                     struct hs_error *err);

/* All of these: HS_BUG when the spill ends within what is asked for: nobody else can write it. */
static inline hs_status hs_spill_get_varint(struct hs_spill_reader *reader, uint64_t *ret,
                                            struct hs_error *err)
{
    if (reader->next != reader->stop && *reader->next < 0x80) {
        *ret = *reader->next++;
        return HS_OK;
    }
    if (reader->stop - reader->next < 10)
        return hs_spill_get_varint_slowly(reader, ret, err);
    const uint8_t *at = reader->next;
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            reader->next = at;
            *ret = value;
            return HS_OK;
        }
    }
    return hs_spill_get_varint_slowly(reader, ret, err);
}

static inline hs_status hs_spill_get_fixed(struct hs_spill_reader *reader, unsigned n_bytes,
                                           uint64_t *ret, struct hs_error *err)
{
    uint64_t value;
    assert(n_bytes >= 1 && n_bytes <= 8);
    if (reader->stop - reader->next < (ptrdiff_t)n_bytes)
        HS_TRY(hs_spill_fill(reader, n_bytes, err));
    memcpy(&value, reader->next, 8); /* the buffer has 8 bytes more */
    reader->next += n_bytes;
    *ret = value & UINT64_MAX >> (64 - 8 * n_bytes);
    return HS_OK;
}

/* Reads n_bytes in place: borrowed until the next call; n_bytes <= HS_SPILL_BUFFER_BYTES / 2. */
static inline hs_status hs_spill_get_bytes(struct hs_spill_reader *reader, size_t n_bytes,
                                           const uint8_t **ret, struct hs_error *err)
{
    assert(n_bytes <= HS_SPILL_BUFFER_BYTES / 2);
    if ((size_t)(reader->stop - reader->next) < n_bytes)
        HS_TRY(hs_spill_fill(reader, n_bytes, err));
    *ret = reader->next;
    reader->next += n_bytes;
    return HS_OK;
}

/* Reads fixed numbers from the end of [begin, end) to its begin. Do not mix with the calls
 * above. */
static inline hs_status hs_spill_get_fixed_back(struct hs_spill_reader *reader, unsigned n_bytes,
                                                uint64_t *ret, struct hs_error *err)
{
    uint64_t value;
    assert(n_bytes >= 1 && n_bytes <= 8);
    if (reader->stop - reader->next < (ptrdiff_t)n_bytes)
        HS_TRY(hs_spill_fill_back(reader, n_bytes, err));
    reader->stop -= n_bytes;
    memcpy(&value, reader->stop, 8); /* the buffer has 8 bytes more */
    *ret = value & UINT64_MAX >> (64 - 8 * n_bytes);
    return HS_OK;
}

#endif
