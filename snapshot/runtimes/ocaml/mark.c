/* Precise marking over the copy, with a stack of its own.
 *
 * Order does not matter, memory does: each popped block costs a cache miss or two, so popped blocks
 * pass through a short queue that prefetches their headers before their fields are read. */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "marker.h"
#include "recorded.h"
#include "v5/ocaml5.h"

enum {
    AHEAD = 8,
    LARGE_STACK = 1 << 20,
    MARK_REGION_BITS = 24,
    SPARSE_BYTES = 64 << 10, /* per block that waits: then little of what lies between is wanted */
    REMNANT_MAX_WOSIZE = 16, /* BF_NUM_SMALL, freelist.c */
    FUNCTIONS_MAX = 1 << 14,
    NEWEST_WORDS = 257 /* what one allocation of OCaml code can take: Max_young_wosize + 1 */
};

bool hs_marker_is_reached(const struct hs_marker *m, const struct hs_block *block)
{
    return hs_bitmap_get(&m->marks->reached, block->bit);
}

static void mark_push(struct hs_marker *m, const struct hs_block *block)
{
    if (m->map->is_large &&
        (block->address >> MARK_REGION_BITS != m->region || m->n_stack == m->stack_capacity)) {
        m->n_waiting += !hs_bitmap_get(&m->waiting, block->bit);
        hs_bitmap_set(&m->waiting, block->bit);
        hs_bitmap_set(&m->groups, block->bit / 64);
        return;
    }
    assert(m->n_stack < m->stack_capacity && "each block waits once at most");
    m->stack[m->n_stack++] = block->address;
}

/* Returns the first waiting bit from `bit` on, or n_bits. */
static uint64_t mark_next(const struct hs_marker *m, uint64_t bit)
{
    if (bit >= m->waiting.n_bits)
        return m->waiting.n_bits;
    uint64_t word = bit / 64, bits = m->waiting.words[word] & (UINT64_MAX << (bit % 64));
    if (bits == 0) {
        word = hs_bitmap_next(&m->groups, word + 1);
        if (word >= m->groups.n_bits)
            return m->waiting.n_bits;
        bits = m->waiting.words[word];
    }
    return word * 64 + (uint64_t)__builtin_ctzll(bits);
}

/* Returns the address of a bit, and the span it is in. */
static hs_addr mark_address(const struct hs_marker *m, uint64_t bit, const struct hs_span **ret)
{
    const struct hs_spans *spans = &m->map->spans;

    *ret = &spans->spans[HS_FIRST_ABOVE(spans->spans, spans->n, first_bit, bit) - 1];
    return (*ret)->begin + (bit - (*ret)->first_bit) * HS_WORD;
}

/* Puts what waits of the next region on the stack. */
static void mark_fill(struct hs_marker *m)
{
    const struct hs_span *span;
    uint64_t n_bits = m->waiting.n_bits, bit = mark_next(m, m->cursor);
    size_t n_before = m->n_stack;

    if (bit == n_bits)
        bit = mark_next(m, 0);
    m->cursor = bit;
    m->region = mark_address(m, bit, &span) >> MARK_REGION_BITS;
    for (; bit < n_bits && m->n_stack < m->stack_capacity / 2; bit = mark_next(m, bit + 1)) {
        hs_addr address = mark_address(m, bit, &span);
        if (address >> MARK_REGION_BITS != m->region)
            break;
        hs_bitmap_clear(&m->waiting, bit);
        if (m->waiting.words[bit / 64] == 0)
            hs_bitmap_clear(&m->groups, bit / 64);
        m->n_waiting--;
        m->stack[m->n_stack++] = address;
    }
    size_t n = m->n_stack - n_before;
    hs_addr first = m->stack[n_before], last = m->stack[m->n_stack - 1];
    span = hs_map_span(m->map, first);
    if (m->map->rt->image->paged != NULL && (last + HS_WORD - first) / n < SPARSE_BYTES)
        hs_paged_expect(m->map->rt->image->paged, hs_map_bytes(span, first),
                        last + HS_WORD - first);
}

static bool mark_pop(struct hs_marker *m, hs_addr *ret)
{
    if (m->n_stack == 0 && m->n_waiting != 0)
        mark_fill(m);
    if (m->n_stack == 0)
        return false;
    *ret = m->stack[--m->n_stack];
    return true;
}

/* Counts a field of a reached block that leads into the heap but to no block. The newest young
 * blocks may still hold what an earlier cycle left in their place: the header is written first. */
static void mark_dangling(struct hs_marker *m, const struct hs_block *at, uint64_t value)
{
    if (m->is_newest) {
        m->marks->n_unborn_fields += at->span != NULL;
        return;
    }
    if (m->is_guessing) {
        m->marks->n_dangling_garbage++;
        return;
    }
    if (at->span == NULL) { /* foreign, unless it is in the unused part of the minor heap */
        bool is_young = hs_ocaml_area(m->map->rt, value) == HS_AREA_YOUNG;
        m->marks->n_dangling += is_young;
        m->marks->n_foreign += !is_young && !hs_ocaml_is_recorders(m->map->rt, value);
        return;
    }
    if (at->span->area != HS_AREA_HEAP && at->span->area != HS_AREA_YOUNG)
        return; /* static data holds more than blocks: not for us to judge */
    m->marks->n_dangling++;
    if (value - at->span->begin < HS_WORD)
        return;
    uint64_t header = hs_load_u64(hs_map_bytes(at->span, value) - HS_WORD);
    m->marks->n_free_reached +=
        m->map->rt->five != NULL ? header == 0 : HS_HEADER_COLOUR(header) == HS_BLUE;
}

/* Tells whether a static block is to be taken: they are told by their headers alone. Sound ones do
 * not overlap, so together they are no longer than static data; what goes far beyond that is
 * refused, or the work would be its square. */
static bool mark_admits(struct hs_marker *m, const struct hs_block *block)
{
    if (block->span->area != HS_AREA_STATIC || hs_bitmap_get(&m->map->starts, block->bit))
        return true;
    uint64_t n_words = HS_HEADER_WOSIZE(hs_block_head(block)) + 1;
    if (n_words > 2 * m->n_static_words - m->n_found_words) {
        m->n_refused++;
        return false;
    }
    m->n_found_words += n_words;
    return true;
}

void hs_marker_value(struct hs_marker *m, uint64_t value)
{
    struct hs_block block;

    if (value % HS_WORD != 0)
        return;
    block.span = NULL;
    if (!hs_map_resolve(m->map, value, &block)) {
        mark_dangling(m, &block, value);
        return;
    }
    if (hs_bitmap_get(&m->marks->reached, block.bit) || !mark_admits(m, &block))
        return;
    hs_bitmap_set(&m->marks->reached, block.bit);
    hs_bitmap_set(&m->map->starts, block.bit); /* static blocks are found here */
    if (m->is_watching && hs_bitmap_get(&m->watched, block.bit)) {
        assert(m->n_woken < m->woken_capacity);
        m->woken[m->n_woken++] = block.address;
    }
    mark_push(m, &block);
}

static void mark_slot(void *marker, uint64_t value, hs_addr pc)
{
    (void)pc;
    if ((value & 1) == 0)
        hs_marker_value(marker, value);
}

/* Marks what the stacks of a continuation keep, in OCaml 5: it is its own. */
static void mark_fibers(struct hs_marker *m, hs_addr block, hs_ocaml5_slot_fn slot)
{
    size_t n;
    const struct hs_ocaml5_fiber *fibers = hs_ocaml5_fibers_of(m->map->rt->five, block, &n);

    for (size_t i = 0; i < n; i++) {
        if (fibers[i].is_damaged ||
            !hs_ocaml5_stack_slots(m->map->rt, m->roots->frames, fibers[i].stack, slot, m))
            m->n_damaged_fibers++;
    }
}

/* Counts a closure for its function. One beyond the bound, or without memory for it, is not asked
 * about: a name less. */
static void mark_function(struct hs_marker *m, hs_addr code)
{
    struct hs_dict *functions = &m->marks->functions;
    uint64_t *n = hs_dict_find(functions, code);
    struct hs_error ignored = HS_ERROR_INIT;

    if (n != NULL)
        ++*n;
    else if (functions->n < FUNCTIONS_MAX)
        (void)hs_dict_put(functions, code, 1, &ignored);
}

static void mark_scan(struct hs_marker *m, hs_addr address)
{
    struct hs_block block = {.span = hs_map_span(m->map, address), .address = address};
    uint64_t header = hs_block_head(&block);
    uint64_t from, end;

    if (block.span->area == HS_AREA_HEAP || block.span->area == HS_AREA_YOUNG) {
        m->marks->n_reached_blocks++;
        m->marks->n_reached_words += HS_HEADER_WOSIZE(header) + 1;
        if (HS_HEADER_TAG(header) < HS_TAG_LAZY && HS_HEADER_WOSIZE(header) != 0) {
            m->marks->n_structured_blocks++;
            m->marks->n_structured_words += HS_HEADER_WOSIZE(header) + 1;
        }
        if (m->map->rt->is_bytecode && hs_ocaml_is_module_block(m->roots, address))
            return;
    } else if (hs_ocaml_is_module_block(m->roots, address)) {
        return; /* its fields are roots of their own */
    }
    /* a minor heap's part in the map begins at its allocation pointer */
    m->is_newest =
        block.span->area == HS_AREA_YOUNG && address - block.span->begin <= NEWEST_WORDS * HS_WORD;
    hs_block_fields(&block, header, &from, &end);
    const uint8_t *fields = hs_map_bytes(block.span, address);
    for (uint64_t i = from; i < end; i++) {
        uint64_t value = hs_load_u64(fields + i * HS_WORD);
        if ((value & 1) == 0)
            hs_marker_value(m, value);
    }
    m->is_newest = false;
    if (HS_HEADER_TAG(header) == HS_TAG_CLOSURE && from < end && end >= 2)
        mark_function(m, hs_closure_code(fields, end));
    if (HS_HEADER_TAG(header) == HS_TAG_CONT && m->map->rt->five != NULL)
        mark_fibers(m, address, mark_slot);
}

void hs_marker_drain(struct hs_marker *m)
{
    hs_addr ahead[AHEAD];
    unsigned head = 0, n = 0;

    for (;;) {
        hs_addr next;
        while (n < AHEAD && mark_pop(m, &next)) {
            const struct hs_span *span = hs_map_span(m->map, next);
            __builtin_prefetch(hs_map_bytes(span, next) - HS_WORD);
            ahead[(head + n++) % AHEAD] = next;
        }
        if (n == 0)
            return;
        hs_addr address = ahead[head];
        head = (head + 1) % AHEAD;
        n--;
        mark_scan(m, address);
    }
}

/* Adds a static block to the map, without reaching it. */
static void mark_discover(struct hs_marker *m, uint64_t value)
{
    struct hs_block block;

    if (value % HS_WORD != 0)
        return;
    block.span = NULL;
    if (!hs_map_resolve(m->map, value, &block)) {
        m->marks->n_dangling_garbage += block.span != NULL && (block.span->area == HS_AREA_HEAP ||
                                                               block.span->area == HS_AREA_YOUNG);
        return;
    }
    if (hs_bitmap_get(&m->map->starts, block.bit) || !mark_admits(m, &block))
        return;
    hs_bitmap_set(&m->map->starts, block.bit);
    mark_push(m, &block);
}

static void mark_discover_slot(void *marker, uint64_t value, hs_addr pc)
{
    (void)pc;
    mark_discover(marker, value);
}

static void mark_discover_fields(struct hs_marker *m, const struct hs_block *block)
{
    uint64_t from, end;

    if (block->span->area == HS_AREA_STATIC && hs_ocaml_is_module_block(m->roots, block->address))
        return;
    hs_block_fields(block, hs_block_head(block), &from, &end);
    for (uint64_t i = from; i < end; i++)
        mark_discover(m, hs_load_u64(hs_map_bytes(block->span, block->address) + i * HS_WORD));
    if (m->map->rt->five != NULL && HS_HEADER_TAG(hs_block_head(block)) == HS_TAG_CONT)
        mark_fibers(m, block->address, mark_discover_slot);
}

static void mark_discover_drain(struct hs_marker *m)
{
    hs_addr address;

    while (mark_pop(m, &address)) {
        struct hs_block block = {.span = hs_map_span(m->map, address), .address = address};
        mark_discover_fields(m, &block);
    }
}

static bool mark_is_remnant(const struct hs_marker *m, const struct hs_block *block,
                            uint64_t header)
{
    return m->map->rt->five == NULL && block->span->area == HS_AREA_HEAP &&
           HS_HEADER_TAG(header) == HS_TAG_ABSTRACT && HS_HEADER_COLOUR(header) == HS_WHITE &&
           HS_HEADER_WOSIZE(header) <= REMNANT_MAX_WOSIZE;
}

/* Finds the static targets of blocks that were not reached: they must be nodes too, so that edges
 * have an end. The best-fit free list keeps the small pieces it split off white and abstract
 * (freelist.c bf_split), not blue: unreached and in no list of ephemerons, they are taken out as
 * free. */
static void mark_rest(struct hs_marker *m)
{
    struct hs_bitmap *starts = &m->map->starts;
    size_t next_ephemeron = 0;

    for (size_t i = 0; i < m->map->spans.n; i++) {
        const struct hs_span *span = &m->map->spans.spans[i];
        uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;
        if (span->area != HS_AREA_HEAP && span->area != HS_AREA_YOUNG)
            continue;
        for (uint64_t bit = hs_bitmap_next(starts, span->first_bit); bit < end;
             bit = hs_bitmap_next(starts, bit + 1)) {
            if (hs_bitmap_get(&m->marks->reached, bit))
                continue;
            hs_addr address = span->begin + (bit - span->first_bit) * HS_WORD;
            struct hs_block block = {.span = span, .address = address, .bit = bit};
            while (next_ephemeron < m->marks->n_ephemerons &&
                   m->marks->ephemerons[next_ephemeron].block < address)
                next_ephemeron++;
            bool is_ephemeron = next_ephemeron < m->marks->n_ephemerons &&
                                m->marks->ephemerons[next_ephemeron].block == address;
            uint64_t header = hs_block_head(&block);
            if (!is_ephemeron && mark_is_remnant(m, &block, header)) {
                hs_bitmap_clear(starts, bit);
                m->map->n_free_words += HS_HEADER_WOSIZE(header) + 1;
                m->map->n_live_words -= HS_HEADER_WOSIZE(header) + 1;
                continue;
            }
            mark_discover_fields(m, &block);
            mark_discover_drain(m);
        }
    }
}

/* Finds the static blocks that are weak targets: of ephemerons, and of weak leaves. */
static void mark_discover_weak(struct hs_marker *m)
{
    const struct hs_roots *roots = &m->roots->roots;

    for (size_t i = 0; i < m->marks->n_ephemerons; i++) {
        hs_addr address = m->marks->ephemerons[i].block;
        struct hs_block block = {.span = hs_map_span(m->map, address), .address = address};
        uint64_t wosize = HS_HEADER_WOSIZE(hs_block_head(&block));
        for (uint64_t j = HS_EPHE_DATA; j < wosize; j++) {
            uint64_t value = hs_load_u64(hs_map_bytes(block.span, address) + j * HS_WORD);
            if (value != m->map->rt->ephe_none)
                mark_discover(m, value);
        }
    }
    for (size_t i = 0; i < roots->n_leaves; i++) {
        if (roots->leaves[i].root.weak)
            mark_discover(m, roots->leaves[i].target);
    }
    mark_discover_drain(m);
}

/* Drops static blocks that overlap another: a conservative root may have led to words of static
 * data that only look like a block. Of two that overlap the lower one stays: its fields are what a
 * false one inside it begins with. */
static void mark_drop_overlapping(struct hs_marker *m)
{
    struct hs_bitmap *starts = &m->map->starts;

    for (size_t i = 0; i < m->map->spans.n; i++) {
        const struct hs_span *span = &m->map->spans.spans[i];
        uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD, free = 0;
        if (span->area != HS_AREA_STATIC)
            continue;
        for (uint64_t bit = hs_bitmap_next(starts, span->first_bit); bit < end;
             bit = hs_bitmap_next(starts, bit + 1)) {
            hs_addr address = span->begin + (bit - span->first_bit) * HS_WORD;
            struct hs_block block = {.span = span, .address = address, .bit = bit};
            if (bit <= free) { /* bit - 1 is its header's place */
                hs_bitmap_clear(starts, bit);
                m->n_refused++;
            } else {
                free = bit + HS_HEADER_WOSIZE(hs_block_head(&block));
            }
        }
    }
}

static hs_status mark_report(struct hs_ocaml *rt, const struct hs_ocaml_marks *marks,
                             bool list_is_damaged, struct hs_error *err)
{
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml heap: free blocks reached", 0,
                             marks->n_free_reached, err));
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml heap: reached fields that lead to no block", 0,
                             marks->n_dangling, err));
    if (marks->n_dangling != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "%llu field%s of live blocks lead%s into the heap but to no block",
                                (unsigned long long)marks->n_dangling,
                                marks->n_dangling == 1 ? "" : "s",
                                marks->n_dangling == 1 ? "s" : ""));
    if (rt->five != NULL && marks->n_foreign != 0)
        HS_TRY(
            hs_findings_note(&rt->findings, true, err,
                             "%llu field%s of live blocks lead%s to memory that is not known to be "
                             "OCaml's",
                             (unsigned long long)marks->n_foreign, marks->n_foreign == 1 ? "" : "s",
                             marks->n_foreign == 1 ? "s" : ""));
    if (list_is_damaged)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "the list of ephemerons is damaged: some count as opaque blocks"));
    return HS_OK;
}

static hs_status mark_prepare(struct hs_marker *m, struct hs_error *err)
{
    uint64_t n_starts = 0;
    uint64_t n_static_words = 0;

    for (size_t i = 0; i < m->map->spans.n; i++) {
        const struct hs_span *span = &m->map->spans.spans[i];
        if (span->area == HS_AREA_STATIC || span->area == HS_AREA_ATOM)
            n_static_words += (span->end - span->begin) / HS_WORD;
    }
    for (uint64_t i = 0; i < (m->map->starts.n_bits + 63) / 64; i++)
        n_starts += (uint64_t)__builtin_popcountll(m->map->starts.words[i]);
    m->n_static_words = n_static_words;
    m->stack_capacity = (size_t)(n_starts + n_static_words) + 1;
    if (m->map->is_large) {
        m->stack_capacity = LARGE_STACK;
        m->region = UINT64_MAX;
        HS_TRY(hs_bitmap_init(&m->waiting, m->map->starts.n_bits, err));
        HS_TRY(hs_bitmap_init(&m->groups, m->map->starts.n_bits / 64 + 1, err));
    }
    HS_TRY(HS_PAGES_ALLOC(&m->stack, m->stack_capacity, err));
    return hs_bitmap_init(&m->marks->reached, m->map->starts.n_bits, err);
}

static void mark_roots(struct hs_marker *m, const struct hs_roots *roots, unsigned certainty)
{
    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root *root = &roots->leaves[i].root;
        if (!root->weak && (root->certainty == HS_CONSERVATIVE) == (certainty == HS_CONSERVATIVE))
            hs_marker_value(m, roots->leaves[i].target);
        if (m->n_stack > AHEAD)
            hs_marker_drain(m);
    }
    hs_marker_drain(m);
}

static hs_status mark_all(struct hs_marker *m, struct hs_ocaml *rt, struct hs_error *err)
{
    const struct hs_roots *roots = &m->roots->roots;
    bool list_is_damaged = false;

    HS_TRY(mark_prepare(m, err));
    HS_TRY(hs_ephe_list(rt, m->map, m->marks, &list_is_damaged, err));
    mark_roots(m, roots, HS_EXACT);
    m->is_guessing = true; /* a word that only may be a root can lead to what has died */
    mark_roots(m, roots, HS_CONSERVATIVE);
    m->is_guessing = false;
    HS_TRY(hs_ephe_mark(m, err));
    mark_discover_weak(m);
    mark_rest(m);
    mark_drop_overlapping(m);
    if (m->n_refused != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "%llu values lead to static data that overlaps a block: left out",
                                (unsigned long long)m->n_refused));
    if (m->n_damaged_fibers != 0)
        HS_TRY(
            hs_findings_note(&rt->findings, true, err,
                             "%llu stacks of continuations are damaged: they were not followed to "
                             "their ends",
                             (unsigned long long)m->n_damaged_fibers));
    return mark_report(rt, m->marks, list_is_damaged, err);
}

hs_status hs_ocaml_mark(struct hs_ocaml *rt, struct hs_block_map *map,
                        const struct hs_ocaml_roots *roots, struct hs_ocaml_marks *ret,
                        struct hs_error *err)
{
    struct hs_ocaml_marks marks = {0};
    struct hs_marker marker = {.map = map, .roots = roots, .marks = &marks};
    hs_status status = mark_all(&marker, rt, err);

    hs_pages_free(marker.stack, marker.stack_capacity, sizeof *marker.stack);
    hs_bitmap_fini(&marker.waiting);
    hs_bitmap_fini(&marker.groups);
    hs_bitmap_fini(&marker.watched);
    hs_free(marker.woken);
    if (status != HS_OK)
        hs_ocaml_marks_fini(&marks);
    else
        *ret = marks;
    return status;
}

void hs_ocaml_marks_fini(struct hs_ocaml_marks *marks)
{
    if (marks == NULL)
        return;
    hs_bitmap_fini(&marks->reached);
    hs_dict_fini(&marks->functions);
    hs_free(marks->ephemerons);
    *marks = (struct hs_ocaml_marks){0};
}
