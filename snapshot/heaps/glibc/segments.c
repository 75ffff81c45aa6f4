/* Segments: the heaps of all arenas but the main one, and the list of them all.
 *
 * Such an arena grows by heaps, each at a multiple of their greatest size, which is 64 MiB unless
 * the process uses huge pages (arena.c, heap_max_size). A heap begins with a heap_info:
 *
 *   | arena | previous heap | size | ... |   32 bytes, 48 from 2.35; then, in the first, the arena
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "heap.h"

/* Bits for 128 GB that need not be there, and for sixteen times what is: headers say how large
 * chunks are, whether they were touched or not. */
#define SPARSE_WORDS ((size_t)1 << 27)

enum { HEAP_INFO_MIN = 32, HEAP_INFO_MAX = 64, HEAP_SHIFTS = 12, HEAPS_CLOSE = 2 };

/* log2 of the sizes at whose multiples heaps may begin, the usual one first. */
static const uint8_t heap_shifts[HEAP_SHIFTS] = {26, 23, 32, 20, 21, 22, 24, 25, 27, 28, 29, 30};

hs_status hs_glibc_bits_add(struct glibc_state *g, hs_addr begin, hs_addr end, size_t *ret,
                            struct hs_error *err)
{
    size_t n = g->n_words + ((end - begin) >> 10) + 1;

    if (g->words_max == 0)
        g->words_max =
            SPARSE_WORDS + (size_t)(hs_image_resident_bytes(g->process->image, 0, UINT64_MAX) >> 6);
    if (n > g->words_max)
        return hs_fail(err, HS_LIMIT, "cannot keep track of heaps that were hardly ever touched");
    HS_TRY(HS_GROW(&g->used, &g->used_capacity, n, err));
    HS_TRY(HS_GROW(&g->freed, &g->freed_capacity, n, err));
    *ret = g->n_words;
    g->n_words = n;
    return HS_OK;
}

hs_status hs_glibc_segment_push(struct glibc_state *g, const struct glibc_segment *segment,
                                struct hs_error *err)
{
    HS_TRY(HS_GROW(&g->segments, &g->segments_capacity, g->n_segments + 1, err));
    g->segments[g->n_segments++] = *segment;
    return HS_OK;
}

static int segment_compare(const void *a, const void *b)
{
    hs_addr x = ((const struct glibc_segment *)a)->begin;
    hs_addr y = ((const struct glibc_segment *)b)->begin;
    return (x > y) - (x < y);
}

void hs_glibc_segments_sort(struct glibc_state *g)
{
    size_t n = 0;

    if (g->n_segments > 1)
        qsort(g->segments, g->n_segments, sizeof *g->segments, segment_compare);
    for (size_t i = 0; i < g->n_segments; i++)
        if (n == 0 || g->segments[i].begin >= g->segments[n - 1].end)
            g->segments[n++] = g->segments[i];
    g->n_segments = g->n_sorted = n;
}

struct glibc_segment *hs_glibc_segment_at(const struct glibc_state *g, hs_addr address)
{
    size_t low = HS_FIRST_ABOVE(g->segments, g->n_sorted, end, address);

    if (low == g->n_sorted || g->segments[low].begin > address)
        return NULL;
    return &g->segments[low];
}

/* A heap of `arena` at `at`: is it one, where does it end, which was before it? */
static bool heap_read(const struct glibc_state *g, hs_addr arena, hs_addr at, uint64_t most,
                      hs_addr *ret_previous, uint64_t *ret_bytes)
{
    const struct hs_image *image = g->process->image;
    uint64_t owner;

    return hs_image_u64(image, at, &owner) && owner == arena &&
           hs_image_u64(image, at + 8, ret_previous) && hs_image_u64(image, at + 16, ret_bytes) &&
           *ret_bytes % GLIBC_PAGE == 0 && *ret_bytes >= GLIBC_PAGE && *ret_bytes <= most &&
           at + *ret_bytes > at;
}

/* The end of a heap as far as it is in the copy: its own word of its size is the target's. */
static hs_addr heap_end(const struct glibc_state *g, hs_addr at, uint64_t n_bytes)
{
    const struct hs_image_range *range = hs_image_find(g->process->image, at, NULL);

    return range != NULL && range->end - at < n_bytes ? range->end : at + n_bytes;
}

/* The arena lies right behind the heap_info of its first heap. */
static bool arena_home(const struct glibc_arena *arena, hs_addr *ret)
{
    uint64_t info = arena->address & (GLIBC_PAGE - 1);

    *ret = arena->address - info;
    return info >= HEAP_INFO_MIN && info <= HEAP_INFO_MAX && (info & 15) == 0;
}

/* Do the heaps lead from the one with `top` to the arena's own? With `push`, takes them: those that
 * are sound. *ret_score: 0 when not even the first is one, HEAPS_CLOSE when they do. */
static hs_status heaps_follow(struct glibc_state *g, uint32_t number, uint64_t most, bool push,
                              unsigned *ret_score, struct hs_error *err)
{
    const struct glibc_arena *arena = &g->arenas[number];
    const struct glibc_layout *layout = g->instances[arena->instance].layout;
    hs_addr at = arena->top & ~(most - 1), home, previous, mark = 0;
    uint64_t n_bytes, n = 0, until = 2;

    *ret_score = 0;
    if (!arena_home(arena, &home))
        return HS_OK;
    while (at != mark && heap_read(g, arena->address, at, most, &previous, &n_bytes)) {
        if (*ret_score == 0 && arena->top - at >= n_bytes)
            return HS_OK;
        struct glibc_segment s = {.begin = at, .end = heap_end(g, at, n_bytes), .arena = number};
        s.first = at == home ? arena->address + layout->bins + GLIBC_STATE_TAIL
                             : at + (arena->address - home);
        s.first = (s.first + 15) & ~(hs_addr)15;
        if (push) {
            uint64_t n_missing = at + n_bytes - s.end;
            g->arenas[number].segment_bytes += n_missing;
            g->process->findings->n_torn += n_missing != 0;
            HS_TRY(hs_glibc_segment_push(g, &s, err));
        }
        *ret_score = at == home ? HEAPS_CLOSE : 1;
        if (at == home || (previous & (most - 1)) != 0)
            return HS_OK;
        if (++n == until) { /* Brent: a chain that runs into itself comes by here again */
            mark = at;
            until *= 2;
        }
        at = previous;
    }
    return HS_OK;
}

/* The size of heaps with which most arenas' chains close. */
static hs_status heap_size_choose(struct glibc_state *g, struct glibc_instance *instance,
                                  struct hs_error *err)
{
    uint64_t best = 0, enough = HEAPS_CLOSE * (uint64_t)(instance->n_arenas - 1);

    for (size_t i = 0; i < HEAP_SHIFTS && best < enough; i++) {
        uint64_t most = UINT64_C(1) << heap_shifts[i];
        uint64_t n = 0;
        for (size_t k = 1; k < instance->n_arenas; k++) {
            unsigned score;
            HS_TRY(
                heaps_follow(g, (uint32_t)(instance->first_arena + k), most, false, &score, err));
            n += score;
        }
        if (n > best || i == 0) {
            best = n;
            instance->heap_bytes = most;
        }
    }
    return HS_OK;
}

static hs_status heaps_gather(struct glibc_state *g, struct hs_error *err)
{
    for (size_t i = 0; i < g->n_instances; i++) {
        struct glibc_instance *instance = &g->instances[i];
        if (instance->n_arenas < 2)
            continue;
        HS_TRY(heap_size_choose(g, instance, err));
        for (size_t k = 1; k < instance->n_arenas; k++) {
            unsigned score;
            HS_TRY(heaps_follow(g, (uint32_t)(instance->first_arena + k), instance->heap_bytes,
                                true, &score, err));
            g->process->findings->n_torn += score != HEAPS_CLOSE;
        }
    }
    hs_glibc_segments_sort(g);
    return HS_OK;
}

static hs_status heap_walk(struct glibc_state *g, struct glibc_segment *segment,
                           struct hs_error *err)
{
    struct glibc_arena *arena = &g->arenas[segment->arena];
    struct glibc_chain chain = {
        .view.image = g->process->image, .limit = segment->end, .top = arena->top};

    if (segment->first > segment->end)
        segment->first = segment->end;
    segment->bits_base = segment->first;
    segment->bits_end = segment->end;
    HS_TRY(hs_glibc_bits_add(g, segment->first, segment->end, &segment->bits_at, err));
    HS_TRY(hs_glibc_walk(g, segment, &chain, err));
    arena->segment_bytes += segment->end - segment->begin;
    arena->top_is_found |= segment->how == GLIBC_END_TOP;
    g->process->findings->n_torn += segment->how == GLIBC_END_LOST;
    return HS_OK;
}

hs_status hs_glibc_find_heaps(struct glibc_state *g, struct hs_error *err)
{
    HS_TRY(heaps_gather(g, err));
    for (size_t i = 0; i < g->n_segments; i++)
        HS_TRY(heap_walk(g, &g->segments[i], err));
    return HS_OK;
}
