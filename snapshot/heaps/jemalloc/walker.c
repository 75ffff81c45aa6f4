/* jemalloc 5.2 and 5.3: its blocks, its free and dirty pages, its own memory. */
#include "base/alloc.h"
#include "region_bits.h"
#include "tree.h"

static const char owner_name[] = "jemalloc";

struct jemalloc {
    const struct hs_process_copy *process; /* borrowed */
    struct jemalloc_tree trees[JEMALLOC_MAX_TREES];
    size_t n_trees;
    uint64_t n_slabs, n_agreeing;    /* slabs whose counter equals their bitmap */
    uint64_t n_allocated, n_missing; /* blocks that the trees show; those no span was found for */
    uint64_t n_live, n_free;         /* regions and large blocks; regions */
};

/* ---- its own memory ---- */

/* Does a block of jemalloc's base allocator begin at `address`? Its size, else 0. The header is
 * {size, next, edata of the unused end}: that end always reaches up to the end of the block
 * (base.c: base_extent_bump_alloc_helper). */
static uint64_t base_block_bytes(const struct hs_image *image, hs_addr address)
{
    const uint64_t unit = UINT64_C(1) << 21;
    const uint8_t *bytes = hs_image_bytes(image, address, 16 + JEMALLOC_EDATA_BYTES);

    if (bytes == NULL)
        return 0;
    uint64_t n_bytes = hs_load_u64(bytes), next = hs_load_u64(bytes + 8);
    uint64_t unused = hs_load_u64(bytes + 24), n_unused = hs_load_u64(bytes + 32);
    if (n_bytes == 0 || n_bytes % unit != 0 || n_bytes >= HS_USER_END - address ||
        next % unit != 0 || next >= HS_USER_END || n_unused > n_bytes - 16 ||
        unused != address + n_bytes - n_unused)
        return 0;
    return n_bytes;
}

static hs_status jemalloc_claim_base(const struct jemalloc *jemalloc, struct hs_ledger *ledger,
                                     struct hs_error *err)
{
    const struct hs_target *target = jemalloc->process->target;
    const uint64_t unit = UINT64_C(1) << 21;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (m->inode != 0 || m->shared || !m->writable || m->end > HS_USER_END)
            continue;
        hs_addr at = (m->begin + unit - 1) & ~(unit - 1), part, part_end;
        while (hs_image_next_present(jemalloc->process->image, at, m->end, &part, &part_end)) {
            if (part != at) { /* a header was written, whatever else was not */
                at = (part + unit - 1) & ~(unit - 1);
                if (at >= part_end)
                    continue;
            }
            uint64_t n_bytes = base_block_bytes(jemalloc->process->image, at);
            if (n_bytes != 0 && n_bytes <= m->end - at)
                HS_TRY(hs_ledger_claim(ledger, owner_name, HS_MEMORY_INTERNAL, at, at + n_bytes, 0,
                                       err));
            at += n_bytes != 0 && n_bytes <= m->end - at ? n_bytes : unit;
        }
    }
    return HS_OK;
}

/* ---- spans and claims ---- */

/* The span of an extent that holds blocks; false for others. */
static bool jemalloc_span(const struct jemalloc_tree *tree, const struct jemalloc_extent *extent,
                          struct hs_heap_span *ret)
{
    if (extent->kind != JEMALLOC_SLAB && extent->kind != JEMALLOC_LARGE)
        return false;
    *ret = (struct hs_heap_span){.begin = extent->begin,
                                 .end = extent->begin + extent->n_pages * JEMALLOC_PAGE,
                                 .unit_bytes = hs_jemalloc_class_bytes(tree, extent->szind),
                                 .tag = extent->szind,
                                 .form = HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_jemalloc};
    if (extent->kind == JEMALLOC_LARGE) {
        hs_jemalloc_large(tree, extent, &ret->begin, &ret->unit_bytes);
        ret->end = ret->begin + ret->unit_bytes;
        ret->form = HS_SPAN_SINGLE;
    }
    return true;
}

/* Claims runs of neighbouring extents as one. */
static hs_status jemalloc_claim_tree(const struct jemalloc_tree *tree, struct hs_ledger *ledger,
                                     struct hs_error *err)
{
    const struct jemalloc_extent *extents = tree->extents;
    size_t i = 0;

    HS_TRY(hs_ledger_claim(ledger, owner_name, HS_MEMORY_INTERNAL, tree->root,
                           tree->root + jemalloc_root_bytes(tree), 0, err));
    while (i < tree->n_extents) {
        hs_addr begin = extents[i].begin, end = begin;
        bool is_damaged = extents[i].kind == JEMALLOC_DAMAGED;
        while (i < tree->n_extents && extents[i].begin == end &&
               (extents[i].kind == JEMALLOC_DAMAGED) == is_damaged)
            end += extents[i++].n_pages * JEMALLOC_PAGE;
        HS_TRY(hs_ledger_claim(ledger, owner_name, is_damaged ? HS_MEMORY_DAMAGED : HS_MEMORY_FREE,
                               begin, end, 0, err));
    }
    return HS_OK;
}

static hs_status jemalloc_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                    struct hs_error *err)
{
    struct jemalloc *jemalloc = state;
    struct hs_heap_span span;

    for (size_t i = 0; i < jemalloc->n_trees; i++) {
        const struct jemalloc_tree *tree = &jemalloc->trees[i];
        HS_TRY(jemalloc_claim_tree(tree, ledger, err));
        for (size_t k = 0; k < tree->n_extents; k++)
            if (jemalloc_span(tree, &tree->extents[k], &span))
                HS_TRY(hs_heap_map_add(map, &span, err));
    }
    return jemalloc_claim_base(jemalloc, ledger, err);
}

/* ---- live bits ---- */

/* The span that was added for an extent; NULL when it was refused, or cut around another one that
 * lies inside. */
static const struct hs_heap_span *jemalloc_own_span(const struct hs_heap_map *map,
                                                    const struct hs_heap_span *expected)
{
    const struct hs_heap_span *found = hs_heap_map_span_at(map, expected->begin);

    return found != NULL && found->begin == expected->begin && found->end == expected->end &&
                   found->owner == HS_OWNER_jemalloc && found->unit_bytes == expected->unit_bytes
               ? found
               : NULL;
}

/* One block of a span that is not there as it was added. */
static hs_status jemalloc_mark_one(struct jemalloc *jemalloc, struct hs_heap_map *map,
                                   struct hs_ledger *ledger, hs_addr begin, uint64_t n_bytes,
                                   struct hs_error *err)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(map, begin);

    if (span == NULL || (span->owner == HS_OWNER_jemalloc && !hs_heap_map_set(map, begin))) {
        jemalloc->n_missing++;
        return HS_OK;
    }
    jemalloc->n_live++; /* or another's pool fills it: its blocks are live then */
    return hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE, HS_MEMORY_LIVE, begin,
                          begin + n_bytes, 0, err);
}

static hs_status jemalloc_mark_slab(struct jemalloc *jemalloc, const struct jemalloc_tree *tree,
                                    const struct jemalloc_extent *extent, struct hs_heap_map *map,
                                    struct hs_ledger *ledger, struct hs_error *err)
{
    uint64_t live[JEMALLOC_BITMAP_WORDS];
    unsigned n = jemalloc_n_regions(tree, extent);
    unsigned n_live = hs_jemalloc_live_regions(extent, n, live);
    struct hs_heap_span expected;

    jemalloc_span(tree, extent, &expected);
    const struct hs_heap_span *span = jemalloc_own_span(map, &expected);
    bool agrees = n - n_live == jemalloc_n_free(tree, extent);
    jemalloc->n_free += n - n_live;
    jemalloc->n_slabs++;
    jemalloc->n_agreeing += agrees;
    jemalloc->n_allocated += n_live;
    jemalloc->process->findings->n_torn += !agrees;
    if (span != NULL) {
        struct hs_region_move move = {owner_name, HS_MEMORY_FREE, HS_MEMORY_LIVE, span->begin,
                                      span->unit_bytes};
        hs_region_bits_set(&map->starts, span->first_bit, live, n);
        jemalloc->n_live += n_live;
        return hs_region_bits_move(ledger, &move, live, n, err);
    }
    for (unsigned i = 0; i < n; i++)
        if ((live[i / 64] >> (i % 64) & 1) != 0)
            HS_TRY(jemalloc_mark_one(jemalloc, map, ledger,
                                     expected.begin + i * expected.unit_bytes, expected.unit_bytes,
                                     err));
    return HS_OK;
}

static hs_status jemalloc_mark_large(struct jemalloc *jemalloc, const struct jemalloc_tree *tree,
                                     const struct jemalloc_extent *extent, struct hs_heap_map *map,
                                     struct hs_ledger *ledger, struct hs_error *err)
{
    hs_addr end = extent->begin + extent->n_pages * JEMALLOC_PAGE;
    struct hs_heap_span expected;

    jemalloc_span(tree, extent, &expected);
    jemalloc->n_allocated++;
    HS_TRY(jemalloc_mark_one(jemalloc, map, ledger, expected.begin, expected.unit_bytes, err));
    if (extent->begin < expected.begin)
        HS_TRY(hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE, HS_MEMORY_INTERNAL, extent->begin,
                              expected.begin, 0, err));
    return expected.end == end ? HS_OK
                               : hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE,
                                                HS_MEMORY_INTERNAL, expected.end, end, 0, err);
}

static hs_status jemalloc_mark_tree(struct jemalloc *jemalloc, const struct jemalloc_tree *tree,
                                    struct hs_heap_map *map, struct hs_ledger *ledger,
                                    struct hs_error *err)
{
    for (size_t i = 0; i < tree->n_extents; i++) {
        const struct jemalloc_extent *extent = &tree->extents[i];
        if (extent->kind == JEMALLOC_SLAB)
            HS_TRY(jemalloc_mark_slab(jemalloc, tree, extent, map, ledger, err));
        else if (extent->kind == JEMALLOC_LARGE)
            HS_TRY(jemalloc_mark_large(jemalloc, tree, extent, map, ledger, err));
        else if (extent->kind == JEMALLOC_UNUSED && extent->state != JEMALLOC_RETAINED)
            HS_TRY(hs_ledger_move(ledger, owner_name, HS_MEMORY_FREE, HS_MEMORY_DIRTY,
                                  extent->begin, extent->begin + extent->n_pages * JEMALLOC_PAGE, 0,
                                  err));
    }
    return HS_OK;
}

static hs_status jemalloc_tell(const struct jemalloc *jemalloc, const struct jemalloc_cached *sum,
                               struct hs_error *err)
{
    struct hs_findings *findings = jemalloc->process->findings;
    uint64_t n_damaged = 0, n_huge_pages = 0;

    for (size_t i = 0; i < jemalloc->n_trees; i++) {
        n_damaged += jemalloc->trees[i].n_damaged;
        n_huge_pages += jemalloc->trees[i].n_huge_pages;
        findings->n_torn += jemalloc->trees[i].n_torn;
    }
    findings->n_torn += sum->n_torn;
    HS_TRY(hs_findings_proof(findings, "jemalloc: slabs whose free count equals their bitmap",
                             jemalloc->n_slabs, jemalloc->n_agreeing, err));
    HS_TRY(hs_findings_proof(findings,
                             "jemalloc: allocated blocks, as live, cached and internal ones",
                             jemalloc->n_allocated, jemalloc->n_live, err));
    if (n_damaged != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "jemalloc: %llu entries of its page map are damaged or half "
                                "written; their memory was left out",
                                (unsigned long long)n_damaged));
    if (jemalloc->n_missing != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "jemalloc: %llu blocks overlap other blocks and were left out",
                                (unsigned long long)jemalloc->n_missing));
    if (sum->n_caches == 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "jemalloc: no thread cache was found; blocks that one holds ready "
                                "count as live"));
    if (n_huge_pages != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "jemalloc: its huge page allocator is in use, whose unused pages "
                                "count as unclaimed mappings"));
    return HS_OK;
}

static hs_status jemalloc_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    struct jemalloc *jemalloc = state;
    struct jemalloc_cached sum = {0};

    jemalloc->n_slabs = jemalloc->n_agreeing = jemalloc->n_allocated = 0;
    jemalloc->n_missing = jemalloc->n_live = jemalloc->n_free = 0;
    for (size_t i = 0; i < jemalloc->n_trees; i++) {
        struct jemalloc_cached found = {0};
        HS_TRY(jemalloc_mark_tree(jemalloc, &jemalloc->trees[i], map, ledger, err));
        HS_TRY(
            hs_jemalloc_caches(jemalloc->process, &jemalloc->trees[i], map, ledger, &found, err));
        sum.n_caches += found.n_caches;
        sum.n_torn += found.n_torn;
    }
    HS_TRY(hs_ledger_set_blocks(ledger, owner_name, HS_MEMORY_FREE, jemalloc->n_free, err));
    return jemalloc_tell(jemalloc, &sum, err);
}

/* ---- the allocator ---- */

static void jemalloc_close(void *state)
{
    struct jemalloc *jemalloc = state;

    if (jemalloc == NULL)
        return;
    for (size_t i = 0; i < JEMALLOC_MAX_TREES; i++)
        hs_jemalloc_tree_fini(&jemalloc->trees[i]);
    hs_free(jemalloc);
}

static hs_status jemalloc_open(const struct hs_process_copy *process, void **ret_state,
                               struct hs_error *err)
{
    struct jemalloc *jemalloc;

    HS_TRY(HS_ALLOC(&jemalloc, 1, err));
    jemalloc->process = process;
    hs_status status = hs_jemalloc_find(process, jemalloc->trees, &jemalloc->n_trees, err);
    for (size_t i = 0; status == HS_OK && i < jemalloc->n_trees; i++)
        status = hs_jemalloc_read_extents(&jemalloc->trees[i], err);
    if (status != HS_OK || jemalloc->n_trees == 0)
        jemalloc_close(jemalloc);
    else
        *ret_state = jemalloc;
    return status;
}

static const char *jemalloc_version(const void *state)
{
    const struct jemalloc *jemalloc = state;
    return jemalloc == NULL || jemalloc->n_trees == 0 ? ""
           : jemalloc->trees[0].is_52                 ? "5.2"
                                                      : "5.3";
}

const struct jemalloc_tree *hs_jemalloc_trees(const void *state, size_t *ret_n)
{
    const struct jemalloc *jemalloc = state;

    *ret_n = jemalloc == NULL ? 0 : jemalloc->n_trees;
    return jemalloc == NULL ? NULL : jemalloc->trees;
}

/* Four sizes between two powers of two, and more. */
static bool jemalloc_may_round(const struct hs_heap_block *block, uint64_t n_bytes)
{
    return block->n_bytes - n_bytes <= n_bytes / 4;
}

const struct hs_allocator hs_allocator_jemalloc = {
    .name = owner_name,
    .open = jemalloc_open,
    .add_spans = jemalloc_add_spans,
    .mark = jemalloc_mark,
    .close = jemalloc_close,
    .version = jemalloc_version,
    .known_as = "jemalloc",
    .library = "libjemalloc",
    .symbols = {"mallctl", "je_mallctl", "_rjem_mallctl"},
    .may_round = jemalloc_may_round,
    .sampled = hs_jemalloc_sampled,
};
