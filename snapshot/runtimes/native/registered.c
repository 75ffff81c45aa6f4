/* Ranges that the program registered as roots (include/heapsnap/register.h), and memory that a
 * runtime's heap is in. */

#include <string.h>

#include "roots.h"

/* Adds a word of a "precise" range: a pointer to the start of a block, or none. */
static hs_status add_precise(struct hs_native *native, struct hs_native_variable *v, hs_addr at,
                             uint64_t word, struct hs_error *err)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    if (!hs_native_resolve(native, word, &how, &block) || how != HS_POINTER_START)
        return HS_OK;
    v->leaf.root.certainty = HS_EXACT;
    return hs_native_add_slot(native, v, at - v->begin, at, word, err);
}

static hs_status add_range(struct hs_native *native, const struct hs_registered_root *range,
                           struct hs_error *err)
{
    struct hs_native_variable v = {.begin = range->begin,
                                   .n_bytes = range->end - range->begin,
                                   .is_whole = range->end - range->begin > HS_WORD_BYTES,
                                   .name = range->name};
    struct hs_word_scan scan = hs_native_scan(range->begin, range->end);
    hs_addr at;
    uint64_t word;
    const char *name = hs_strtab_get(&native->dump->strings, range->name);
    HS_TRY(hs_native_name(native, &v.name, err, "%s", name[0] != '\0' ? name : "(unnamed)"));
    hs_native_variable_text(native, &v);
    v.leaf.root.kind = HS_ROOT_REGISTERED;
    v.leaf.root.certainty = HS_CONSERVATIVE;
    v.leaf.root.symbol = v.name;
    HS_TRY(hs_strtab_add(&native->dump->strings, range->object != NULL ? range->object->name : NULL,
                         &v.leaf.group_module, err));
    v.leaf.root.module = v.leaf.group_module;
    HS_TRY(hs_strtab_add(&native->dump->strings, "registered ranges", &v.leaf.group_unit, err));
    while (hs_native_next_word(native, &scan, &at, &word)) {
        if (range->is_precise)
            HS_TRY(add_precise(native, &v, at, word, err));
        else
            HS_TRY(hs_native_add_slot(native, &v, at - v.begin, at, word, err));
    }
    return HS_OK;
}

/* Tells whether the pool's memory is another allocator's, which claimed it first. */
static bool is_claimed_before(const struct hs_native *native, hs_addr at)
{
    hs_str owner = hs_ledger_owner_at(&native->dump->heaps.ledger, at);
    return owner != 0 && strcmp(hs_strtab_get(&native->dump->strings, owner),
                                hs_heap_owner_name(HS_OWNER_registered)) != 0;
}

/* Tells whether the block ends early, where a pool begins, and does not only lie in front of it. In
 * a slab a whole region may, and so may a whole mapping; chunks have the next one's header between
 * them. */
static bool is_cut_at(const struct hs_heap_block *block, hs_addr begin)
{
    if (block->begin + block->n_bytes != begin)
        return false;
    return block->span->form == HS_SPAN_HEADERS || block->n_bytes < block->span->unit_bytes;
}

/* Adds a root for the block of another allocator that a pool lies in: the pool keeps it. The block
 * is cut where the pool begins: pointers into the pool no longer lead to it. */
static hs_status add_around(struct hs_native *native, const struct hs_heap_span *pool,
                            struct hs_error *err)
{
    struct hs_native_variable v = {.begin = pool->begin, .n_bytes = pool->end - pool->begin};
    struct hs_heap_block block;
    enum hs_pointer how;
    if (!is_claimed_before(native, pool->begin) ||
        !hs_native_resolve(native, pool->begin - 1, &how, &block) ||
        !is_cut_at(&block, pool->begin) || block.span->owner == HS_OWNER_registered)
        return HS_OK;
    v.name = hs_heaps_pool_name(&native->dump->heaps, pool);
    hs_native_variable_text(native, &v);
    v.leaf.root.kind = HS_ROOT_REGISTERED;
    v.leaf.root.certainty = HS_EXACT;
    v.leaf.root.symbol = v.name;
    HS_TRY(hs_strtab_add(&native->dump->strings, "registered pools", &v.leaf.group_unit, err));
    return hs_native_add_slot(native, &v, 0, pool->begin, pool->begin - 1, err);
}

/* Adds a root for the block of malloc that a chunk of a collector's heap lies in
 * (caml_alloc_for_heap). Its address stands nowhere but in front of the chunk: the chunk keeps it.
 */
static hs_status add_around_runtime(struct hs_native *native, const struct hs_heap_span *area,
                                    struct hs_error *err)
{
    struct hs_native_variable v = {.begin = area->begin, .n_bytes = area->end - area->begin};
    struct hs_heap_block block;
    enum hs_pointer how;
    if (!hs_native_resolve(native, area->begin - 1, &how, &block) ||
        !is_cut_at(&block, area->begin))
        return HS_OK;
    HS_TRY(hs_strtab_add(&native->dump->strings, "memory of a collector's heap", &v.name, err));
    hs_native_variable_text(native, &v);
    v.leaf.root.kind = HS_ROOT_REGISTERED;
    v.leaf.root.certainty = HS_EXACT;
    v.leaf.root.tier = HS_TIER_RUNTIME;
    v.leaf.root.symbol = v.name;
    HS_TRY(hs_strtab_add(&native->dump->strings, "memory of runtimes", &v.leaf.group_unit, err));
    return hs_native_add_slot(native, &v, 0, area->begin, area->begin - 1, err);
}

hs_status hs_native_collect_registered(struct hs_native *native, struct hs_error *err)
{
    size_t n;
    const struct hs_registered_root *ranges = hs_heaps_roots(&native->dump->heaps, &n);
    for (size_t i = 0; i < n; i++)
        if (ranges[i].begin < ranges[i].end)
            HS_TRY(add_range(native, &ranges[i], err));
    for (size_t i = 0; i < native->dump->heaps.map.n_spans; i++) {
        const struct hs_heap_span *span = &native->dump->heaps.map.spans[i];
        if (span->owner == HS_OWNER_registered)
            HS_TRY(add_around(native, span, err));
        else if (span->owner == HS_OWNER_RUNTIME)
            HS_TRY(add_around_runtime(native, span, err));
    }
    return HS_OK;
}
