/* The heap of the runtime, found without symbols: a word of the program's data leads to 32 MiB of
 * pointers to arenas, few of which are set, and each to an arena whose spans lie in it. */
#include "heap.h"

#include "base/alloc.h"
#include "base/effort.h"
#include "base/load.h"

/* malloc.go: arenaL2Bits 22, arenaBaseOffset 2^47 on amd64. */
#define MAP_BYTES (UINT64_C(1) << 25)
#define BASE_OFFSET (UINT64_C(1) << 47)
/* The most words that are looked at in the search, a second's worth: each word of the data may lead
 * to 32 MiB of zeros. */
#define SEARCH_WORDS (UINT64_C(1) << 30)
enum { ARENA_BITS = 26, ARENAS_MAX = 1 << 16, PROBES = 4, SLICE_MAX = 1 << 26, PAGE = 4096 };

static hs_addr arena_begin(uint64_t index)
{
    return (index << ARENA_BITS) - BASE_OFFSET;
}

/* Tells whether an arena has a span that begins on the page which leads to it. One that was just
 * made has none, and pages that are free lead to records which other spans have since. */
static bool arena_is_sound(const struct hs_go_heap *heap, hs_addr begin, hs_addr metadata,
                           struct hs_effort *effort)
{
    const struct hs_image *image = &heap->dump->image;
    uint64_t n_pages = HS_GO_ARENA_BYTES / HS_GO_PAGE_BYTES, span, start;

    for (uint64_t i = 0; i < n_pages && hs_effort_take(effort, 1); i++) {
        hs_addr at = metadata + (uint64_t)heap->layout->heapArena_spans + i * HS_WORD_BYTES;
        if (!hs_image_u64(image, at, &span))
            return false;
        if (span != 0 &&
            hs_image_u64(image, span + (uint64_t)heap->layout->mspan_startAddr, &start) &&
            start == begin + i * HS_GO_PAGE_BYTES)
            return true;
    }
    return false;
}

static hs_status add_arena(struct hs_go_heap *heap, uint64_t index, hs_addr metadata,
                           struct hs_error *err)
{
    if (heap->n_arenas == ARENAS_MAX)
        return hs_fail(err, HS_LIMIT, "the Go heap has more than %d arenas", ARENAS_MAX);
    HS_TRY(HS_GROW(&heap->arenas, &heap->arenas_capacity, heap->n_arenas + 1, err));
    heap->arenas[heap->n_arenas++] =
        (struct hs_go_arena){.begin = arena_begin(index), .metadata = metadata};
    return HS_OK;
}

/* Lists the arenas of what may be the map; *ret_is_map: it is one. */
static hs_status try_map(struct hs_go_heap *heap, hs_addr map, struct hs_effort *effort,
                         bool *ret_is_map, struct hs_error *err)
{
    const struct hs_image *image = &heap->dump->image;
    const uint8_t *bytes = hs_image_bytes(image, map, MAP_BYTES);
    hs_addr part, end;
    size_t n_sound = 0;

    *ret_is_map = false;
    heap->n_arenas = 0;
    if (bytes == NULL)
        return HS_OK;
    for (hs_addr at = map; hs_image_next_present(image, at, map + MAP_BYTES, &part, &end);
         at = end) {
        if (!hs_effort_take(effort, (end - part) / HS_WORD_BYTES))
            return HS_OK;
        for (hs_addr word = part; word < end; word += HS_WORD_BYTES) {
            hs_addr metadata = hs_load_u64(bytes + (word - map));
            uint64_t index = (word - map) / HS_WORD_BYTES;
            if (metadata == 0)
                continue;
            if (metadata % HS_WORD_BYTES != 0 || heap->n_arenas == ARENAS_MAX ||
                hs_image_find(image, metadata, /* hint= */ NULL) == NULL ||
                (heap->n_arenas >= PROBES && n_sound == 0))
                return HS_OK;
            n_sound += heap->n_arenas < PROBES &&
                       arena_is_sound(heap, arena_begin(index), metadata, effort);
            HS_TRY(add_arena(heap, index, metadata, err));
        }
    }
    *ret_is_map = n_sound != 0;
    return HS_OK;
}

/* Tries all words of one part of the data that may lead to the map. */
static hs_status search_data(struct hs_go_heap *heap, const struct hs_go_data *data,
                             struct hs_effort *effort, bool *ret_found, struct hs_error *err)
{
    uint64_t word;

    for (hs_addr at = data->begin; at + HS_WORD_BYTES <= data->end && !effort->is_spent;
         at += HS_WORD_BYTES) {
        if (!hs_image_u64(&heap->dump->image, at, &word) || word == 0 || word % PAGE != 0 ||
            word >= HS_USER_END - MAP_BYTES ||
            at < data->begin + (uint64_t)heap->layout->mheap_arenas)
            continue;
        HS_TRY(try_map(heap, word, effort, ret_found, err));
        if (!*ret_found)
            continue;
        heap->arena_map = word;
        heap->mheap = at - (uint64_t)heap->layout->mheap_arenas;
        return HS_OK;
    }
    return HS_OK;
}

hs_status hs_go_find_heap(struct hs_go_heap *heap, struct hs_error *err)
{
    static const unsigned order[] = {HS_GO_NOPTRBSS, HS_GO_BSS, HS_GO_DATA, HS_GO_NOPTRDATA};
    struct hs_effort effort = {.left = SEARCH_WORDS};
    bool is_found = false;

    for (size_t i = 0; i < sizeof order / sizeof *order && !is_found; i++)
        HS_TRY(search_data(heap, &heap->module.data[order[i]], &effort, &is_found, err));
    if (is_found)
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "the heap of the Go program '%s' was not found",
                  heap->dump->objects.objects[0].name);
    return hs_hint(err, "it is made when the program starts, by Go's own runtime of %s",
                   heap->layout->name);
}

bool hs_go_next_slice(const struct hs_go_heap *heap, unsigned data, hs_addr *at,
                      struct hs_go_slice *ret)
{
    const struct hs_go_data *d = &heap->module.data[data];
    const struct hs_image *image = &heap->dump->image;
    uint64_t n, capacity;

    if (*at < d->begin)
        *at = d->begin;
    for (; *at < d->end && d->end - *at >= 3 * HS_WORD_BYTES; *at += HS_WORD_BYTES) {
        if (!hs_image_u64(image, *at, &ret->begin) || ret->begin < PAGE ||
            ret->begin % HS_WORD_BYTES != 0 || ret->begin >= HS_USER_END ||
            !hs_image_u64(image, *at + HS_WORD_BYTES, &n) ||
            !hs_image_u64(image, *at + 2 * HS_WORD_BYTES, &capacity) || n == 0 || n > capacity ||
            capacity > SLICE_MAX)
            continue;
        ret->address = *at;
        ret->n = n;
        *at += HS_WORD_BYTES;
        return true;
    }
    return false;
}
