#include "strangers.h"

#include "calls.h"
#include "moved.h"

/* Tells whether the program has debug information, and no other runtime serves it: those say
 * themselves what they have. */
static bool knows_program(const struct hs_scan *scan)
{
    const struct hs_native *native = scan->native;

    return native->ctypes != NULL && native->dump->objects.n != 0 &&
           native->of_object[0].types != 0 && native->dump->n_listing <= 1 &&
           scan->interpreter.model == NULL;
}

static void lower(struct hs_scan *scan)
{
    struct hs_roots *roots = &scan->native->roots;
    struct hs_heap_block block;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->is_strangers && leaf->root.tier == HS_TIER_FIRM &&
            hs_heap_map_resolve(&scan->native->dump->heaps.map, leaf->target, &block) ==
                HS_POINTER_START &&
            hs_bitmap_get(&scan->own, block.rank))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_OPAQUE_LIBRARY);
    }
}

hs_status hs_scan_find_owners(struct hs_scan *scan, struct hs_error *err)
{
    HS_TRY(hs_moved_find(scan->native, scan->flow, err));
    if (!knows_program(scan))
        return hs_calls_lend(scan, NULL, err);
    HS_TRY(hs_bitmap_init(&scan->own, scan->native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_calls_lend(scan, &scan->own, err));
    lower(scan);
    return HS_OK;
}
