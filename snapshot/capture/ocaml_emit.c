/* From the block map to the writer's calls. */
#include "ocaml_emit.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ocaml_marker.h"
#include "ocaml_types.h"
#include "snapshot/writer.h"

enum { BLOCKS_PER_TELL = 1 << 16 };

/* The edge from a key of an active ephemeron to its data. */
struct emit_key {
    uint64_t key_bit, data_bit;
};

struct emitter {
    const struct hs_ocaml_emission *work;
    const struct hs_block_map *map;
    struct hs_snap_writer *writer; /* owned */
    struct hs_ocaml_types types;
    uint64_t n_tree;
    struct hs_edge *edges; /* owned */
    size_t n_edges, edges_capacity;
    struct emit_key *keys; /* owned; by key */
    size_t n_keys, keys_capacity;
    size_t next_key, next_ephemeron;
    uint64_t n_done;
};

static hs_node emit_node(const struct emitter *e, uint64_t bit)
{
    return e->n_tree + hs_bitmap_rank(&e->map->starts, bit);
}

static hs_status emit_reserve(struct emitter *e, uint64_t n, struct hs_error *err)
{
    void *array = e->edges;

    if (e->n_edges + n <= e->edges_capacity)
        return HS_OK;
    HS_TRY(hs_grow(&array, &e->edges_capacity, e->n_edges + (size_t)n, sizeof *e->edges, err));
    e->edges = array;
    return HS_OK;
}

static void emit_edge(struct emitter *e, uint64_t bit, uint64_t offset, unsigned edge_class)
{
    assert(e->n_edges < e->edges_capacity);
    e->edges[e->n_edges++] = (struct hs_edge){
        .target = emit_node(e, bit), .offset_words = offset, .edge_class = (uint8_t)edge_class};
}

/* A value that is a known block. */
static bool emit_target(const struct emitter *e, uint64_t value, struct hs_block *ret)
{
    return hs_map_resolve(e->map, value, ret) && hs_bitmap_get(&e->map->starts, ret->bit);
}

static hs_status emit_fields(struct emitter *e, const struct hs_block *block, uint64_t header,
                             struct hs_error *err)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t from, end;
    struct hs_block target;

    hs_block_fields(block, header, &from, &end);
    HS_TRY(emit_reserve(e, end - from, err));
    for (uint64_t i = from; i < end; i++) {
        uint64_t value = hs_load(fields + i * HS_WORD);
        if ((value & 1) == 0 && emit_target(e, value, &target))
            emit_edge(e, target.bit, i, HS_EDGE_EXACT);
    }
    return HS_OK;
}

static hs_status emit_ephemeron(struct emitter *e, const struct hs_block *block, uint64_t header,
                                bool is_active, struct hs_error *err)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t wosize = HS_HEADER_WOSIZE(header);
    struct hs_block target;

    HS_TRY(emit_reserve(e, wosize, err));
    for (uint64_t i = HS_EPHE_DATA; i < wosize; i++) {
        uint64_t value = hs_load(fields + i * HS_WORD);
        if (value == e->map->rt->ephe_none || !emit_target(e, value, &target))
            continue;
        unsigned edge_class = i != HS_EPHE_DATA ? HS_EDGE_WEAK
                              : is_active       ? HS_EDGE_EPHEMERON
                                                : HS_EDGE_EPHEMERON_OFF;
        emit_edge(e, target.bit, i, edge_class);
    }
    return HS_OK;
}

/* The active ephemerons for which this block is a key. */
static hs_status emit_as_key(struct emitter *e, uint64_t bit, struct hs_error *err)
{
    while (e->next_key < e->n_keys && e->keys[e->next_key].key_bit < bit)
        e->next_key++;
    while (e->next_key < e->n_keys && e->keys[e->next_key].key_bit == bit) {
        HS_TRY(emit_reserve(e, 1, err));
        emit_edge(e, e->keys[e->next_key++].data_bit, 0, HS_EDGE_EPHEMERON);
    }
    return HS_OK;
}

static const struct hs_ocaml_ephemeron *emit_find_ephemeron(struct emitter *e, hs_addr address)
{
    const struct hs_ocaml_marks *marks = e->work->marks;

    while (e->next_ephemeron < marks->n_ephemerons &&
           marks->ephemerons[e->next_ephemeron].block < address)
        e->next_ephemeron++;
    return e->next_ephemeron < marks->n_ephemerons &&
                   marks->ephemerons[e->next_ephemeron].block == address
               ? &marks->ephemerons[e->next_ephemeron]
               : NULL;
}

static hs_status emit_block(struct emitter *e, const struct hs_block *block, struct hs_error *err)
{
    uint64_t header = hs_block_head(block);
    const struct hs_ocaml_ephemeron *ephemeron = emit_find_ephemeron(e, block->address);
    struct hs_block_record record = {.address = block->address,
                                     .words = HS_HEADER_WOSIZE(header) + 1};

    if (block->span->area == HS_AREA_YOUNG)
        record.state = HS_BLOCK_YOUNG;
    else if (block->span->area != HS_AREA_HEAP)
        record.state = HS_BLOCK_STATIC;
    HS_TRY(hs_ocaml_type(&e->types, block, header, ephemeron != NULL, &record.type, err));
    e->n_edges = 0;
    if (ephemeron != NULL)
        HS_TRY(emit_ephemeron(e, block, header, ephemeron->is_active, err));
    else if (block->span->area != HS_AREA_STATIC ||
             !hs_ocaml_is_module_block(e->work->roots, block->address))
        HS_TRY(emit_fields(e, block, header, err));
    if (e->next_key < e->n_keys)
        HS_TRY(emit_as_key(e, block->bit, err));
    HS_TRY(hs_snap_writer_block(e->writer, &record, e->edges, e->n_edges, err));
    if (++e->n_done % BLOCKS_PER_TELL == 0)
        HS_TRY(hs_progress_tell(e->work->progress, "writing blocks", e->n_done, e->map->n_blocks,
                                err));
    return HS_OK;
}

static hs_status emit_span(struct emitter *e, const struct hs_span *span, struct hs_error *err)
{
    uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;

    for (uint64_t bit = hs_bitmap_next(&e->map->starts, span->first_bit); bit < end;
         bit = hs_bitmap_next(&e->map->starts, bit + 1)) {
        struct hs_block block = {
            .span = span, .address = span->begin + (bit - span->first_bit) * HS_WORD, .bit = bit};
        HS_TRY(emit_block(e, &block, err));
    }
    return HS_OK;
}

static int emit_key_compare(const void *a, const void *b)
{
    const struct emit_key *x = a, *y = b;
    if (x->key_bit != y->key_bit)
        return x->key_bit < y->key_bit ? -1 : 1;
    return x->data_bit < y->data_bit ? -1 : x->data_bit > y->data_bit;
}

static hs_status emit_list_keys(struct emitter *e, struct hs_error *err)
{
    const struct hs_ocaml_marks *marks = e->work->marks;
    void *array = NULL;

    for (size_t i = 0; i < marks->n_ephemerons; i++) {
        struct hs_block self, data, key;
        if (!marks->ephemerons[i].is_active || !emit_target(e, marks->ephemerons[i].block, &self))
            continue;
        const uint8_t *fields = hs_map_bytes(self.span, self.address);
        uint64_t wosize = HS_HEADER_WOSIZE(hs_block_head(&self));
        uint64_t value = hs_load(fields + HS_EPHE_DATA * HS_WORD);
        if (value == e->map->rt->ephe_none || !emit_target(e, value, &data))
            continue;
        for (uint64_t j = HS_EPHE_FIRST_KEY; j < wosize; j++) {
            if (!hs_ephe_key(e->map, hs_load(fields + j * HS_WORD), &key))
                continue;
            HS_TRY(hs_grow(&array, &e->keys_capacity, e->n_keys + 1, sizeof *e->keys, err));
            e->keys = array;
            e->keys[e->n_keys++] = (struct emit_key){.key_bit = key.bit, .data_bit = data.bit};
        }
    }
    if (e->n_keys > 1)
        qsort(e->keys, e->n_keys, sizeof *e->keys, emit_key_compare);
    return HS_OK;
}

static uint64_t emit_rank(const void *context, hs_addr block)
{
    return hs_block_map_rank(context, block);
}

static hs_status emit_open(struct emitter *e, struct hs_error *err)
{
    const struct hs_ocaml_emission *work = e->work;
    struct hs_rank_of rank_of = {.rank = emit_rank, .context = e->map};
    struct hs_root *tree = NULL;

    HS_TRY(
        hs_roots_finish(&work->roots->roots, work->rt->strings, &rank_of, &tree, &e->n_tree, err));
    hs_status status = hs_snap_writer_new(work->out, work->rt->strings, work->facts, tree,
                                          e->n_tree, e->map->n_blocks, &e->writer, err);
    hs_free(tree);
    return status;
}

static int emit_sample_compare(const void *a, const void *b)
{
    const struct hs_sample *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static hs_status emit_samples(const struct emitter *e, struct hs_sample **ret, struct hs_error *err)
{
    const struct hs_ocaml_roots *roots = e->work->roots;
    void *array;

    HS_TRY(hs_alloc(roots->n_samples, sizeof **ret, &array, err));
    struct hs_sample *samples = array;
    for (size_t i = 0; i < roots->n_samples; i++) {
        uint64_t rank = hs_block_map_rank(e->map, roots->samples[i].block);
        samples[i] = roots->samples[i].sample;
        samples[i].node = rank == HS_NO_NODE ? HS_NO_NODE : e->n_tree + rank;
    }
    if (roots->n_samples > 1)
        qsort(samples, roots->n_samples, sizeof *samples, emit_sample_compare);
    *ret = samples;
    return HS_OK;
}

static hs_status emit_all(struct emitter *e, struct hs_snap_totals *ret, struct hs_error *err)
{
    struct hs_sample *samples = NULL;

    HS_TRY(emit_open(e, err));
    HS_TRY(emit_list_keys(e, err));
    for (size_t i = 0; i < e->map->spans.n; i++)
        HS_TRY(emit_span(e, &e->map->spans.spans[i], err));
    HS_TRY(emit_samples(e, &samples, err));
    const struct hs_snap_ending ending = {
        .types = e->types.types,
        .n_types = e->types.n_types,
        .samples = samples,
        .n_samples = e->work->roots->n_samples,
    };
    hs_status status = hs_snap_writer_finish(e->writer, &ending, ret, err);
    hs_free(samples);
    return status;
}

hs_status hs_ocaml_emit(const struct hs_ocaml_emission *emission, struct hs_snap_totals *ret,
                        struct hs_error *err)
{
    struct emitter e = {.work = emission, .map = emission->map, .types = {.rt = emission->rt}};

    HS_TRY(hs_block_map_index(emission->map, err));
    hs_status status = emit_all(&e, ret, err);
    hs_snap_writer_free(e.writer);
    hs_ocaml_types_fini(&e.types);
    hs_free(e.edges);
    hs_free(e.keys);
    return status;
}
