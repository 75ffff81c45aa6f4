#include "condensed_ends.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_PAIRS ((uint64_t)1 << 22)
#define PAIR_BYTES (4 * sizeof(uint32_t))
#define WHAT "searching from the roots"

/* ---- reading ---- */

hs_status condensed_ends_open(const struct hs_condensed *condensed, struct ends_reader *ret,
                              struct hs_error *err)
{
    const struct hs_spill *spill = &condensed->ends.spill;

    *ret = (struct ends_reader){.n_nodes = condensed->n_nodes, .n_ends = condensed->ends.n};
    return spill->is_open ? hs_spill_read(spill, 0, spill->n_bytes, &ret->spill, err) : HS_OK;
}

void condensed_ends_close(struct ends_reader *reader)
{
    hs_spill_reader_close(&reader->spill);
}

hs_status condensed_ends_next(struct ends_reader *reader, uint32_t *ret_end, bool *ret_more,
                              struct hs_error *err)
{
    uint64_t end;

    *ret_more = reader->spill.spill != NULL && !hs_spill_at_end(&reader->spill);
    if (!*ret_more)
        return HS_OK;
    HS_TRY(hs_spill_get_varint(&reader->spill, &end, err));
    assert(end < reader->n_ends);
    *ret_end = (uint32_t)end;
    return HS_OK;
}

hs_status condensed_ends_node(struct ends_reader *reader, uint32_t *ret_node, struct hs_error *err)
{
    uint64_t node;

    HS_TRY(hs_spill_get_varint(&reader->spill, &node, err));
    assert(node <= reader->n_nodes);
    *ret_node = node == 0 ? HS_NONE : (uint32_t)node - 1;
    return HS_OK;
}

/* ---- searches ---- */

static hs_status batch_array(uint64_t n, uint32_t **ret, struct hs_error *err)
{
    HS_TRY(HS_PAGES_ALLOC(ret, n, err));
    return HS_OK;
}

static hs_status batch_alloc(struct ends_batch *batch, struct hs_error *err)
{
    HS_TRY(batch_array(batch->capacity, &batch->node, err));
    HS_TRY(batch_array(batch->capacity, &batch->search, err));
    HS_TRY(batch_array(batch->capacity, &batch->by_node, err));
    HS_TRY(batch_array(batch->capacity + 1, &batch->begin, err));
    HS_TRY(batch_array(batch->n_searches, &batch->last, err));
    return hs_bitmap_init(&batch->is_met, batch->condensed->n_nodes, err);
}

/* Returns the bytes that a batch takes beside the pairs. */
static uint64_t batch_fixed_bytes(const struct hs_condensed *condensed, uint32_t n_searches)
{
    uint64_t n_nodes = condensed->n_nodes;
    return (uint64_t)n_searches * sizeof(uint32_t) + n_nodes / 8 + n_nodes / 64 + 64;
}

uint64_t condensed_ends_batch_bytes(const struct hs_condensed *condensed, uint64_t least,
                                    uint32_t n_searches)
{
    return least * PAIR_BYTES + batch_fixed_bytes(condensed, n_searches);
}

hs_status condensed_ends_batch_init(const struct hs_condensed *condensed, uint64_t least,
                                    struct hs_sizes *sums, uint32_t n_searches,
                                    struct ends_batch *ret, struct hs_error *err)
{
    struct ends_batch batch = {.condensed = condensed, .sums = sums, .n_searches = n_searches};
    uint64_t fixed = batch_fixed_bytes(condensed, n_searches);
    uint64_t room = hs_budget_left_bytes(condensed->budget) / 2 / PAIR_BYTES;

    batch.capacity = room < least ? least : room > MAX_PAIRS ? MAX_PAIRS : room;
    if (batch.capacity < least)
        batch.capacity = least;
    HS_TRY(hs_budget_reserve(condensed->budget, batch.capacity * PAIR_BYTES + fixed, WHAT, err));
    batch.reserved_bytes = batch.capacity * PAIR_BYTES + fixed;
    hs_status status = batch_alloc(&batch, err);
    if (status == HS_OK)
        *ret = batch;
    else
        condensed_ends_batch_fini(&batch);
    return status;
}

void condensed_ends_batch_fini(struct ends_batch *batch)
{
    if (batch->condensed == NULL)
        return;
    hs_pages_free(batch->node, batch->capacity, sizeof(uint32_t));
    hs_pages_free(batch->search, batch->capacity, sizeof(uint32_t));
    hs_pages_free(batch->by_node, batch->capacity, sizeof(uint32_t));
    hs_pages_free(batch->begin, batch->capacity + 1, sizeof(uint32_t));
    hs_pages_free(batch->last, batch->n_searches, sizeof(uint32_t));
    hs_bitmap_fini(&batch->is_met);
    hs_budget_release(batch->condensed->budget, batch->reserved_bytes);
    *batch = (struct ends_batch){0};
}

hs_status condensed_ends_batch_reserve(struct ends_batch *batch, uint64_t n, struct hs_error *err)
{
    assert(n <= batch->capacity);
    return batch->capacity - batch->n < n ? condensed_ends_batch_credit(batch, err) : HS_OK;
}

/* Sorts the pairs by node, by counting. */
static hs_status batch_sort(struct ends_batch *batch, struct hs_error *err)
{
    uint32_t *begin = batch->begin;
    uint64_t n_met;

    for (uint64_t i = 0; i < batch->n; i++)
        hs_bitmap_set(&batch->is_met, batch->node[i]);
    HS_TRY(hs_bitmap_index(&batch->is_met, &n_met, err));
    memset(begin, 0, (n_met + 1) * sizeof *begin);
    for (uint64_t i = 0; i < batch->n; i++)
        begin[hs_bitmap_rank(&batch->is_met, batch->node[i])]++;
    for (uint64_t i = 0, sum = 0; i <= n_met; i++) {
        sum += begin[i];
        begin[i] = (uint32_t)sum;
    }
    for (uint64_t i = 0; i < batch->n; i++)
        batch->by_node[--begin[hs_bitmap_rank(&batch->is_met, batch->node[i])]] = batch->search[i];
    return HS_OK;
}

static void batch_credit(struct ends_batch *batch, uint32_t node, uint32_t end)
{
    const struct hs_condensed *condensed = batch->condensed;
    uint64_t at = hs_bitmap_rank(&batch->is_met, node);

    for (uint32_t i = batch->begin[at]; i < batch->begin[at + 1]; i++) {
        uint32_t search = batch->by_node[i];
        if (batch->last[search] == end + 1)
            continue;
        batch->last[search] = end + 1;
        hs_unit_sizes_sum(&condensed->sizes, (uint64_t)condensed->n_nodes + end,
                          &batch->sums[search]);
        if (batch->numbers != NULL)
            condensed->signature[(uint64_t)condensed->n_nodes + end] ^= batch->numbers[search];
    }
}

static hs_status batch_read(struct ends_batch *batch, struct ends_reader *reader,
                            struct hs_error *err)
{
    uint32_t end, node;
    bool more;

    for (;;) {
        HS_TRY(condensed_ends_next(reader, &end, &more, err));
        if (!more)
            return HS_OK;
        for (;;) {
            HS_TRY(condensed_ends_node(reader, &node, err));
            if (node == HS_NONE)
                break;
            if (hs_bitmap_get(&batch->is_met, node))
                batch_credit(batch, node, end);
        }
    }
}

hs_status condensed_ends_batch_credit(struct ends_batch *batch, struct hs_error *err)
{
    struct ends_reader reader;

    if (batch->n == 0)
        return HS_OK;
    HS_TRY(batch_sort(batch, err));
    memset(batch->last, 0, batch->n_searches * sizeof *batch->last);
    hs_status status = condensed_ends_open(batch->condensed, &reader, err);
    if (status == HS_OK)
        status = batch_read(batch, &reader, err);
    condensed_ends_close(&reader);
    for (uint64_t i = 0; i < batch->n; i++)
        hs_bitmap_clear(&batch->is_met, batch->node[i]);
    batch->n = 0;
    return status;
}
