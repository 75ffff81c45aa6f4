/* Inside of reverse.h: the buckets of edges between its two halves.
 *
 *   bucket:   targets [first, first + n), records in ascending order of source
 *   record:   target - first in the low `shift` bits, above them the gap to the source before. A
 *             gap of all ones is escaped: the next word is the gap; if that is all ones, too, the
 *             two words behind it are
 *   extent:   some records of one bucket, on disk or in memory; no record is in two extents */
#ifndef HS_REVERSE_PARTS_H
#define HS_REVERSE_PARTS_H

#include <assert.h>

#include "base/spill.h"
#include "graph/reverse.h"

#define HS_REVERSE_MAX_SHIFT 26
#define HS_REVERSE_RECORD_WORDS 4 /* at most */
#define HS_REVERSE_MAX_SLOTS 9
#define HS_REVERSE_NO_EXTENT UINT32_MAX

struct hs_reverse_extent {
    uint64_t at; /* bytes in the spill, or words in memory */
    uint32_t n_words, next;
};

struct hs_reverse_bucket {
    uint32_t *at, *stop; /* where the next record goes, as long as there is room for one */
    hs_node first, last; /* first target; last source */
    uint32_t shift;
    uint32_t n;
    uint64_t n_records;
    uint64_t n_words; /* of extents that are closed */
    uint32_t *extent; /* begin of the open extent; NULL: none */
    uint32_t first_extent, last_extent;
};

struct hs_reverse_buckets {
    struct hs_budget *budget;
    hs_node n_nodes;
    uint64_t pad; /* node v belongs to run (v + pad) / HS_SWEEP_RUN */
    uint64_t n_runs;
    uint32_t *of_run; /* owned pages */
    uint32_t n;
    struct hs_reverse_bucket *buckets; /* owned pages */
    struct hs_reverse_extent *extents; /* owned */
    size_t n_extents, extents_capacity;
    uint64_t extent_words;
    bool in_memory;
    uint32_t *words; /* owned pages: in memory all extents, else the open one of each bucket */
    uint64_t n_words, n_open; /* of words: in all, used */
    struct hs_spill spill;
    uint64_t reserved; /* of the budget, for what is freed by hs_reverse_buckets_seal */
    uint64_t kept;     /* for the rest */
};

/* Returns the memory of sorting a bucket: a counter per target, a source per record. */
static inline uint64_t hs_reverse_cost(uint64_t n_targets, uint64_t n_records,
                                       unsigned source_bytes)
{
    return 4 * (n_targets + 2) + source_bytes * n_records;
}

static inline uint32_t hs_reverse_escape(unsigned shift)
{
    return UINT32_MAX >> shift;
}

/* ---- writing ---- */

hs_status hs_reverse_flush(struct hs_reverse_buckets *buckets, struct hs_reverse_bucket *bucket,
                           struct hs_error *err);
void hs_reverse_put_escaped(struct hs_reverse_bucket *bucket, uint32_t target, uint64_t gap);

/* Puts a record; sources ascend. */
static inline hs_status hs_reverse_put(struct hs_reverse_buckets *buckets, hs_node target,
                                       hs_node source, struct hs_error *err)
{
    struct hs_reverse_bucket *bucket =
        &buckets->buckets[buckets->of_run[(target + buckets->pad) / HS_SWEEP_RUN]];
    if (__builtin_expect(bucket->at >= bucket->stop, 0))
        HS_TRY(hs_reverse_flush(buckets, bucket, err));
    uint64_t gap = source - bucket->last;
    uint32_t low = (uint32_t)(target - bucket->first);
    bucket->last = source;
    bucket->n_records++;
    if (__builtin_expect(gap < hs_reverse_escape(bucket->shift), 1))
        *bucket->at++ = low | (uint32_t)gap << bucket->shift;
    else
        hs_reverse_put_escaped(bucket, low, gap);
    return HS_OK;
}

/* Writes what is open and frees the buffers. */
hs_status hs_reverse_buckets_seal(struct hs_reverse_buckets *buckets, struct hs_error *err);
void hs_reverse_buckets_fini(struct hs_reverse_buckets *buckets);

/* ---- reading, in any thread ---- */

struct hs_reverse_reader {
    const struct hs_reverse_buckets *buckets;
    uint32_t *buffer; /* borrowed; unused when in memory */
    bool keeps;       /* extents are put one behind the other into the buffer */
    uint32_t extent;  /* the next */
    const uint32_t *at, *stop;
    hs_node source; /* of the last record */
};

/* Reads a bucket. The buffer has extent_words, or bucket->n_words when it keeps them. */
struct hs_reverse_reader hs_reverse_read(const struct hs_reverse_buckets *buckets,
                                         const struct hs_reverse_bucket *bucket, uint32_t *buffer,
                                         bool keeps);
/* Begins to bring a bucket into the page cache, which nobody has to wait for. */
void hs_reverse_expect(const struct hs_reverse_buckets *buckets,
                       const struct hs_reverse_bucket *bucket);
/* Reads the next extent as [at, stop); *ret_more false at the end. */
hs_status hs_reverse_read_extent(struct hs_reverse_reader *reader, bool *ret_more,
                                 struct hs_error *err);
/* Drops a bucket that was read from the page cache. */
void hs_reverse_drop(const struct hs_reverse_buckets *buckets,
                     const struct hs_reverse_bucket *bucket);

/* Reads the record at reader->at < reader->stop; reader->source becomes its source. */
static inline uint32_t hs_reverse_next(struct hs_reverse_reader *reader, unsigned shift)
{
    uint32_t word = *reader->at++;
    uint64_t gap = word >> shift;
    if (__builtin_expect(gap == hs_reverse_escape(shift), 0)) {
        gap = *reader->at++;
        if (gap == UINT32_MAX) {
            gap = reader->at[0] | (uint64_t)reader->at[1] << 32;
            reader->at += 2;
        }
    }
    reader->source += gap;
    return word & (((uint32_t)1 << shift) - 1);
}

/* ---- the second half ---- */

struct hs_reverse_emission {
    const struct hs_reverse_buckets *buckets;
    const struct hs_reverse_options *options;
    const struct hs_piece_sink *sink;
    unsigned n_slots, n_threads;
    uint64_t slot_bytes; /* hs_reverse_cost of what a slot can sort */
    unsigned source_bytes;
    uint64_t told, total; /* edges */
};

hs_status hs_reverse_emit(const struct hs_reverse_emission *emission, struct hs_error *err);
/* Returns the memory that hs_reverse_emit needs besides slots and their extents. */
uint64_t hs_reverse_emit_bytes(void);

#endif
