/* mimalloc 2: its segments, pages and blocks. */
#include <string.h>

#include "base/alloc.h"
#include "carve.h"
#include "mimalloc/segments.h"
#include "region_bits.h"

static void mimalloc_close(void *state)
{
    struct mimalloc *mimalloc = state;

    if (mimalloc == NULL)
        return;
    hs_free(mimalloc->segments);
    hs_free(mimalloc->pages);
    hs_free(mimalloc->free);
    hs_free(mimalloc);
}

static hs_status mimalloc_open(const struct hs_process_copy *process, void **ret_state,
                               struct hs_error *err)
{
    struct mimalloc *mimalloc;

    if (process->target == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&mimalloc, 1, err));
    mimalloc->process = process;
    hs_status status = hs_mimalloc_locate(mimalloc, err);
    if (status == HS_OK && mimalloc->n_segments != 0)
        status = HS_ALLOC(&mimalloc->free, MIMALLOC_MOST_BLOCKS / 64 + 1, err);
    if (status == HS_OK && mimalloc->n_segments != 0)
        *ret_state = mimalloc;
    else
        mimalloc_close(mimalloc);
    return status;
}

static const char *mimalloc_version(const void *state)
{
    const struct mimalloc *mimalloc = state;
    return hs_mimalloc_layouts[mimalloc->segments[0].layout].version;
}

/* ---- spans and claims */

static struct hs_heap_span mimalloc_span(const struct mimalloc_page *page)
{
    return (struct hs_heap_span){.begin = page->begin,
                                 .end = page->begin + page->capacity * page->block_bytes,
                                 .unit_bytes = page->block_bytes,
                                 .form = page->capacity == 1 ? HS_SPAN_SINGLE : HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_mimalloc};
}

static hs_status mimalloc_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                    struct hs_error *err)
{
    const struct mimalloc *mimalloc = state;

    for (size_t i = 0; i < mimalloc->n_segments; i++) {
        const struct mimalloc_segment *segment = &mimalloc->segments[i];
        HS_TRY(hs_ledger_claim(ledger, MIMALLOC_OWNER, HS_MEMORY_INTERNAL, segment->begin,
                               segment->pages, 0, err));
        HS_TRY(hs_ledger_claim(ledger, MIMALLOC_OWNER, HS_MEMORY_FREE, segment->pages, segment->end,
                               0, err));
    }
    for (size_t i = 0; i < mimalloc->n_pages; i++) {
        const struct hs_heap_span span = mimalloc_span(&mimalloc->pages[i]);
        HS_TRY(hs_heap_map_add(map, &span, err));
    }
    return HS_OK;
}

/* ---- live bits */

struct marking {
    struct mimalloc *mimalloc;
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    uint64_t n_sound, n_free; /* pages; blocks */
    uint64_t n_missing;       /* blocks that no span was found for */
};

/* One block of a page whose span is not there as it was added: it was cut around another one's pool
 * that lies in its blocks. Where that fills the block, its blocks live. */
static hs_status mark_one(struct marking *m, hs_addr begin, uint64_t n_bytes, struct hs_error *err)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(m->map, begin);

    if (span == NULL || (span->owner == HS_OWNER_mimalloc && !hs_heap_map_set(m->map, begin))) {
        m->n_missing++;
        return HS_OK;
    }
    return hs_ledger_move(m->ledger, MIMALLOC_OWNER, HS_MEMORY_FREE, HS_MEMORY_LIVE, begin,
                          begin + n_bytes, 0, err);
}

static hs_status mark_blocks(struct marking *m, const struct mimalloc_page *page,
                             const uint64_t *live, struct hs_error *err)
{
    const struct hs_heap_span expected = mimalloc_span(page);
    const unsigned n = page->capacity;
    struct hs_region_move move = {MIMALLOC_OWNER, HS_MEMORY_FREE, HS_MEMORY_LIVE, page->begin,
                                  page->block_bytes};

    if (hs_carve_is_placed(m->map, &expected)) {
        hs_region_bits_set(&m->map->starts, hs_heap_map_span_at(m->map, page->begin)->first_bit,
                           live, n);
        return hs_region_bits_move(m->ledger, &move, live, n, err);
    }
    for (unsigned i = 0; i < n; i++)
        if ((live[i / 64] >> (i % 64) & 1) != 0)
            HS_TRY(mark_one(m, page->begin + i * page->block_bytes, page->block_bytes, err));
    return HS_OK;
}

static hs_status mark_page(struct marking *m, const struct mimalloc_page *page,
                           struct hs_error *err)
{
    uint64_t *blocks = m->mimalloc->free; /* those that are free first, then those that live */
    const unsigned n = page->capacity, n_words = (n + 63) / 64;

    memset(blocks, 0, n_words * sizeof *blocks);
    m->n_sound += hs_mimalloc_free_blocks(m->mimalloc, page, blocks);
    for (unsigned i = 0; i < n_words; i++) {
        m->n_free += (unsigned)__builtin_popcountll(blocks[i]);
        blocks[i] = ~blocks[i];
    }
    if (n % 64 != 0)
        blocks[n_words - 1] &= (UINT64_C(1) << n % 64) - 1;
    return mark_blocks(m, page, blocks, err);
}

/* One that a heap was given back. What is no live block of ours ends the list: it is damaged, or
 * was caught in a change. */
static hs_status take_delayed(void *context, hs_addr block, bool *ret_goes_on, struct hs_error *err)
{
    struct marking *m = context;
    const struct hs_heap_span *span = hs_heap_map_span_at(m->map, block);
    uint64_t n_bytes;

    *ret_goes_on = span != NULL && span->owner == HS_OWNER_mimalloc &&
                   hs_heap_map_take(m->map, block, &n_bytes);
    if (!*ret_goes_on)
        return HS_OK;
    m->n_free++;
    return hs_ledger_move(m->ledger, MIMALLOC_OWNER, HS_MEMORY_LIVE, HS_MEMORY_FREE, block,
                          block + n_bytes, 0, err);
}

static hs_status mimalloc_report(const struct marking *m, struct hs_error *err)
{
    const struct mimalloc *mimalloc = m->mimalloc;
    struct hs_findings *findings = mimalloc->process->findings;
    uint64_t n_segments = 0;

    for (size_t i = 0; i < mimalloc->n_segments; i++)
        n_segments += mimalloc->segments[i].is_sound;
    findings->n_torn +=
        mimalloc->n_damaged + mimalloc->n_segments - n_segments + mimalloc->n_pages - m->n_sound;
    HS_TRY(hs_findings_proof(findings, "mimalloc: segments with as many pages as they say",
                             mimalloc->n_segments + mimalloc->n_damaged, n_segments, err));
    HS_TRY(hs_findings_proof(findings, "mimalloc: pages with as many free blocks as they say",
                             mimalloc->n_pages, m->n_sound, err));
    if (mimalloc->n_damaged != 0 || m->n_missing != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "mimalloc: %llu segments are damaged, or were caught in a change, "
                                "%llu blocks overlap others: they are left out",
                                (unsigned long long)mimalloc->n_damaged,
                                (unsigned long long)m->n_missing));
    return HS_OK;
}

static hs_status mimalloc_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    struct marking m = {.mimalloc = state, .map = map, .ledger = ledger};
    const struct mimalloc_taker taker = {take_delayed, &m};

    for (size_t i = 0; i < m.mimalloc->n_pages; i++)
        HS_TRY(mark_page(&m, &m.mimalloc->pages[i], err));
    HS_TRY(hs_mimalloc_delayed(m.mimalloc, &taker, err));
    HS_TRY(hs_ledger_set_blocks(ledger, MIMALLOC_OWNER, HS_MEMORY_FREE, m.n_free, err));
    return mimalloc_report(&m, err);
}

/* Eight sizes between two powers of two, and whole slices of large blocks. */
static bool mimalloc_may_round(const struct hs_heap_block *block, uint64_t n_bytes)
{
    return block->n_bytes - n_bytes <= n_bytes / 4;
}

const struct hs_allocator hs_allocator_mimalloc = {
    .name = MIMALLOC_OWNER,
    .open = mimalloc_open,
    .add_spans = mimalloc_add_spans,
    .mark = mimalloc_mark,
    .close = mimalloc_close,
    .version = mimalloc_version,
    .known_as = "mimalloc",
    .library = "libmimalloc.so.2",
    .symbols = {"_mi_segment_page_start", "_mi_segment_page_free"},
    .may_round = mimalloc_may_round,
};
