#include "firm.h"

#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "flow.h"
#include "owned.h"
#include "roots.h"
#include "verdict.h"

enum { WORD = 8 };

static hs_status firm_note(struct hs_firm_news *news, const struct hs_heap_block *block,
                           struct hs_error *err)
{
    news->n_bytes += block->n_bytes;
    news->is_more |= news->n == HS_FIRM_NEWS;
    if (news->is_more)
        return HS_OK;
    HS_TRY(HS_GROW(&news->ranks, &news->capacity, news->n + 1, err));
    news->ranks[news->n++] = block->rank;
    return HS_OK;
}

static hs_status firm_block(struct hs_firm *f, const struct hs_heap_block *from,
                            const struct hs_heap_block *to, struct hs_error *err)
{
    if (f->is_within && (from->rank == to->rank || !hs_owned_together(f->scan, from, to)))
        return HS_OK;
    if (hs_bitmap_get(f->marks, to->rank) ||
        (f->besides != NULL && hs_bitmap_get(f->besides, to->rank)))
        return HS_OK;
    hs_bitmap_set(f->marks, to->rank);
    f->n_bytes += to->n_bytes;
    if (f->news != NULL && (f->beyond == NULL || !hs_bitmap_get(f->beyond->marks, to->rank)))
        HS_TRY(firm_note(f->news, to, err));
    if (to->bytes == NULL || f->is_still)
        return HS_OK;
    return hs_block_queue_push(&f->queue, to, err);
}

static bool firm_is_firm(const struct hs_firm *f, const struct hs_heap_block *from,
                         const struct hs_heap_block *to, unsigned edge_class)
{
    return hs_edge_tier(edge_class) < HS_TIER_DOUBTFUL &&
           !hs_owned_is_borrowed(f->scan, from, to) && !hs_scan_is_strangers(f->scan, from, to);
}

/* Tells whether the word at `at` is a pointer to what is described nowhere, and nothing is known of
 * what it leads to. */
static bool firm_is_handle(const struct hs_firm *f, const struct hs_native_type *type, uint64_t at,
                           const struct hs_heap_block *to)
{
    if (!f->is_own || type == NULL || type->n_slots == 0 ||
        hs_flow_type(f->scan->flow, to->rank) != 0)
        return false;
    const struct hs_cslot *slot = hs_said_slot(type, at % type->n_bytes);
    return slot != NULL && hs_native_is_handle(f->scan->native, slot->pointee);
}

/* Follows a word to a block that it keeps; behind a handle the walk `beyond` goes on, if there is
 * one. */
static hs_status firm_follow(struct hs_firm *f, const struct hs_native_type *type, uint64_t at,
                             const struct hs_heap_block *from, const struct hs_heap_block *to,
                             struct hs_error *err)
{
    if (!firm_is_handle(f, type, at, to))
        return firm_block(f, from, to, err);
    return f->beyond == NULL ? HS_OK : firm_block(f->beyond, from, to, err);
}

/* Follows a block's references other than by its words: by distances, and by its owner. */
static hs_status firm_beyond_words(struct hs_firm *f, const struct hs_heap_block *block,
                                   struct hs_error *err)
{
    struct hs_heap_block target;

    for (uint64_t word = 0; hs_scan_next_by_distance(f->scan, block, &word, &target);)
        HS_TRY(firm_block(f, block, &target, err));
    for (struct hs_owned_walk walk = {0}; hs_owned_next(f->scan, block, &walk, &target);)
        HS_TRY(firm_block(f, block, &target, err));
    return HS_OK;
}

static hs_status firm_words(struct hs_firm *f, const struct hs_heap_block *block,
                            struct hs_error *err)
{
    const struct hs_scan *scan = f->scan;
    const struct hs_said *said = scan->said;
    const struct hs_object_words *words = &said->words;
    struct hs_heap_block target;

    hs_scan_said(scan, hs_scan_type(scan, block), block, ~HS_RULES_OF_NAMES, scan->said);
    for (uint64_t at = 0; at + WORD <= block->n_bytes; at += WORD) {
        at = hs_flow_touched(scan->native, block, at);
        if (at + WORD > block->n_bytes ||
            hs_scan_passes_over(words, words->links | words->weak, at))
            continue;
        enum hs_pointer how = hs_flow_resolve(
            scan->native, hs_object_address(words, at / WORD, hs_load_u64(block->bytes + at)),
            &target);
        if (how != HS_POINTER_NONE &&
            hs_edge_is_sure(hs_verdict_of(said, at, how, &target).edge_class))
            HS_TRY(firm_follow(f, said->type, at, block, &target, err));
    }
    return firm_beyond_words(f, block, err);
}

/* Follows a pointer of the type at an offset that is no multiple of 8. */
static hs_status firm_packed_word(struct hs_scan *scan, void *with,
                                  const struct hs_heap_block *block, uint64_t at,
                                  struct hs_error *err)
{
    struct hs_firm *f = with;
    struct hs_heap_block target;
    enum hs_pointer how = hs_flow_resolve(scan->native, hs_load_u64(block->bytes + at), &target);

    return how == HS_POINTER_NONE || !firm_is_firm(f, block, &target, hs_scan_class(how))
               ? HS_OK
               : firm_block(f, block, &target, err);
}

hs_status hs_firm_add(struct hs_firm *f, const struct hs_root_leaf *leaf, struct hs_error *err)
{
    struct hs_heap_block block;

    if (leaf->root.weak || leaf->root.tier == HS_TIER_DOUBTFUL ||
        hs_heap_map_resolve(&f->scan->native->dump->heaps.map, leaf->target, &block) !=
            HS_POINTER_START)
        return HS_OK;
    if (f->is_own && leaf->is_strangers)
        return HS_OK;
    if (f->is_own && leaf->is_handle && hs_flow_type(f->scan->flow, block.rank) == 0)
        return f->beyond == NULL ? HS_OK : firm_block(f->beyond, &block, &block, err);
    return firm_block(f, &block, &block, err);
}

hs_status hs_firm_take(struct hs_firm *f, const struct hs_heap_block *block, struct hs_error *err)
{
    return firm_block(f, block, block, err);
}

static hs_status firm_roots(struct hs_firm *f, struct hs_error *err)
{
    const struct hs_roots *roots = &f->scan->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++)
        HS_TRY(hs_firm_add(f, &roots->leaves[i], err));
    return HS_OK;
}

/* Counts the blocks' sizes by type first: edges are judged by them, as when they are written. */
static void firm_sizes(struct hs_scan *scan)
{
    struct hs_heap_iterator it = {.map = &scan->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        if ((block.span->states & HS_BLOCK_STATIC) == 0)
            hs_scan_count_size(scan, &block);
}

/* Follows one block's words, unless roots stand for these. */
static hs_status firm_visit(struct hs_firm *f, struct hs_heap_block block, struct hs_error *err)
{
    if (block.bytes == NULL || block.n_bytes < WORD ||
        hs_native_is_root_memory(f->scan->native, &block))
        return HS_OK;
    const struct hs_native_type *type = hs_scan_type(f->scan, &block);
    hs_scan_cut(f->scan, &block);
    HS_TRY(firm_words(f, &block, err));
    return type != NULL && type->has_unaligned
               ? hs_scan_packed(f->scan, &block, type, firm_packed_word, f, err)
               : HS_OK;
}

hs_status hs_firm_drain(struct hs_firm *f, struct hs_error *err)
{
    struct hs_heap_block block;

    /* A block is looked up when it is popped, not at each edge to it: in a large heap it then
     * mostly stands near the one before. */
    while (hs_block_queue_pop(&f->queue, &block))
        if (!f->is_below_names || hs_scan_is_known(f->scan, &block))
            HS_TRY(firm_visit(f, block, err));
    return HS_OK;
}

hs_status hs_firm_open(struct hs_firm *f, struct hs_scan *scan, struct hs_bitmap *marks,
                       struct hs_error *err)
{
    *f = (struct hs_firm){.scan = scan, .marks = marks};
    HS_TRY(hs_block_queue_init(&f->queue, &scan->native->dump->heaps.map, HS_QUEUE_BLOCKS, err));
    if (scan->native->is_large)
        hs_block_queue_go_by_region(&f->queue);
    firm_sizes(scan);
    return HS_OK;
}

void hs_firm_close(struct hs_firm *f)
{
    hs_block_queue_fini(&f->queue);
    memset(f->scan->sizes, 0, f->scan->flow->types.n_types * sizeof *f->scan->sizes);
}

hs_status hs_firm_open_beyond(struct hs_firm *beyond, struct hs_firm *firm, struct hs_bitmap *marks,
                              struct hs_error *err)
{
    *beyond = (struct hs_firm){.scan = firm->scan, .marks = marks, .besides = firm->marks};
    HS_TRY(hs_block_queue_init(&beyond->queue, &firm->scan->native->dump->heaps.map,
                               HS_QUEUE_BLOCKS, err));
    if (firm->scan->native->is_large)
        hs_block_queue_go_by_region(&beyond->queue);
    firm->beyond = beyond;
    return HS_OK;
}

void hs_firm_close_beyond(struct hs_firm *beyond, struct hs_firm *firm)
{
    hs_block_queue_fini(&beyond->queue);
    firm->beyond = NULL;
}

hs_status hs_scan_mark_firm(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_firm f;

    HS_TRY(hs_bitmap_init(&scan->firm, scan->native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_firm_open(&f, scan, &scan->firm, err));
    hs_status status = firm_roots(&f, err);
    if (status == HS_OK)
        status = hs_firm_drain(&f, err);
    hs_firm_close(&f);
    return status;
}

/* ---- what names reach */

static hs_status firm_from_names(struct hs_firm *f, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->scan->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        if (hs_bitmap_get(f->scan->named, block.rank))
            HS_TRY(firm_block(f, &block, &block, err));
    return hs_firm_drain(f, err);
}

hs_status hs_scan_mark_below_names(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_firm f;

    if (!scan->native->is_interpreter || scan->named == NULL)
        return HS_OK;
    HS_TRY(hs_bitmap_init(&scan->below_names, scan->native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_firm_open(&f, scan, &scan->below_names, err));
    f.is_below_names = true;
    hs_status status = firm_from_names(&f, err);
    hs_firm_close(&f);
    return status;
}

/* ---- entries */

static bool is_owned(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    return hs_heaps_owner(&scan->native->dump->heaps, block) != 0;
}

/* Marks the blocks that another block of the same owner leads to. */
static hs_status find_inner(struct hs_firm *f, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->scan->native->dump->heaps.map};
    struct hs_heap_block block;

    f->is_still = true;
    while (hs_heap_map_next(&it, &block))
        if (is_owned(f->scan, &block))
            HS_TRY(firm_visit(f, block, err));
    return HS_OK;
}

static hs_status add_entry(struct hs_firm *f, const struct hs_heap_block *block,
                           struct hs_error *err)
{
    hs_bitmap_set(&f->scan->entries, block->rank);
    hs_bitmap_set(f->marks, block->rank);
    return block->bytes == NULL ? HS_OK : hs_block_queue_push(&f->queue, block, err);
}

/* Makes entries of the blocks that no other of their owner leads to, whatever their order. */
static hs_status add_outer(struct hs_firm *f, const struct hs_bitmap *inner, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->scan->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        if (is_owned(f->scan, &block) && !hs_bitmap_get(inner, block.rank))
            HS_TRY(add_entry(f, &block, err));
    return hs_firm_drain(f, err);
}

/* Makes an entry of the first block of each cycle that no entry leads to. */
static hs_status add_circles(struct hs_firm *f, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->scan->native->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        if (!is_owned(f->scan, &block) || hs_bitmap_get(f->marks, block.rank))
            continue;
        HS_TRY(add_entry(f, &block, err));
        HS_TRY(hs_firm_drain(f, err));
    }
    return HS_OK;
}

static hs_status find_entries(struct hs_firm *f, struct hs_bitmap *inner, struct hs_bitmap *held,
                              struct hs_error *err)
{
    uint64_t n_blocks = f->scan->native->dump->heaps.map.n_blocks;

    f->is_within = true;
    HS_TRY(hs_bitmap_init(inner, n_blocks, err));
    HS_TRY(hs_bitmap_init(held, n_blocks, err));
    f->marks = inner;
    HS_TRY(find_inner(f, err));
    f->marks = held;
    f->is_still = false;
    HS_TRY(add_outer(f, inner, err));
    return add_circles(f, err);
}

hs_status hs_scan_find_owned(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_bitmap inner = {0}, held = {0};
    struct hs_firm f;

    if (!hs_heaps_have_owners(&scan->native->dump->heaps))
        return HS_OK;
    HS_TRY(hs_bitmap_init(&scan->entries, scan->native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_firm_open(&f, scan, NULL, err));
    hs_status status = find_entries(&f, &inner, &held, err);
    hs_bitmap_fini(&inner);
    hs_bitmap_fini(&held);
    hs_firm_close(&f);
    return status;
}
