/* The segments of a main arena.
 *
 * It grows by brk from mp_.sbrk_base on. Where somebody else moved the break in between there is a
 * hole: a fencepost closes the old part and a new one begins at the next 16-aligned address that
 * the program's own sbrk left. Where the kernel refuses brk, the arena goes on in private anonymous
 * mappings of 1 MiB or more (sysmalloc in malloc.c); they lie anywhere, several in one mapping. */
#include <string.h>

#include "base/alloc.h"
#include "heap.h"

enum { BRK_SEGMENTS_MAX = 1 << 16 };

/* Closes a walked segment of a main arena and adds it, unless there is nothing in it. */
static hs_status main_add(struct glibc_state *g, struct glibc_segment *segment,
                          struct glibc_chain *chain, bool *ret_is_added, struct hs_error *err)
{
    struct glibc_arena *arena = &g->arenas[segment->arena];
    uint64_t size = 0;

    *ret_is_added = segment->how == GLIBC_END_TOP || segment->n_used + segment->n_free > 0;
    segment->end = segment->stop;
    if (segment->how == GLIBC_END_FENCE) {
        segment->end = segment->stop + hs_glibc_fence_bytes(chain, segment->stop);
    } else if (segment->how == GLIBC_END_TOP) {
        if (hs_glibc_word(&chain->view, segment->stop + 8, &size))
            size &= ~(uint64_t)GLIBC_FLAGS;
        if (size < GLIBC_MIN_CHUNK || size > chain->limit - segment->stop) {
            g->process->findings->n_torn++;
            size = chain->limit - segment->stop;
        }
        segment->end = segment->stop + size;
        arena->top_is_found = true;
    } else {
        segment->end = chain->limit;
        g->process->findings->n_torn++;
    }
    if (*ret_is_added) {
        arena->segment_bytes += segment->end - segment->begin;
        HS_TRY(hs_glibc_segment_push(g, segment, err));
    }
    return HS_OK;
}

/* Returns how far the break reaches from `address` on, without a hole; `address` itself where that
 * cannot be read. A part of it that a program has protected (mprotect) belongs to it. What somebody
 * mapped right behind it does not, and may be of any size. */
static hs_addr break_end(const struct glibc_state *g, hs_addr address)
{
    const struct hs_target *target = g->process->target;
    hs_addr end = address;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (m->begin <= end && end < m->end) {
            bool is_held =
                m->readable ? hs_image_find(g->process->image, end, NULL) != NULL : end != address;
            if (!is_held || strcmp(hs_mapping_path(target, m), "[heap]") != 0)
                break;
            end = m->end;
        }
    }
    return end;
}

/* Returns the beginning of the first segment in brk; 0 when there is none. */
static hs_addr brk_begin(const struct glibc_state *g, const struct glibc_instance *instance)
{
    const struct hs_target *target = g->process->target;
    const struct hs_mapping *at = NULL;

    if (instance->params.sbrk_base != 0) {
        at = hs_target_mapping_at(target, instance->params.sbrk_base);
        if (at != NULL && strcmp(hs_mapping_path(target, at), "[heap]") == 0)
            return instance->params.sbrk_base;
        return 0;
    }
    if (instance->params.is_found)
        return 0;
    for (size_t i = 0; i < target->n_mappings; i++)
        if (strcmp(hs_mapping_path(target, &target->mappings[i]), "[heap]") == 0)
            return target->mappings[i].begin;
    return 0;
}

static hs_status find_in_brk(struct glibc_state *g, uint32_t number, hs_addr begin,
                             struct hs_error *err)
{
    struct glibc_chain chain = {.view.image = g->process->image,
                                .limit = break_end(g, begin),
                                .top = g->arenas[number].top,
                                .is_main = true};
    hs_addr base = (begin + 15) & ~(hs_addr)15, at = base, first = base, ended = 0;
    size_t bits_at;

    if (chain.limit < base || chain.limit - base < 32)
        return HS_OK;
    if (!g->instances[g->arenas[number].instance].params.is_found)
        begin = first = hs_glibc_resync(&chain, base);
    HS_TRY(hs_glibc_bits_add(g, base, chain.limit, &bits_at, err));
    for (unsigned i = 0; i < BRK_SEGMENTS_MAX && first < chain.limit; i++) {
        struct glibc_segment s = {.begin = i == 0 ? begin : first, .first = first, .arena = number};
        bool is_added;
        s.bits_base = base;
        s.bits_at = bits_at;
        s.bits_end = chain.limit;
        HS_TRY(hs_glibc_walk(g, &s, &chain, err));
        HS_TRY(main_add(g, &s, &chain, &is_added, err));
        if (is_added && ended != 0)
            g->arenas[number].hole_bytes += s.begin - ended;
        if (is_added)
            ended = s.end;
        if (s.how != GLIBC_END_FENCE)
            break;
        at = s.end;
        first = hs_glibc_resync(&chain, at);
    }
    return HS_OK;
}

/* ---- Pieces in mappings. A dry walk leaves its steps in `seen`: a later walk that comes upon one
 * fares no better, so all of them together are linear. */

struct piece_search {
    struct glibc_chain chain;
    uint64_t *seen; /* a bit every 16 bytes from `base` */
    hs_addr base;
    uint32_t arena;
};

static bool piece_mark(struct piece_search *s, hs_addr p)
{
    uint64_t bit = (p - s->base) >> 4, mask = UINT64_C(1) << (bit & 63);
    bool is_new = (s->seen[bit >> 6] & mask) == 0;

    s->seen[bit >> 6] |= mask;
    return is_new;
}

/* Does a chain run from `p` to the top or to a fencepost? *ret_stop is that. */
static bool piece_probe(struct piece_search *s, hs_addr p, hs_addr *ret_stop)
{
    hs_addr first = p;
    uint64_t size;

    if (!hs_glibc_word(&s->chain.view, p + 8, &size) || (size & GLIBC_FLAGS) != GLIBC_PREV_INUSE)
        return false;
    while (p != s->chain.top) {
        if (p != first && hs_glibc_is_fence(&s->chain, p))
            break;
        uint64_t bytes = hs_glibc_chunk_bytes(&s->chain, p);
        if (bytes == 0 || !piece_mark(s, p))
            return false;
        p += bytes;
    }
    *ret_stop = p;
    return true;
}

static hs_status piece_add(struct glibc_state *g, struct piece_search *s, hs_addr begin,
                           hs_addr stop, hs_addr *ret_end, struct hs_error *err)
{
    struct glibc_segment segment = {.begin = begin, .first = begin, .arena = s->arena};
    struct glibc_chain chain = s->chain;
    bool is_added;

    segment.bits_base = begin;
    segment.bits_end = stop;
    HS_TRY(hs_glibc_bits_add(g, begin, stop, &segment.bits_at, err));
    if (stop != chain.top)
        chain.limit = stop + hs_glibc_fence_bytes(&chain, stop);
    HS_TRY(hs_glibc_walk(g, &segment, &chain, err));
    HS_TRY(main_add(g, &segment, &chain, &is_added, err));
    *ret_end = segment.end;
    return HS_OK;
}

static hs_status search_pages(struct glibc_state *g, struct piece_search *s, hs_addr end,
                              struct hs_error *err)
{
    for (hs_addr p = s->base; hs_glibc_next_page(g, &p, end) && end - p >= GLIBC_PAGE;) {
        const struct glibc_segment *known = hs_glibc_segment_at(g, p);
        hs_addr stop, piece_end;
        if (known != NULL) {
            p = (known->end + GLIBC_PAGE - 1) & ~(GLIBC_PAGE - 1);
        } else if (piece_probe(s, p, &stop)) {
            HS_TRY(piece_add(g, s, p, stop, &piece_end, err));
            p = (piece_end + GLIBC_PAGE - 1) & ~(GLIBC_PAGE - 1);
        } else {
            p += GLIBC_PAGE;
        }
    }
    return HS_OK;
}

static hs_status search_mapping(struct glibc_state *g, struct piece_search *s, hs_addr begin,
                                hs_addr end, struct hs_error *err)
{
    size_t n = ((end - begin) >> 10) + 1;
    void *seen;

    s->base = begin;
    s->chain.limit = end;
    HS_TRY(hs_pages_alloc(n, sizeof *s->seen, &seen, err));
    s->seen = seen;
    hs_status status = search_pages(g, s, end, err);
    hs_pages_free(seen, n, sizeof *s->seen);
    return status;
}

static hs_status search_pieces(struct glibc_state *g, struct piece_search *s, struct hs_error *err)
{
    const struct hs_target *target = g->process->target;

    for (size_t i = 0; i < target->n_mappings; i++) {
        hs_addr begin;
        if (hs_glibc_may_map(g, &target->mappings[i], &begin))
            HS_TRY(search_mapping(g, s, begin, target->mappings[i].end, err));
    }
    return HS_OK;
}

hs_status hs_glibc_find_main(struct glibc_state *g, uint32_t number, struct hs_error *err)
{
    const struct glibc_instance *instance = &g->instances[g->arenas[number].instance];
    hs_addr unsorted = instance->main_arena + instance->layout->bins - 16u;
    struct glibc_arena *arena = &g->arenas[number];

    if (arena->top == unsorted)
        return HS_OK; /* gave nothing yet but mapped chunks */
    hs_addr begin = brk_begin(g, instance);
    if (begin != 0)
        HS_TRY(find_in_brk(g, number, begin, err));
    if (arena->top_is_found && (arena->flags & GLIBC_NONCONTIGUOUS) == 0)
        return HS_OK;
    hs_glibc_segments_sort(g);
    struct piece_search search = {
        .chain = {.view.image = g->process->image, .top = arena->top, .is_main = true},
        .arena = number};
    HS_TRY(search_pieces(g, &search, err));
    g->process->findings->n_torn += !arena->top_is_found;
    return HS_OK;
}
