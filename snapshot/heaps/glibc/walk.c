/* Walking chains of chunks.
 *
 * One load per chunk: the size in the next header also says whether this chunk is in use. What is
 * no header ends a chain; then the walk goes on at the next place from which one runs, so that one
 * overwritten header costs one block. The whole is linear in the bytes of the segment. */
#include "base/alloc.h"
#include "heap.h"

enum {
    CHAIN_ENOUGH = 8, /* headers in a row that are taken for a chain */
    GAPS_MAX = 1 << 16,
};

/* Two headers of 16 bytes (main arena), or one of 16 or 32 bytes and one of 0 (heap_info);
 * sysmalloc in malloc.c. The first one's PREV_INUSE is clear when what is before it was freed. */
bool hs_glibc_is_fence(struct glibc_chain *chain, hs_addr p)
{
    uint64_t first, second = 0;

    if (p > chain->limit || chain->limit - p < 32 || !hs_glibc_word(&chain->view, p + 8, &first))
        return false;
    uint64_t bytes = first & ~(uint64_t)GLIBC_PREV_INUSE;
    if (bytes == GLIBC_FENCE && hs_glibc_word(&chain->view, p + 24, &second))
        return second == (GLIBC_PREV_INUSE | (chain->is_main ? (uint64_t)GLIBC_FENCE : 0));
    return bytes == 32 && !chain->is_main && chain->limit - p >= 48 &&
           hs_glibc_word(&chain->view, p + 40, &second) && second == GLIBC_PREV_INUSE;
}

uint64_t hs_glibc_fence_bytes(struct glibc_chain *chain, hs_addr p)
{
    uint64_t third = 0;

    if (!hs_glibc_is_fence(chain, p))
        return 0;
    /* A top of 48 bytes was made into three fences, not two. */
    bool has_third = chain->is_main && chain->limit - p >= 48 &&
                     hs_glibc_word(&chain->view, p + 40, &third) &&
                     third == (GLIBC_FENCE | GLIBC_PREV_INUSE);
    return has_third ? 48 : 32;
}

/* The highest place for the header after the chunk at `p`. */
static hs_addr chain_bound(const struct glibc_chain *chain, hs_addr p)
{
    if (p <= chain->top && chain->top <= chain->limit - 16)
        return chain->top;
    return chain->limit - 16;
}

uint64_t hs_glibc_chunk_bytes(struct glibc_chain *chain, hs_addr p)
{
    uint64_t size, wrong = GLIBC_IS_MMAPPED | (chain->is_main ? GLIBC_NON_MAIN : 0);

    if (chain->limit < 16 || p > chain->limit - 16 || !hs_glibc_word(&chain->view, p + 8, &size))
        return 0;
    uint64_t bytes = size & ~(uint64_t)GLIBC_FLAGS;
    bool fits = bytes >= GLIBC_MIN_CHUNK && (bytes & 8) == 0 && (size & wrong) == 0 &&
                bytes <= chain_bound(chain, p) - p;
    return fits ? bytes : 0;
}

/* Does a chain run from `p`: to the end of the segment, or over some headers that agree? */
static bool chain_runs(struct glibc_chain *chain, hs_addr p)
{
    for (unsigned i = 0; i < CHAIN_ENOUGH; i++) {
        uint64_t next, footer = 0;
        if (p == chain->top || hs_glibc_is_fence(chain, p))
            return true;
        uint64_t bytes = hs_glibc_chunk_bytes(chain, p);
        if (bytes == 0 || !hs_glibc_word(&chain->view, p + bytes + 8, &next))
            return false;
        if ((next & GLIBC_PREV_INUSE) == 0 &&
            (!hs_glibc_word(&chain->view, p + bytes, &footer) || footer != bytes))
            return false;
        p += bytes;
    }
    return true;
}

hs_addr hs_glibc_resync(struct glibc_chain *chain, hs_addr p)
{
    hs_addr part_end = 0;
    uint64_t size;

    while (p < chain->limit && chain->limit - p >= 16) {
        if (p + 8 >= part_end) { /* only what was touched holds headers */
            hs_addr part;
            if (!hs_image_next_present(chain->view.image, p + 8, chain->limit, &part, &part_end))
                break;
            if (part > p + 8)
                p = (part + 15) & ~(hs_addr)15; /* a page's begin */
            if (p + 8 >= part_end)
                continue;
        }
        if (!hs_glibc_word(&chain->view, p + 8, &size)) {
            p += 16;
            continue;
        }
        if ((size & ~(uint64_t)GLIBC_FLAGS) >= GLIBC_FENCE && chain_runs(chain, p))
            return p;
        p += 16;
    }
    return chain->limit;
}

/* A free chunk that may have pages which are not resident. Of a smaller one the first or the last
 * words are in each page. */
static hs_status walk_large(struct glibc_state *g, hs_addr begin, hs_addr end, struct hs_error *err)
{
    HS_TRY(HS_GROW(&g->large, &g->large_capacity, g->n_large + 1, err));
    g->large[g->n_large++] = (struct glibc_gap){begin + 16, end + 8};
    return HS_OK;
}

/* Walks chunks from *p on, until something comes that is none; *p is that then. */
static hs_status walk_run(struct glibc_state *g, struct glibc_segment *segment,
                          struct glibc_chain *chain, hs_addr *p_io, struct hs_error *err)
{
    struct glibc_view view = chain->view;
    uint64_t *used = g->used + segment->bits_at, *freed = g->freed + segment->bits_at;
    uint64_t wrong = GLIBC_IS_MMAPPED | 8 | (chain->is_main ? GLIBC_NON_MAIN : 0), size;
    hs_addr p = *p_io, bound = chain_bound(chain, p);
    bool lost = p > bound || !hs_glibc_word(&view, p + 8, &size);

    while (!lost && p != chain->top) {
        uint64_t bytes = size & ~(uint64_t)GLIBC_FLAGS, next;
        uint64_t bit = (p - segment->bits_base) >> 4;
        if (bytes < GLIBC_MIN_CHUNK || (size & wrong) != 0 || bytes > bound - p ||
            !hs_glibc_word(&view, p + bytes + 8, &next))
            break;
        if ((next & GLIBC_PREV_INUSE) != 0) {
            if (next == GLIBC_PREV_INUSE && hs_glibc_is_fence(chain, p))
                break; /* of 32 bytes */
            used[bit >> 6] |= UINT64_C(1) << (bit & 63);
            segment->n_used++;
            segment->used_bytes += bytes - 8;
        } else {
            uint64_t footer = 0;
            freed[bit >> 6] |= UINT64_C(1) << (bit & 63);
            segment->n_free++;
            segment->free_bytes += bytes - 8;
            segment->n_footers += hs_glibc_word(&view, p + bytes, &footer) && footer == bytes;
            if (bytes >= GLIBC_PAGE)
                HS_TRY(walk_large(g, p, p + bytes, err));
        }
        p += bytes;
        size = next;
    }
    *p_io = p;
    segment->stop = p;
    if (p == chain->top)
        segment->how = GLIBC_END_TOP;
    else
        segment->how = hs_glibc_is_fence(chain, p) ? GLIBC_END_FENCE : GLIBC_END_LOST;
    return HS_OK;
}

static hs_status walk_gap(struct glibc_state *g, hs_addr begin, hs_addr end, struct hs_error *err)
{
    HS_TRY(HS_GROW(&g->gaps, &g->gaps_capacity, g->n_gaps + 1, err));
    g->gaps[g->n_gaps++] = (struct glibc_gap){begin, end};
    return HS_OK;
}

hs_status hs_glibc_walk(struct glibc_state *g, struct glibc_segment *segment,
                        struct glibc_chain *chain, struct hs_error *err)
{
    hs_addr p = segment->first;

    for (;;) {
        HS_TRY(walk_run(g, segment, chain, &p, err));
        if (segment->how != GLIBC_END_LOST || p >= chain->limit)
            return HS_OK;
        hs_addr on = g->n_gaps < GAPS_MAX ? hs_glibc_resync(chain, p + 16) : chain->limit;
        if (on >= segment->bits_end)
            on = chain->limit;
        /* the first word of a chunk still belongs to the block before it */
        HS_TRY(walk_gap(g, p + 8, on == chain->limit ? on : on + 8, err));
        if (on == chain->limit)
            return HS_OK;
        p = on;
    }
}
