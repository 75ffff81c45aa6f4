#include "strangers.h"

#include "base/table.h"
#include "calls.h"
#include "moved.h"
#include "rule_lines.h"

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

/* Tells whether it is a value of pthread_setspecific: the only strangers' slots of a thread that
 * count as much as a variable. */
static bool is_key(const struct hs_root_leaf *leaf)
{
    return leaf->is_strangers && leaf->root.kind == HS_ROOT_TLS &&
           leaf->root.tier == HS_TIER_FIRM && leaf->root.edge_class == HS_EDGE_EXACT;
}

static bool is_of_program(const struct hs_root_leaf *leaf)
{
    return !leaf->is_strangers && leaf->root.kind == HS_ROOT_GLOBAL &&
           leaf->root.tier == HS_TIER_FIRM && leaf->root.edge_class == HS_EDGE_EXACT;
}

/* Lowers values of keys that lead where a variable of the program leads, whether debug information
 * describes it or not. Linear in the roots. */
static hs_status lower_keys(struct hs_roots *roots, struct hs_dict *targets, struct hs_error *err)
{
    for (size_t i = 0; i < roots->n_leaves; i++)
        if (is_key(&roots->leaves[i]))
            HS_TRY(hs_dict_put(targets, roots->leaves[i].target, false, err));
    for (size_t i = 0; targets->n != 0 && i < roots->n_leaves; i++) {
        uint64_t *is_programs = is_of_program(&roots->leaves[i])
                                    ? hs_dict_find(targets, roots->leaves[i].target)
                                    : NULL;
        if (is_programs != NULL)
            *is_programs = true;
    }
    for (size_t i = 0; targets->n != 0 && i < roots->n_leaves; i++)
        if (is_key(&roots->leaves[i]) && hs_dict_get(targets, roots->leaves[i].target, false) != 0)
            hs_root_lower(&roots->leaves[i].root, HS_TIER_RUNTIME, HS_REASON_GIVEN_BACK);
    return HS_OK;
}

hs_status hs_scan_find_owners(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_dict targets = {0};

    HS_TRY(hs_moved_find(scan->native, scan->flow, err));
    if (hs_native_asks(scan->native, HS_REASON_GIVEN_BACK)) {
        hs_status status = lower_keys(&scan->native->roots, &targets, err);
        hs_dict_fini(&targets);
        HS_TRY(status);
    }
    if (!knows_program(scan))
        return hs_calls_lend(scan, NULL, err);
    HS_TRY(hs_bitmap_init(&scan->own, scan->native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_calls_lend(scan, &scan->own, err));
    lower(scan);
    return HS_OK;
}
