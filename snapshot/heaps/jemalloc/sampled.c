/* Samples of jemalloc's own profiler (prof:true).
 *
 * A sampled block is a large extent of its own, even when it is small, and its edata names the
 * tctx that counts it. Blocks that were freed into a thread cache keep a stale one: they are not
 * live in the map any more. A block is believed when tctx, gctx and backtrace lead to each other as
 * jemalloc lays them out, and the whole list is held against the counters. */
#include <stdlib.h>

#include "base/alloc.h"
#include "prof.h"

enum {
    PROF_MAX_FRAMES = 256,    /* --enable-prof builds: 128; 5.3 can be set to more */
    PROF_MAX_DEPTH = 128,     /* of a red-black tree: twice the logarithm of what memory can hold */
    PROF_MAX_STEPS = 1 << 22, /* nodes of all trees */
};

struct prof_layout {
    uint16_t edata_tctx;
    uint16_t tctx_curobjs, tctx_unbiased, tctx_gctx, tctx_link, tctx_bytes;
    uint16_t gctx_tctxs, gctx_vec, gctx_len, gctx_inline; /* vec points at `inline` */
};

static const struct prof_layout *prof_layout(const struct jemalloc_tree *tree)
{
    static const struct prof_layout of_53 = {80, 32, 56, 96, 112, 136, 16, 104, 112, 120};
    static const struct prof_layout of_52 = {72, 24, 0, 56, 72, 96, 16, 72, 80, 88};

    return tree->is_52 ? &of_52 : &of_53;
}

static const uint8_t *prof_bytes(const struct prof *prof, hs_addr address, size_t n_bytes)
{
    if (address % 8 != 0 || address < JEMALLOC_PAGE || address >= HS_USER_END)
        return NULL;
    return hs_image_bytes(prof->process->image, address, n_bytes);
}

static bool prof_is_code(const struct prof *prof, hs_addr address)
{
    const struct hs_mapping *m = hs_target_mapping_at(prof->process->target, address);
    return m != NULL && m->executable;
}

/* Are the words a backtrace? The innermost frame is jemalloc's own code; further out there may be
 * code that was unmapped since. */
static bool prof_is_backtrace(const struct prof *prof, const uint8_t *frames, uint32_t n)
{
    if (!prof_is_code(prof, hs_load_u64(frames)))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        hs_addr frame = hs_load_u64(frames + 8 * (size_t)i);
        if (frame < JEMALLOC_PAGE || frame >= HS_USER_END)
            return false;
    }
    return true;
}

/* Follows tctx to the backtrace; false when anything on the way is not as jemalloc has it. */
static bool prof_follow(const struct prof *prof, struct prof_block *block)
{
    const struct prof_layout *layout = prof_layout(prof->tree);
    const uint8_t *tctx = prof_bytes(prof, block->tctx, layout->tctx_bytes);

    if (tctx == NULL)
        return false;
    block->gctx = hs_load_u64(tctx + layout->tctx_gctx);
    const uint8_t *gctx = prof_bytes(prof, block->gctx, layout->gctx_inline);
    if (gctx == NULL || hs_load_u64(gctx + layout->gctx_vec) != block->gctx + layout->gctx_inline)
        return false;
    uint64_t n_frames = hs_load_u64(gctx + layout->gctx_len) & UINT32_MAX;
    if (n_frames == 0 || n_frames > PROF_MAX_FRAMES)
        return false;
    block->n_frames = (uint32_t)n_frames;
    block->frames = prof_bytes(prof, block->gctx + layout->gctx_inline, 8 * (size_t)n_frames);
    return block->frames != NULL && prof_is_backtrace(prof, block->frames, block->n_frames);
}

/* The block of an extent, if it lives and is a sample. */
static hs_status prof_look(struct prof *prof, const struct jemalloc_extent *extent,
                           const struct hs_heap_map *map, struct hs_error *err)
{
    struct prof_block block = {0};
    const struct hs_heap_span *span;

    if (extent->kind != JEMALLOC_LARGE)
        return HS_OK;
    block.tctx = hs_load_u64(extent->edata + prof_layout(prof->tree)->edata_tctx);
    if (block.tctx <= 1)
        return HS_OK;
    hs_jemalloc_large(prof->tree, extent, &block.address, &block.usable_bytes);
    span = hs_heap_map_span_at(map, block.address);
    if (span == NULL || span->owner != HS_OWNER_jemalloc || span->begin != block.address ||
        !hs_heap_map_is_set(map, block.address))
        return HS_OK;
    if (!prof_follow(prof, &block)) {
        prof->n_damaged++;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&prof->blocks, &prof->blocks_capacity, prof->n_blocks + 1, err));
    prof->blocks[prof->n_blocks++] = block;
    return HS_OK;
}

static int prof_compare(const void *left, const void *right)
{
    const struct prof_block *a = left, *b = right;

    if (a->gctx != b->gctx)
        return a->gctx < b->gctx ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

/* ---- what the profiler has counted */

/* Adds the counters of every tctx of a gctx: a red-black tree, the colour in the lowest bit of the
 * right link. False when it is not one. */
static bool prof_count(const struct prof *prof, hs_addr gctx, uint64_t *n_steps,
                       struct prof_context *context)
{
    const struct prof_layout *layout = prof_layout(prof->tree);
    const uint8_t *bytes = prof_bytes(prof, gctx, layout->gctx_inline);
    hs_addr stack[PROF_MAX_DEPTH];
    size_t depth = 0;

    if (bytes == NULL)
        return false;
    stack[depth++] = hs_load_u64(bytes + layout->gctx_tctxs);
    while (depth > 0) {
        hs_addr at = stack[--depth];
        if (at == 0)
            continue;
        const uint8_t *tctx = prof_bytes(prof, at, layout->tctx_bytes);
        if (tctx == NULL || hs_load_u64(tctx + layout->tctx_gctx) != gctx ||
            ++*n_steps > PROF_MAX_STEPS || depth + 2 > PROF_MAX_DEPTH)
            return false;
        context->n_counted += hs_load_u64(tctx + layout->tctx_curobjs);
        if (layout->tctx_unbiased != 0)
            context->estimated_bytes += hs_load_u64(tctx + layout->tctx_unbiased);
        stack[depth++] = hs_load_u64(tctx + layout->tctx_link);
        stack[depth++] = hs_load_u64(tctx + layout->tctx_link + 8) & ~UINT64_C(1);
    }
    return true;
}

static hs_status prof_gather_contexts(struct prof *prof, struct hs_error *err)
{
    uint64_t n_steps = 0;

    if (prof->n_blocks > 1)
        qsort(prof->blocks, prof->n_blocks, sizeof *prof->blocks, prof_compare);
    for (size_t i = 0, next; i < prof->n_blocks; i = next) {
        struct prof_context context = {.first = i};
        for (next = i; next < prof->n_blocks && prof->blocks[next].gctx == prof->blocks[i].gctx;)
            next++;
        context.n_blocks = next - i;
        context.is_whole = prof_count(prof, prof->blocks[i].gctx, &n_steps, &context);
        HS_TRY(HS_GROW(&prof->contexts, &prof->contexts_capacity, prof->n_contexts + 1, err));
        prof->contexts[prof->n_contexts++] = context;
    }
    return HS_OK;
}

static hs_status prof_prove(const struct prof *prof, struct hs_error *err)
{
    struct hs_findings *findings = prof->process->findings;
    uint64_t n_agreeing = 0;

    for (size_t i = 0; i < prof->n_contexts; i++)
        n_agreeing +=
            prof->contexts[i].is_whole && prof->contexts[i].n_counted == prof->contexts[i].n_blocks;
    HS_TRY(hs_findings_proof(findings,
                             "jemalloc: backtraces whose samples are as many as its profiler has "
                             "counted",
                             prof->n_contexts, n_agreeing, err));
    if (prof->n_damaged == 0)
        return HS_OK;
    return hs_findings_note(findings, true, err,
                            "jemalloc: %llu blocks are marked as samples, but lead to no "
                            "backtrace: they were left out",
                            (unsigned long long)prof->n_damaged);
}

static hs_status prof_add(struct prof *prof, struct hs_sampled_set *set, struct hs_error *err)
{
    const struct hs_process_copy *process = prof->process;
    struct hs_sampled_by sampler = {.facts = {.kind = HS_SAMPLER_JEMALLOC}};
    uint64_t period_bytes;

    if (process->objects != NULL)
        sampler.own = hs_objects_object_at(process->objects, prof->tree->root);
    HS_TRY(prof_gather_contexts(prof, err));
    HS_TRY(prof_prove(prof, err));
    HS_TRY(hs_prof_period(prof, sampler.own, &period_bytes, err));
    sampler.facts.period_words = (double)period_bytes / HS_WORD_BYTES;
    HS_TRY(hs_sampled_add_sampler(set, &sampler, err));
    for (size_t i = 0; i < prof->n_blocks; i++) {
        const struct prof_block *block = &prof->blocks[i];
        const struct hs_sampled sample = {.address = block->address,
                                          .id = block->address,
                                          .n_bytes = block->usable_bytes,
                                          .n_samples = 1,
                                          .frames = block->frames,
                                          .n_frames = block->n_frames,
                                          .sampler = (uint32_t)(set->n_samplers - 1)};
        HS_TRY(hs_sampled_add(set, &sample, err));
    }
    return HS_OK;
}

static hs_status prof_read(struct prof *prof, const struct hs_heap_map *map,
                           struct hs_sampled_set *set, struct hs_error *err)
{
    for (size_t i = 0; i < prof->tree->n_extents; i++)
        HS_TRY(prof_look(prof, &prof->tree->extents[i], map, err));
    /* without profiling the words are left from something else, and none leads to a backtrace */
    return prof->n_blocks == 0 ? HS_OK : prof_add(prof, set, err);
}

hs_status hs_jemalloc_sampled(const void *state, const struct hs_heap_map *map,
                              const struct hs_process_copy *process, struct hs_sampled_set *set,
                              struct hs_error *err)
{
    size_t n_trees;
    const struct jemalloc_tree *trees = hs_jemalloc_trees(state, &n_trees);
    hs_status status = HS_OK;

    for (size_t i = 0; status == HS_OK && i < n_trees; i++) {
        struct prof prof = {.tree = &trees[i], .process = process};
        status = prof_read(&prof, map, set, err);
        hs_free(prof.blocks);
        hs_free(prof.contexts);
    }
    return status;
}
