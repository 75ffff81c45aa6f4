/* From the heap map to the writer's calls, in one pass in address order. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/units.h"
#include "emit.h"
#include "mixed.h"
#include "snapshot/writer.h"

enum { WORD = 8, BLOCKS_PER_TELL = 1 << 18, NAME_BYTES = 320 };

struct emitter {
    struct hs_native *native; /* borrowed, as are the three below */
    struct hs_flow *flow;
    struct hs_scan *scan;
    struct hs_native_samples *samples;
    struct hs_snap_writer *writer; /* owned */
    uint64_t n_done;
};

/* "[anon 64 MiB]", or the file that is mapped. */
static hs_status emit_mapping_type(struct hs_native *native, struct hs_flow *flow, hs_addr address,
                                   hs_ntype *ret, struct hs_error *err)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(&native->target, address);
    const char *path = mapping == NULL ? "" : hs_mapping_path(&native->target, mapping);
    char name[NAME_BYTES], size[HS_UNIT_TEXT_BYTES];

    if (mapping == NULL)
        snprintf(name, sizeof name, "[anon]");
    else {
        hs_format_bytes(mapping->end - mapping->begin, size);
        if (path[0] == '\0')
            snprintf(name, sizeof name, "[anon %s]", size);
        else
            snprintf(name, sizeof name, "[%.200s %s]", path, size);
    }
    return hs_native_types_of_name(&flow->types, name, HS_FORM_MAPPING, ret, err);
}

/* What is known of a block without a type: where it is, or its size. */
static hs_status emit_plain_type(struct hs_native *native, struct hs_flow *flow,
                                 const struct hs_heap_block *block, hs_ntype *ret,
                                 struct hs_error *err)
{
    char text[NAME_BYTES];

    if ((block->span->states & HS_BLOCK_MAPPING) != 0)
        return emit_mapping_type(native, flow, block->begin, ret, err);
    hs_str name = hs_heaps_pool_name(&native->heaps, block->span);
    if (name != 0) {
        snprintf(text, sizeof text, "%.300s", hs_strtab_get(&native->strings, name));
        return hs_native_types_of_name(&flow->types, text, HS_FORM_RECORD, ret, err);
    }
    return hs_native_types_of_size(&flow->types, block->n_bytes, ret, err);
}

hs_status hs_native_block_record(struct hs_native *native, struct hs_flow *flow,
                                 const struct hs_heap_block *block, struct hs_block_record *ret,
                                 struct hs_error *err)
{
    hs_ntype type = hs_flow_type(flow, block->rank);

    if (type == 0)
        HS_TRY(emit_plain_type(native, flow, block, &type, err));
    *ret = (struct hs_block_record){
        .address = block->begin, .words = (block->n_bytes + WORD - 1) / WORD, .type = type - 1};
    return HS_OK;
}

static hs_status emit_block(struct emitter *e, const struct hs_heap_block *block,
                            struct hs_error *err)
{
    struct hs_block_record record;

    HS_TRY(hs_native_block_record(e->native, e->flow, block, &record, err));
    HS_TRY(hs_scan_block(e->scan, block, err));
    record.state = e->scan->states;
    HS_TRY(hs_snap_writer_block(e->writer, &record, e->scan->edges, e->scan->n_edges, err));
    if (++e->n_done % BLOCKS_PER_TELL != 0)
        return HS_OK;
    /* The types of what is written are not looked at again. */
    uint64_t first = e->n_done - BLOCKS_PER_TELL;
    hs_pages_discard(e->flow->small + first, BLOCKS_PER_TELL * sizeof *e->flow->small);
    hs_pages_discard(e->flow->large + first, BLOCKS_PER_TELL * sizeof *e->flow->large);
    return hs_progress_tell(e->native->options->progress, "writing blocks", e->n_done,
                            e->native->heaps.map.n_blocks, err);
}

static uint64_t emit_rank(const void *context, hs_addr address)
{
    struct hs_heap_block block;
    return hs_heap_map_resolve(context, address, &block) == HS_POINTER_START ? block.rank
                                                                             : HS_NO_NODE;
}

static hs_status emit_open(struct emitter *e, struct hs_out *out, struct hs_error *err)
{
    struct hs_native *native = e->native;
    struct hs_rank_of rank_of = {.rank = emit_rank, .context = &native->heaps.map};
    struct hs_root *tree = NULL;

    HS_TRY(
        hs_roots_finish(&native->roots, &native->strings, &rank_of, &tree, &e->scan->n_tree, err));
    hs_status status =
        hs_snap_writer_new(out, &native->strings, &native->facts, tree, e->scan->n_tree,
                           native->heaps.map.n_blocks, &e->writer, err);
    hs_free(tree);
    return status;
}

static hs_status emit_finish(struct emitter *e, struct hs_snap_totals *ret, struct hs_error *err)
{
    hs_auto_free struct hs_type *types = NULL;
    hs_auto_free struct hs_member *members = NULL;
    struct hs_snap_ending ending = {.n_types = e->flow->types.n_types};

    HS_TRY(hs_native_types_list(&e->flow->types, &types, err));
    HS_TRY(hs_native_types_members(&e->flow->types, &members, &ending.n_members, err));
    ending.types = types;
    ending.members = members;
    hs_native_samples_place(e->samples, e->scan->n_tree);
    ending.samples = e->samples->samples;
    ending.n_samples = e->samples->n_samples;
    ending.site_frames = e->samples->frames;
    ending.n_site_frames = e->samples->n_frames;
    return hs_snap_writer_finish(e->writer, &ending, ret, err);
}

static hs_status emit_all(struct emitter *e, struct hs_out *out, struct hs_snap_totals *ret,
                          struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &e->native->heaps.map};
    struct hs_heap_block block;

    HS_TRY(emit_open(e, out, err));
    while (hs_heap_map_next(&it, &block))
        HS_TRY(emit_block(e, &block, err));
    return emit_finish(e, ret, err);
}

hs_status hs_native_emit(struct hs_native *native, struct hs_flow *flow, struct hs_scan *scan,
                         struct hs_native_samples *samples, struct hs_out *out,
                         struct hs_snap_totals *ret, struct hs_error *err)
{
    struct emitter e = {.native = native, .flow = flow, .scan = scan, .samples = samples};
    hs_status status = emit_all(&e, out, ret, err);

    hs_snap_writer_free(e.writer);
    return status;
}
