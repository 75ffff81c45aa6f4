/* Buckets: where records are put, and how they are read again. */
#include "base/alloc.h"
#include "reverse_parts.h"

/* ---- writing ---- */

void hs_reverse_put_escaped(struct hs_reverse_bucket *bucket, uint32_t target, uint64_t gap)
{
    *bucket->at++ = target | hs_reverse_escape(bucket->shift) << bucket->shift;
    if (gap < UINT32_MAX) {
        *bucket->at++ = (uint32_t)gap;
        return;
    }
    *bucket->at++ = UINT32_MAX;
    *bucket->at++ = (uint32_t)gap;
    *bucket->at++ = (uint32_t)(gap >> 32);
}

/* Ends the open extent: it is written, or stays where it is. */
static hs_status extent_close(struct hs_reverse_buckets *b, struct hs_reverse_bucket *bucket,
                              struct hs_error *err)
{
    uint32_t n_words = bucket->extent == NULL ? 0 : (uint32_t)(bucket->at - bucket->extent);

    if (n_words == 0)
        return HS_OK;
    if (b->n_extents == HS_REVERSE_NO_EXTENT)
        return hs_fail(err, HS_LIMIT, "turning edges round takes more than 2^32 extents");
    HS_TRY(HS_GROW(&b->extents, &b->extents_capacity, b->n_extents + 1, err));
    struct hs_reverse_extent extent = {.n_words = n_words, .next = HS_REVERSE_NO_EXTENT};
    if (b->in_memory) {
        extent.at = (uint64_t)(bucket->extent - b->words);
    } else {
        extent.at = b->spill.n_bytes;
        HS_TRY(hs_spill_write(&b->spill, bucket->extent, n_words * sizeof(uint32_t), err));
    }
    bucket->n_words += n_words;
    uint32_t id = (uint32_t)b->n_extents++;
    b->extents[id] = extent;
    if (bucket->first_extent == HS_REVERSE_NO_EXTENT)
        bucket->first_extent = id;
    else
        b->extents[bucket->last_extent].next = id;
    bucket->last_extent = id;
    return HS_OK;
}

hs_status hs_reverse_flush(struct hs_reverse_buckets *b, struct hs_reverse_bucket *bucket,
                           struct hs_error *err)
{
    HS_TRY(extent_close(b, bucket, err));
    if (b->in_memory || bucket->extent == NULL) {
        if (b->extent_words > b->n_words - b->n_open)
            return hs_fail(err, HS_BUG, "a sweep gave more edges than it said");
        bucket->extent = b->words + b->n_open;
        b->n_open += b->extent_words;
    }
    bucket->at = bucket->extent;
    bucket->stop = bucket->extent + b->extent_words - (HS_REVERSE_RECORD_WORDS - 1);
    return HS_OK;
}

hs_status hs_reverse_buckets_seal(struct hs_reverse_buckets *b, struct hs_error *err)
{
    for (uint32_t i = 0; i < b->n; i++) {
        HS_TRY(extent_close(b, &b->buckets[i], err));
        b->buckets[i].at = b->buckets[i].stop = b->buckets[i].extent = NULL;
    }
    hs_pages_free(b->of_run, b->n_runs, sizeof *b->of_run);
    b->of_run = NULL;
    if (!b->in_memory) {
        HS_TRY(hs_spill_seal(&b->spill, err));
        hs_pages_free(b->words, b->n_words, sizeof *b->words);
        b->words = NULL;
    }
    hs_budget_release(b->budget, b->reserved);
    b->reserved = 0;
    return HS_OK;
}

void hs_reverse_buckets_fini(struct hs_reverse_buckets *b)
{
    hs_pages_free(b->of_run, b->n_runs, sizeof *b->of_run);
    hs_pages_free(b->buckets, b->n, sizeof *b->buckets);
    hs_free(b->extents);
    hs_pages_free(b->words, b->n_words, sizeof *b->words);
    hs_spill_close(&b->spill);
    hs_budget_release(b->budget, b->reserved + b->kept);
    *b = (struct hs_reverse_buckets){0};
}

/* ---- reading ---- */

struct hs_reverse_reader hs_reverse_read(const struct hs_reverse_buckets *buckets,
                                         const struct hs_reverse_bucket *bucket, uint32_t *buffer,
                                         bool keeps)
{
    return (struct hs_reverse_reader){
        .buckets = buckets, .buffer = buffer, .keeps = keeps, .extent = bucket->first_extent};
}

hs_status hs_reverse_read_extent(struct hs_reverse_reader *reader, bool *ret_more,
                                 struct hs_error *err)
{
    const struct hs_reverse_buckets *b = reader->buckets;

    *ret_more = reader->extent != HS_REVERSE_NO_EXTENT;
    if (!*ret_more)
        return HS_OK;
    const struct hs_reverse_extent *extent = &b->extents[reader->extent];
    reader->extent = extent->next;
    if (b->in_memory) {
        reader->at = b->words + extent->at;
    } else {
        HS_TRY(hs_spill_read_at(&b->spill, extent->at, reader->buffer,
                                extent->n_words * sizeof(uint32_t), err));
        reader->at = reader->buffer;
        reader->buffer += reader->keeps ? extent->n_words : 0;
    }
    reader->stop = reader->at + extent->n_words;
    return HS_OK;
}

void hs_reverse_expect(const struct hs_reverse_buckets *b, const struct hs_reverse_bucket *bucket)
{
    for (uint32_t id = bucket->first_extent; !b->in_memory && id != HS_REVERSE_NO_EXTENT;
         id = b->extents[id].next)
        hs_spill_expect(&b->spill, b->extents[id].at,
                        b->extents[id].at + b->extents[id].n_words * sizeof(uint32_t));
}

void hs_reverse_drop(const struct hs_reverse_buckets *b, const struct hs_reverse_bucket *bucket)
{
    for (uint32_t id = bucket->first_extent; !b->in_memory && id != HS_REVERSE_NO_EXTENT;
         id = b->extents[id].next)
        hs_spill_drop(&b->spill, b->extents[id].at,
                      b->extents[id].at + b->extents[id].n_words * sizeof(uint32_t));
}
