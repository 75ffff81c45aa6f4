/* All spans of the heap, and the stacks in the memory that it gives to stacks. */
#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "heap.h"

/* mheap.go: mSpanInUse, mSpanManual; the most objects of a span (nelems has 16 bits since 1.22). */
enum { STATE_IN_USE = 1, STATE_MANUAL = 2, SPANS_MAX = 1 << 26, ELEMS_MAX = 1 << 16 };
enum { PAGES_OF_ARENA = HS_GO_ARENA_BYTES / HS_GO_PAGE_BYTES, MINOR_OF_SHORT_COUNTS = 22 };
#define SPAN_BYTES_MAX (UINT64_C(1) << 40)
#define SLOTS_MAX (UINT64_C(1) << 36)

/* An mspan's words, with the number of objects and the first that may be free. */
struct record {
    const uint8_t *bytes;
    hs_addr address;
    uint64_t begin, n_pages, n_elems, free_index, elem_bytes;
    hs_addr alloc_bits;
};

static uint64_t read_count(const struct hs_go_layout *l, const uint8_t *at)
{
    return l->minor < MINOR_OF_SHORT_COUNTS ? hs_load_u64(at) : hs_load_u16(at);
}

static const struct hs_go_arena *arena_at(const struct hs_go_heap *heap, hs_addr address)
{
    if (heap->n_arenas == 0 || address < heap->arenas[0].begin)
        return NULL;
    size_t near = (address - heap->arenas[0].begin) / HS_GO_ARENA_BYTES;
    if (near < heap->n_arenas && address - heap->arenas[near].begin < HS_GO_ARENA_BYTES)
        return &heap->arenas[near];
    size_t at = HS_FIRST_ABOVE(heap->arenas, heap->n_arenas, begin, address);
    return at != 0 && address - heap->arenas[at - 1].begin < HS_GO_ARENA_BYTES
               ? &heap->arenas[at - 1]
               : NULL;
}

/* Tells whether [begin, end) is memory of arenas that is in the copy. */
static bool is_of_heap(const struct hs_go_heap *heap, hs_addr begin, hs_addr end)
{
    return arena_at(heap, begin) != NULL && arena_at(heap, end - 1) != NULL &&
           hs_image_find(&heap->dump->image, begin, /* hint= */ NULL) != NULL &&
           hs_image_find(&heap->dump->image, end - 1, /* hint= */ NULL) != NULL;
}

static bool record_is_sound(const struct hs_go_heap *heap, const struct record *r)
{
    uint64_t n_bytes = r->n_pages * HS_GO_PAGE_BYTES;

    return r->begin % HS_GO_PAGE_BYTES == 0 && r->n_pages != 0 &&
           r->n_pages <= SPAN_BYTES_MAX / HS_GO_PAGE_BYTES && r->begin < HS_USER_END - n_bytes &&
           is_of_heap(heap, r->begin, r->begin + n_bytes);
}

static void read_record(const struct hs_go_layout *l, const uint8_t *bytes, struct record *ret)
{
    ret->bytes = bytes;
    ret->begin = hs_load_u64(bytes + l->mspan_startAddr);
    ret->n_pages = hs_load_u64(bytes + l->mspan_npages);
    ret->n_elems = read_count(l, bytes + l->mspan_nelems);
    ret->free_index = read_count(l, bytes + l->mspan_freeindex);
    ret->elem_bytes = hs_load_u64(bytes + l->mspan_elemsize);
    ret->alloc_bits = hs_load_u64(bytes + l->mspan_allocBits);
}

/* Adds a span of objects. Those of a size that does not fit are counted as damaged. */
static hs_status add_span(struct hs_go_heap *heap, const struct record *r, struct hs_error *err)
{
    const struct hs_go_layout *l = heap->layout;
    uint64_t n_bytes = r->n_pages * HS_GO_PAGE_BYTES;
    uint8_t spanclass = r->bytes[l->mspan_spanclass];

    if (r->elem_bytes < HS_WORD_BYTES || r->elem_bytes % HS_WORD_BYTES != 0 || r->n_elems == 0 ||
        r->n_elems > ELEMS_MAX || r->elem_bytes > n_bytes / r->n_elems ||
        spanclass / 2 >= HS_GO_N_CLASSES) {
        heap->n_damaged++;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&heap->spans, &heap->spans_capacity, heap->n_spans + 1, err));
    heap->spans[heap->n_spans++] = (struct hs_go_span){
        .begin = r->begin,
        .end = r->begin + r->n_elems * r->elem_bytes,
        .elem_bytes = r->elem_bytes,
        .specials = hs_load_u64(r->bytes + l->mspan_specials),
        .n_elems = (uint32_t)r->n_elems,
        .n_pages = (uint32_t)(r->n_pages < UINT32_MAX ? r->n_pages : UINT32_MAX),
        .alloc_count = hs_load_u16(r->bytes + l->mspan_allocCount),
        .before_cache = hs_load_u16(r->bytes + l->mspan_allocCountBeforeCache),
        .spanclass = spanclass,
        .record = r->address,
    };
    heap->n_spans_in_use++;
    heap->span_bytes += n_bytes;
    return HS_OK;
}

static hs_status read_span(struct hs_go_heap *heap, hs_addr address, struct hs_error *err)
{
    const struct hs_go_layout *l = heap->layout;
    struct record record = {.address = address};
    const uint8_t *bytes = hs_image_bytes(&heap->dump->image, address, (size_t)l->mspan_size);

    if (bytes == NULL) {
        heap->n_damaged++;
        return HS_OK;
    }
    read_record(l, bytes, &record);
    uint8_t state = bytes[l->mspan_state];
    if (state != STATE_IN_USE && state != STATE_MANUAL)
        return HS_OK;
    if (!record_is_sound(heap, &record)) {
        heap->n_damaged++;
        return HS_OK;
    }
    if (state == STATE_IN_USE)
        return add_span(heap, &record, err);
    uint64_t n_bytes = record.n_pages * HS_GO_PAGE_BYTES;
    heap->manual_bytes += n_bytes;
    HS_TRY(HS_GROW(&heap->manual, &heap->manual_capacity, heap->n_manual + 1, err));
    heap->manual[heap->n_manual++] = (struct hs_range){record.begin, record.begin + n_bytes};
    return HS_OK;
}

hs_status hs_go_read_spans(struct hs_go_heap *heap, struct hs_error *err)
{
    hs_addr list = heap->mheap + (uint64_t)heap->layout->mheap_allspans;
    uint64_t begin = hs_go_member(heap, list, 0), n = hs_go_member(heap, list, HS_WORD_BYTES);
    uint64_t address;

    if (n == 0 || n > SPANS_MAX || n > hs_go_member(heap, list, 2 * HS_WORD_BYTES))
        return hs_fail(err, HS_TARGET, "the list of spans of the Go heap of '%s' is damaged",
                       heap->dump->objects.objects[0].name);
    for (uint64_t i = 0; i < n; i++) {
        if (!hs_image_u64(&heap->dump->image, begin + i * HS_WORD_BYTES, &address))
            break;
        HS_TRY(read_span(heap, address, err));
    }
    return HS_OK;
}

hs_status hs_go_add_stack(struct hs_go_heap *heap, hs_addr g, hs_addr begin, hs_addr end,
                          struct hs_error *err)
{
    if (begin % HS_GO_STACK_MIN_BYTES != 0 || end % HS_WORD_BYTES != 0 || begin >= end ||
        end - begin < HS_GO_STACK_MIN_BYTES || end - begin > SPAN_BYTES_MAX || end >= HS_USER_END ||
        !is_of_heap(heap, begin, end))
        return HS_OK; /* a stack of the system's, of the first thread or made by libc */
    HS_TRY(HS_GROW(&heap->spans, &heap->spans_capacity, heap->n_spans + 1, err));
    heap->spans[heap->n_spans++] = (struct hs_go_span){.begin = begin,
                                                       .end = end,
                                                       .elem_bytes = end - begin,
                                                       .n_elems = 1,
                                                       .is_stack = true,
                                                       .record = g};
    return HS_OK;
}

/* ---- their order */

static int span_compare(const void *a, const void *b)
{
    const struct hs_go_span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->record < y->record ? -1 : x->record > y->record;
}

/* Drops what overlaps the span before it, and numbers the slots of the rest. */
static uint64_t seal_spans(struct hs_go_heap *heap)
{
    uint64_t n_slots = 0;
    size_t n = 0;

    qsort(heap->spans, heap->n_spans, sizeof *heap->spans, span_compare);
    for (size_t i = 0; i < heap->n_spans; i++) {
        struct hs_go_span span = heap->spans[i];
        if (n != 0 && span.begin < heap->spans[n - 1].end) {
            heap->n_damaged++;
            continue;
        }
        span.first_slot = n_slots;
        n_slots += span.n_elems;
        heap->spans[n++] = span;
    }
    heap->n_spans = n;
    return n_slots;
}

/* Notes at each page the last span that begins in it or before; all of a span's pages lead to it.
 */
static void seal_pages(struct hs_go_heap *heap)
{
    size_t arena = 0;

    for (size_t i = 0; i < heap->n_spans; i++) {
        hs_addr end = heap->spans[i].end;
        hs_addr page = heap->spans[i].begin & ~(HS_GO_PAGE_BYTES - 1);
        while (page < end) {
            while (arena + 1 < heap->n_arenas && heap->arenas[arena + 1].begin <= page)
                arena++;
            uint64_t offset = page - heap->arenas[arena].begin;
            if (offset < HS_GO_ARENA_BYTES)
                heap->pages[arena * PAGES_OF_ARENA + offset / HS_GO_PAGE_BYTES] = (uint32_t)i + 1;
            else if (arena + 1 == heap->n_arenas)
                break;
            page = offset < HS_GO_ARENA_BYTES ? page + HS_GO_PAGE_BYTES
                                              : heap->arenas[arena + 1].begin;
        }
    }
}

/* Sets the bits of the objects in use: those that the last sweep left, and all before the first
 * that may be free (mbitmap.go, isFree). Returns how many they are. */
static uint64_t seal_objects(struct hs_go_heap *heap, const struct hs_go_span *span)
{
    const struct hs_go_layout *l = heap->layout;
    const uint8_t *bytes = hs_image_bytes(&heap->dump->image, span->record, (size_t)l->mspan_size);
    uint64_t free_index = bytes == NULL ? 0 : read_count(l, bytes + l->mspan_freeindex);
    hs_addr at = bytes == NULL ? 0 : hs_load_u64(bytes + l->mspan_allocBits);
    const uint8_t *bits =
        hs_image_bytes(&heap->dump->image, at, (span->n_elems + CHAR_BIT - 1) / CHAR_BIT);
    uint64_t n = 0;

    for (uint64_t i = 0; i < span->n_elems; i++) {
        if (i >= free_index && (bits == NULL || (bits[i / CHAR_BIT] >> i % CHAR_BIT & 1) == 0))
            continue;
        hs_bitmap_set(&heap->live, span->first_slot + i);
        n++;
    }
    return n;
}

static void seal_bits(struct hs_go_heap *heap)
{
    for (size_t i = 0; i < heap->n_spans; i++) {
        const struct hs_go_span *span = &heap->spans[i];
        if (span->is_stack) {
            hs_bitmap_set(&heap->live, span->first_slot);
            continue;
        }
        uint64_t n = seal_objects(heap, span);
        heap->n_miscounted += n != span->alloc_count;
        heap->n_objects += n;
        heap->object_bytes += n * span->elem_bytes;
    }
}

hs_status hs_go_seal(struct hs_go_heap *heap, struct hs_error *err)
{
    uint64_t n_slots = seal_spans(heap);

    if (n_slots > SLOTS_MAX)
        return hs_fail(err, HS_LIMIT, "the Go heap has room for more than 2^36 objects");
    uint64_t n_pages = heap->n_arenas * PAGES_OF_ARENA;
    HS_TRY(hs_dump_plan_reserve(&heap->dump->plan,
                                n_pages * sizeof *heap->pages + n_slots / CHAR_BIT * 9 / 8,
                                "the table of the Go heap", err));
    HS_TRY(HS_ALLOC(&heap->pages, n_pages, err));
    seal_pages(heap);
    HS_TRY(hs_bitmap_init(&heap->live, n_slots, err));
    seal_bits(heap);
    return hs_bitmap_index(&heap->live, &heap->n_live, err);
}

/* ---- from an address to its block */

bool hs_go_slot(const struct hs_go_heap *heap, hs_addr address, struct hs_go_block *ret)
{
    const struct hs_go_arena *arena = arena_at(heap, address);

    if (arena == NULL)
        return false;
    size_t n = heap->pages[(size_t)(arena - heap->arenas) * PAGES_OF_ARENA +
                           (address - arena->begin) / HS_GO_PAGE_BYTES];
    while (n != 0 && heap->spans[n - 1].begin > address)
        n--; /* at most as many as there are stacks in a page */
    if (n == 0 || address >= heap->spans[n - 1].end)
        return false;
    const struct hs_go_span *span = &heap->spans[n - 1];
    uint64_t index = (address - span->begin) / span->elem_bytes;
    *ret = (struct hs_go_block){.span = span,
                                .begin = span->begin + index * span->elem_bytes,
                                .slot = span->first_slot + index};
    return true;
}

bool hs_go_resolve(const struct hs_go_heap *heap, hs_addr address, struct hs_go_block *ret)
{
    return hs_go_slot(heap, address, ret) && !ret->span->is_stack &&
           hs_bitmap_get(&heap->live, ret->slot);
}
