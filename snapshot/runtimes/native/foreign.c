#include "foreign.h"

#include <stdio.h>

#include "base/units.h"
#include "roots.h"

/* A heap below this is as good as none: a library that has a runtime, and nobody uses it. */
#define FOREIGN_LEAST_BYTES ((uint64_t)1 << 20)
enum { FOREIGN_TEXT_BYTES = 256 };

struct foreign_find {
    struct hs_native *native;
    const struct hs_object *runtime; /* borrowed: the binary that has it */
    const char *name;                /* borrowed: of the runtime */
    struct hs_range_set pools;       /* owned: mappings that variables of other binaries have */
    struct hs_error *err;
};

/* Tells whether another allocator that is not read may have taken the memory for the program. */
static bool has_other_heap(const struct hs_dump *dump)
{
    char text[FOREIGN_TEXT_BYTES];

    hs_heaps_recognise(&dump->process, dump->options->rules, hs_heaps_in_use(&dump->heaps), text,
                       sizeof text);
    return text[0] != '\0';
}

/* Tells whether an address is in the data of a binary other than the runtime's, libc's and alike.
 */
static bool is_programs(const struct foreign_find *f, hs_addr at)
{
    const struct hs_objects *objects = &f->native->dump->objects;

    for (size_t i = 0; i < objects->n; i++)
        if (at >= objects->objects[i].begin && at < objects->objects[i].end)
            return &objects->objects[i] != f->runtime && !f->native->of_object[i].is_runtime;
    return false;
}

/* Finds the mappings that are the program's: a variable of it leads to where one begins. */
static hs_status find_pools(struct foreign_find *f)
{
    const struct hs_roots *roots = &f->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        const struct hs_mapping *m = hs_target_mapping_at(&f->native->dump->target, leaf->target);
        if (leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.edge_class == HS_EDGE_EXACT &&
            m != NULL && m->begin == leaf->target && is_programs(f, leaf->root.address))
            HS_TRY(hs_range_set_add(&f->pools, m->begin, m->end, f->err));
    }
    hs_range_set_merge(&f->pools);
    return HS_OK;
}

/* Takes the anonymous mappings that nobody else has. */
static hs_status find_ranges(struct foreign_find *f, uint64_t *ret_bytes)
{
    struct hs_native *native = f->native;
    const struct hs_heap_map *map = &native->dump->heaps.map;
    struct hs_range_set *ranges = &native->foreign.ranges;

    *ret_bytes = 0;
    for (size_t i = 0; i < map->n_spans; i++) {
        const struct hs_heap_span *span = &map->spans[i];
        const struct hs_mapping *m = span->owner == HS_OWNER_MAPPING
                                         ? hs_target_mapping_at(&native->dump->target, span->begin)
                                         : NULL;
        if (m == NULL || m->inode != 0 || m->shared ||
            hs_range_set_find(&f->pools, span->begin) != NULL)
            continue;
        HS_TRY(hs_range_set_add(ranges, span->begin, span->end, f->err));
        *ret_bytes += hs_image_resident_bytes(&native->dump->image, span->begin, span->end);
    }
    hs_range_set_merge(ranges);
    return HS_OK;
}

/* Words of variables and stacks that lead into the heap keep nothing there. */
static void lower_roots(struct hs_native *native)
{
    struct hs_heap_block block;

    for (size_t i = 0; i < native->roots.n_leaves; i++) {
        struct hs_root_leaf *leaf = &native->roots.leaves[i];
        if (leaf->root.tier < HS_TIER_DOUBTFUL &&
            hs_heap_map_resolve(&native->dump->heaps.map, leaf->target, &block) ==
                HS_POINTER_START &&
            hs_native_is_foreign(native, &block))
            hs_root_lower(&leaf->root, HS_TIER_DOUBTFUL, HS_REASON_UNREAD_HEAP);
    }
}

/* Adds a slot of the heap's root for a piece. */
static hs_status add_piece(struct foreign_find *f, const struct hs_heap_span *span,
                           const struct hs_root_leaf *of_heap)
{
    struct hs_root_leaf leaf = *of_heap;

    leaf.root.offset = span->begin - f->native->foreign.ranges.ranges[0].begin;
    HS_TRY(hs_native_name(f->native, &leaf.root.name, f->err, "heap of %.64s+0x%llx", f->name,
                          (unsigned long long)leaf.root.offset));
    return hs_native_add_word(f->native, span->begin, &leaf, 0, f->err);
}

static hs_status add_root(struct foreign_find *f)
{
    struct hs_native *native = f->native;
    const struct hs_heap_map *map = &native->dump->heaps.map;
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_UNCLAIMED,
                                         .certainty = HS_CONSERVATIVE,
                                         .tier = HS_TIER_RUNTIME,
                                         .reason = HS_REASON_UNREAD_MEMORY,
                                         .field = HS_NO_FIELD}};

    HS_TRY(hs_strtab_add(&native->dump->strings, f->runtime->name, &leaf.group_module, f->err));
    HS_TRY(hs_strtab_add(&native->dump->strings, "private mappings", &leaf.group_unit, f->err));
    HS_TRY(hs_native_name(native, &leaf.group_variable, f->err, "heap of %.64s", f->name));
    leaf.root.module = leaf.group_module;
    native->foreign.name = leaf.group_variable;
    for (size_t i = 0; i < map->n_spans; i++)
        if (map->spans[i].owner == HS_OWNER_MAPPING &&
            hs_range_set_find(&native->foreign.ranges, map->spans[i].begin) != NULL)
            HS_TRY(add_piece(f, &map->spans[i], &leaf));
    return HS_OK;
}

static hs_status foreign_run(struct foreign_find *f)
{
    struct hs_native *native = f->native;
    uint64_t n_bytes;

    HS_TRY(find_pools(f));
    HS_TRY(find_ranges(f, &n_bytes));
    if (n_bytes < FOREIGN_LEAST_BYTES) {
        hs_native_foreign_fini(&native->foreign);
        return HS_OK;
    }
    lower_roots(native);
    HS_TRY(add_root(f));
    native->is_blind = true;
    return hs_findings_note(&native->dump->findings, false, f->err,
                            "the heap of %.64s, which is not read, may hold it" HS_NOTE_NOT_CERTAIN,
                            f->name);
}

hs_status hs_native_collect_foreign(struct hs_native *native, struct hs_error *err)
{
    struct foreign_find f = {.native = native, .err = err};

    f.runtime = hs_heaps_runtime(&native->dump->process, native->dump->options->rules,
                                 hs_heaps_in_use(&native->dump->heaps), &f.name);
    if (f.runtime == NULL || has_other_heap(native->dump))
        return HS_OK;
    hs_status status = foreign_run(&f);
    hs_range_set_fini(&f.pools);
    return status;
}

void hs_native_foreign_fini(struct hs_native_foreign *foreign)
{
    hs_range_set_fini(&foreign->ranges);
}
