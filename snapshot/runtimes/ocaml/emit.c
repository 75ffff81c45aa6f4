/* Emits the blocks of the block map with their edges. */
#include "emit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "marker.h"
#include "session.h"
#include "snapshot/reader.h"
#include "types.h"
#include "v5/ocaml5.h"

/* The edge from a key of an active ephemeron to its data. */
struct emit_key {
    uint64_t key_bit;
    struct hs_block data;
};

enum { EDGES_PIECE = 1 << 14, EDGES_FREE = 1 << 16, EDGES_PER_PART = 1 << 20 };

struct hs_ocaml_emitter {
    const struct hs_ocaml_session *session; /* borrowed */
    const struct hs_block_map *map;
    struct hs_lambdas lambdas;
    struct hs_ocaml_types types;
    struct hs_edge *edges; /* owned */
    size_t n_edges, edges_capacity;
    uint64_t n_more;       /* edges of the block that may come yet, as far as it is known */
    bool keeps_edges;      /* there is no disk for parts, but memory */
    struct emit_key *keys; /* owned; by key */
    size_t n_keys, keys_capacity;
    size_t next_key, next_ephemeron;
    size_t span;        /* of the next block */
    uint64_t bit;       /* from here on */
    uint64_t own_stack; /* of the continuation that was emitted last: a word for other runtimes */
    struct hs_block next;
    bool has_next; /* it was peeked at */
};

static hs_status emit_grow(struct hs_ocaml_emitter *e, size_t n, bool reserves,
                           struct hs_error *err)
{
    size_t more = e->edges_capacity > n ? e->edges_capacity : n; /* as hs_grow will choose */

    if (reserves)
        HS_TRY(hs_dump_plan_reserve(&e->session->dump->plan, more * sizeof *e->edges,
                                    "the pointers of one block", err));
    return HS_GROW(&e->edges, &e->edges_capacity, e->n_edges + n, err);
}

/* Makes room for n edges. Under a limit, edges beyond the first EDGES_FREE are reserved; of those
 * that have no room, and beyond EDGES_PER_PART, the first go to the writer. */
static hs_status emit_make_room(struct hs_ocaml_emitter *e, size_t n, struct hs_error *err)
{
    struct hs_dump *dump = e->session->dump;
    bool may_part = dump->writer != NULL && hs_budget_left_bytes(dump->plan.budget) != UINT64_MAX;
    hs_status status;

    if (!may_part || e->n_edges + n <= EDGES_FREE)
        return emit_grow(e, n, false, err);
    if (e->keeps_edges || e->n_edges + n <= EDGES_PER_PART) {
        status = emit_grow(e, n, true, err);
        if (status != HS_LIMIT)
            return status;
        *err = (struct hs_error)HS_ERROR_INIT;
    }
    status = hs_snap_writer_part(dump->writer, e->edges, e->n_edges, e->n_more, err);
    if (status == HS_IO && dump->image.paged == NULL && !e->keeps_edges) {
        *err = (struct hs_error)HS_ERROR_INIT;
        e->keeps_edges = true;
        return emit_grow(e, n, true, err);
    }
    HS_TRY(status);
    e->n_edges = 0;
    return n <= e->edges_capacity ? HS_OK : HS_GROW(&e->edges, &e->edges_capacity, n, err);
}

/* Makes sure of room for n more edges, at most EDGES_PIECE. */
static hs_status emit_reserve(struct hs_ocaml_emitter *e, uint64_t n, struct hs_error *err)
{
    assert(n <= EDGES_PIECE);
    return e->n_edges + n <= e->edges_capacity ? HS_OK : emit_make_room(e, (size_t)n, err);
}

static hs_node emit_node(const struct hs_ocaml_emitter *e, hs_addr block, uint64_t rank)
{
    return hs_dump_node(e->session->dump, e->session, block, rank);
}

static void emit_edge(struct hs_ocaml_emitter *e, const struct hs_block *target, uint64_t offset,
                      unsigned edge_class)
{
    assert(e->n_edges < e->edges_capacity);
    uint64_t rank = hs_bitmap_rank(&e->map->starts, target->bit);
    e->edges[e->n_edges++] = (struct hs_edge){.target = emit_node(e, target->address, rank),
                                              .offset_words = offset,
                                              .edge_class = (uint8_t)edge_class};
}

/* Finds the known block that a value leads to; false: it leads to none. */
static bool emit_target(const struct hs_ocaml_emitter *e, uint64_t value, struct hs_block *ret)
{
    return hs_map_resolve(e->map, value, ret) && hs_bitmap_get(&e->map->starts, ret->bit);
}

static hs_status emit_fields(struct hs_ocaml_emitter *e, const struct hs_block *block,
                             uint64_t header, struct hs_error *err)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t from, end;
    struct hs_block target;

    hs_block_fields(block, header, &from, &end);
    for (uint64_t i = from; i < end; i++) {
        e->n_more = end - i;
        if ((i - from) % EDGES_PIECE == 0)
            HS_TRY(emit_reserve(e, end - i < EDGES_PIECE ? end - i : EDGES_PIECE, err));
        uint64_t value = hs_load_u64(fields + i * HS_WORD);
        if ((value & 1) == 0 && emit_target(e, value, &target))
            emit_edge(e, &target, i, HS_EDGE_EXACT);
    }
    return HS_OK;
}

/* OCaml 5: the slots of the stacks that a continuation owns. They are no fields of the block, so
 * all have the offset of the field that leads to the stack. */
struct emit_fibers {
    struct hs_ocaml_emitter *e;
    struct hs_error *err;
    hs_status status;
};

static void emit_slot(void *context, uint64_t value, hs_addr pc)
{
    struct emit_fibers *f = context;
    struct hs_block target;
    (void)pc;

    if ((value & 1) != 0 || f->status != HS_OK || !emit_target(f->e, value, &target))
        return;
    f->status = emit_reserve(f->e, 1, f->err);
    if (f->status == HS_OK)
        emit_edge(f->e, &target, 0, HS_EDGE_EXACT);
}

static hs_status emit_fibers(struct hs_ocaml_emitter *e, hs_addr block, struct hs_error *err)
{
    struct emit_fibers f = {.e = e, .err = err};
    const struct hs_ocaml *rt = e->map->rt;
    size_t n;
    const struct hs_ocaml5_fiber *fibers = hs_ocaml5_fibers_of(rt->five, block, &n);

    for (size_t i = 0; i < n; i++) {
        if (!fibers[i].is_damaged)
            (void)hs_ocaml5_stack_slots(rt, e->session->roots.frames, fibers[i].stack, emit_slot,
                                        &f);
    }
    return f.status;
}

static hs_status emit_ephemeron(struct hs_ocaml_emitter *e, const struct hs_block *block,
                                uint64_t header, bool is_active, struct hs_error *err)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t wosize = HS_HEADER_WOSIZE(header);
    struct hs_block target;

    for (uint64_t i = HS_EPHE_DATA; i < wosize; i++) {
        e->n_more = wosize - i;
        if ((i - HS_EPHE_DATA) % EDGES_PIECE == 0)
            HS_TRY(emit_reserve(e, wosize - i < EDGES_PIECE ? wosize - i : EDGES_PIECE, err));
        uint64_t value = hs_load_u64(fields + i * HS_WORD);
        if (value == e->map->rt->ephe_none || !emit_target(e, value, &target))
            continue;
        unsigned edge_class = i != HS_EPHE_DATA ? HS_EDGE_WEAK
                              : is_active       ? HS_EDGE_EPHEMERON
                                                : HS_EDGE_EPHEMERON_OFF;
        emit_edge(e, &target, i, edge_class);
    }
    return HS_OK;
}

/* Adds edges to the data of the active ephemerons for which this block is a key. */
static hs_status emit_as_key(struct hs_ocaml_emitter *e, uint64_t bit, struct hs_error *err)
{
    while (e->next_key < e->n_keys && e->keys[e->next_key].key_bit < bit)
        e->next_key++;
    while (e->next_key < e->n_keys && e->keys[e->next_key].key_bit == bit) {
        HS_TRY(emit_reserve(e, 1, err));
        emit_edge(e, &e->keys[e->next_key++].data, 0, HS_EDGE_EPHEMERON);
    }
    return HS_OK;
}

static const struct hs_ocaml_ephemeron *emit_find_ephemeron(struct hs_ocaml_emitter *e,
                                                            hs_addr address)
{
    const struct hs_ocaml_marks *marks = &e->session->marks;

    while (e->next_ephemeron < marks->n_ephemerons &&
           marks->ephemerons[e->next_ephemeron].block < address)
        e->next_ephemeron++;
    return e->next_ephemeron < marks->n_ephemerons &&
                   marks->ephemerons[e->next_ephemeron].block == address
               ? &marks->ephemerons[e->next_ephemeron]
               : NULL;
}

/* OCaml 5: the stack of a suspended continuation, which malloc gave; the field has it with a bit
 * set, as no value may look like it (fiber.c). Its parents it leads to itself. */
static void emit_own_stack(struct hs_ocaml_emitter *e, hs_addr block, struct hs_runtime_block *ret)
{
    size_t n;
    const struct hs_ocaml5_fiber *fibers = hs_ocaml5_fibers_of(e->map->rt->five, block, &n);

    if (n == 0 || fibers[0].is_damaged)
        return;
    e->own_stack = fibers[0].stack;
    ret->foreign = (const uint8_t *)&e->own_stack;
    ret->n_foreign_words = 1;
    ret->foreign_offset_words = 0;
}

/* Finds the words without values that C may keep pointers in: custom.h, behind the operations of a
 * custom block; mlvalues.h, all of an abstract one. */
static void emit_foreign(struct hs_ocaml_emitter *e, const struct hs_block *block, uint64_t header,
                         struct hs_runtime_block *ret)
{
    uint64_t wosize = HS_HEADER_WOSIZE(header), first = 0;

    if (HS_HEADER_TAG(header) == HS_TAG_CONT && e->map->rt->five != NULL) {
        emit_own_stack(e, block->address, ret);
        return;
    }
    if (HS_HEADER_TAG(header) == HS_TAG_CUSTOM)
        first = 1;
    else if (HS_HEADER_TAG(header) != HS_TAG_ABSTRACT)
        return;
    if (wosize <= first)
        return;
    ret->foreign = hs_map_bytes(block->span, block->address) + first * HS_WORD;
    ret->n_foreign_words = wosize - first;
    ret->foreign_offset_words = first;
}

/* Tells whether a slot of a weak array or ephemeron leads to something that lives. */
static bool emit_is_alive(const struct hs_ocaml_emitter *e, uint64_t value)
{
    struct hs_block key;

    if (value == e->map->rt->ephe_none)
        return false;
    return !hs_ephe_key(e->map, value, &key) || hs_bitmap_get(&e->session->marks.reached, key.bit);
}

/* Counts the slots of a weak array that lead to something alive, of those it has, and tells whether
 * any does. Of one that was cleared by the collector the array is left, which nobody clears. */
static enum hs_ephe_state emit_weak(const struct hs_ocaml_emitter *e, const struct hs_block *block,
                                    uint64_t header, struct hs_block_record *record)
{
    enum { LEAST_SLOTS = 4 };
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t none = e->map->rt->ephe_none, wosize = HS_HEADER_WOSIZE(header), n_alive = 0;

    for (uint64_t i = HS_EPHE_FIRST_KEY; i < wosize; i++)
        n_alive += emit_is_alive(e, hs_load_u64(fields + i * HS_WORD));
    if (wosize >= HS_EPHE_FIRST_KEY + LEAST_SLOTS &&
        hs_load_u64(fields + HS_EPHE_DATA * HS_WORD) == none) {
        record->is_counted = true;
        record->room = wosize - HS_EPHE_FIRST_KEY;
        record->entries = n_alive;
    }
    return n_alive == 0 && wosize > HS_EPHE_FIRST_KEY ? HS_EPHE_EMPTY : HS_EPHE_ALIVE;
}

static hs_status emit_block(struct hs_ocaml_emitter *e, const struct hs_block *block,
                            struct hs_runtime_block *ret, struct hs_error *err)
{
    uint64_t header = hs_block_head(block);
    const struct hs_ocaml_ephemeron *ephemeron = emit_find_ephemeron(e, block->address);
    struct hs_block_record record = {.address = block->address,
                                     .words = HS_HEADER_WOSIZE(header) + 1};

    if (block->span->area == HS_AREA_YOUNG)
        record.state = HS_BLOCK_YOUNG;
    else if (block->span->area != HS_AREA_HEAP)
        record.state = HS_BLOCK_STATIC;
    /* Beside memory of C, which is lost when nothing leads there, the collector has these. */
    if (e->session->dump->n_listing > 1 && record.state != HS_BLOCK_STATIC &&
        !hs_bitmap_get(&e->session->marks.reached, block->bit))
        record.state |= HS_BLOCK_UNSURE;
    bool is_source = false;
    if (ephemeron == NULL)
        HS_TRY(hs_ocaml_source_type(&e->types, block, header, &record.type, &is_source, err));
    if (is_source)
        HS_TRY(hs_ocaml_source_count(&e->types, block, header, record.type, &record.is_counted,
                                     &record.entries, err));
    record.room = HS_NO_ROOM;
    enum hs_ephe_state state =
        ephemeron != NULL ? emit_weak(e, block, header, &record) : HS_EPHE_NONE;
    if (!is_source)
        HS_TRY(hs_ocaml_type(&e->types, block, header, state, &record.type, err));
    if (HS_HEADER_TAG(header) == HS_TAG_CLOSURE && HS_HEADER_WOSIZE(header) >= 2)
        hs_ocaml_source_captured(&e->types, block, header, record.type);
    *ret = (struct hs_runtime_block){.record = record};
    e->n_edges = 0;
    e->n_more = 0;
    if (ephemeron != NULL)
        HS_TRY(emit_ephemeron(e, block, header, ephemeron->is_active, err));
    else if ((block->span->area != HS_AREA_STATIC && !e->map->rt->is_bytecode) ||
             !hs_ocaml_is_module_block(&e->session->roots, block->address))
        HS_TRY(emit_fields(e, block, header, err));
    if (HS_HEADER_TAG(header) == HS_TAG_CONT && e->map->rt->five != NULL)
        HS_TRY(emit_fibers(e, block->address, err));
    if (ephemeron == NULL)
        emit_foreign(e, block, header, ret);
    if (e->next_key < e->n_keys)
        HS_TRY(emit_as_key(e, block->bit, err));
    ret->edges = e->edges;
    ret->n_edges = e->n_edges;
    return HS_OK;
}

/* Finds the next block of the map, in address order; it is next until its bit is passed. */
static bool emit_find_next(struct hs_ocaml_emitter *e, struct hs_block *ret)
{
    for (; e->span < e->map->spans.n; e->span++) {
        const struct hs_span *span = &e->map->spans.spans[e->span];
        uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;
        uint64_t from = e->bit > span->first_bit ? e->bit : span->first_bit;
        uint64_t bit = hs_bitmap_next(&e->map->starts, from);
        if (bit >= end)
            continue;
        *ret = (struct hs_block){
            .span = span, .address = span->begin + (bit - span->first_bit) * HS_WORD, .bit = bit};
        e->bit = bit;
        return true;
    }
    return false;
}

bool hs_ocaml_emitter_peek(struct hs_ocaml_emitter *e, hs_addr *ret)
{
    e->has_next = emit_find_next(e, &e->next);
    *ret = e->next.address;
    return e->has_next;
}

hs_status hs_ocaml_emitter_next(struct hs_ocaml_emitter *e, struct hs_runtime_block *ret,
                                struct hs_error *err)
{
    const struct hs_block block = e->next;

    assert(e->has_next);
    e->has_next = false;
    e->bit = block.bit + 1;
    return emit_block(e, &block, ret, err);
}

bool hs_ocaml_emitter_next_foreign(struct hs_ocaml_emitter *e, bool of_garbage,
                                   struct hs_runtime_block *ret)
{
    struct hs_block block;

    for (; emit_find_next(e, &block); e->bit = block.bit + 1) {
        *ret = (struct hs_runtime_block){0};
        if (hs_bitmap_get(&e->session->marks.reached, block.bit) == of_garbage)
            continue;
        if (emit_find_ephemeron(e, block.address) == NULL)
            emit_foreign(e, &block, hs_block_head(&block), ret);
        if (ret->n_foreign_words == 0)
            continue;
        e->bit = block.bit + 1;
        return true;
    }
    return false;
}

void hs_ocaml_emitter_rewind(struct hs_ocaml_emitter *e)
{
    e->span = 0;
    e->bit = 0;
    e->next_key = 0;
    e->next_ephemeron = 0;
}

static int emit_key_compare(const void *a, const void *b)
{
    const struct emit_key *x = a, *y = b;
    if (x->key_bit != y->key_bit)
        return x->key_bit < y->key_bit ? -1 : 1;
    return x->data.bit < y->data.bit ? -1 : x->data.bit > y->data.bit;
}

static hs_status emit_list_keys(struct hs_ocaml_emitter *e, struct hs_error *err)
{
    const struct hs_ocaml_marks *marks = &e->session->marks;
    void *array = NULL;

    for (size_t i = 0; i < marks->n_ephemerons; i++) {
        struct hs_block self, data, key;
        if (!marks->ephemerons[i].is_active || !emit_target(e, marks->ephemerons[i].block, &self))
            continue;
        const uint8_t *fields = hs_map_bytes(self.span, self.address);
        uint64_t wosize = HS_HEADER_WOSIZE(hs_block_head(&self));
        uint64_t value = hs_load_u64(fields + HS_EPHE_DATA * HS_WORD);
        if (value == e->map->rt->ephe_none || !emit_target(e, value, &data))
            continue;
        for (uint64_t j = HS_EPHE_FIRST_KEY; j < wosize; j++) {
            if (!hs_ephe_key(e->map, hs_load_u64(fields + j * HS_WORD), &key))
                continue;
            HS_TRY(hs_grow(&array, &e->keys_capacity, e->n_keys + 1, sizeof *e->keys, err));
            e->keys = array;
            e->keys[e->n_keys++] = (struct emit_key){.key_bit = key.bit, .data = data};
        }
    }
    if (e->n_keys > 1)
        qsort(e->keys, e->n_keys, sizeof *e->keys, emit_key_compare);
    return HS_OK;
}

static int emit_sample_compare(const void *a, const void *b)
{
    const struct hs_sample *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

hs_status hs_ocaml_emitter_samples(const struct hs_ocaml_emitter *e, struct hs_runtime_samples *ret,
                                   struct hs_error *err)
{
    const struct hs_ocaml_roots *roots = &e->session->roots;
    struct hs_sample *samples;
    HS_TRY(HS_ALLOC(&samples, roots->n_samples, err));
    for (size_t i = 0; i < roots->n_samples; i++) {
        hs_addr block = roots->samples[i].block;
        uint64_t rank = hs_block_map_rank(e->map, block);
        samples[i] = roots->samples[i].sample;
        samples[i].node = rank == HS_NO_NODE ? HS_NO_NODE : emit_node(e, block, rank);
    }
    if (roots->n_samples > 1)
        qsort(samples, roots->n_samples, sizeof *samples, emit_sample_compare);
    *ret = (struct hs_runtime_samples){.samples = samples,
                                       .n_samples = roots->n_samples,
                                       .frames = roots->site_frames,
                                       .n_frames = roots->n_site_frames};
    return HS_OK;
}

hs_status hs_ocaml_emitter_types(const struct hs_ocaml_emitter *e, struct hs_type_tables *ret,
                                 struct hs_error *err)
{
    struct hs_type_tables made = {.n_types = e->types.n_types};

    HS_TRY(HS_ALLOC(&made.types, e->types.n_types, err));
    if (e->types.n_types != 0)
        memcpy(made.types, e->types.types, e->types.n_types * sizeof *made.types);
    hs_status status = hs_ocaml_source_members(&e->types, &made.members, &made.n_members, err);
    if (status == HS_OK)
        *ret = made;
    else
        hs_free(made.types);
    return status;
}

hs_status hs_ocaml_emitter_new(struct hs_ocaml_session *session, struct hs_ocaml_emitter **ret,
                               struct hs_error *err)
{
    HS_TRY(hs_block_map_index(&session->map, err));
    struct hs_ocaml_emitter *e;
    HS_TRY(HS_ALLOC(&e, 1, err));
    e->session = session;
    e->map = &session->map;
    e->types.rt = &session->rt;
    e->types.map = &session->map;
    e->types.push = &session->push;
    e->types.lambdas = &e->lambdas;
    e->types.frames = session->roots.frames;
    hs_status status = hs_lambdas_find(&session->rt, session->roots.frames,
                                       &session->marks.functions, &e->lambdas, err);
    if (status == HS_OK)
        status = emit_list_keys(e, err);
    if (status != HS_OK)
        hs_ocaml_emitter_free(e);
    else
        *ret = e;
    return status;
}

void hs_ocaml_emitter_free(struct hs_ocaml_emitter *e)
{
    if (e == NULL)
        return;
    hs_ocaml_types_fini(&e->types);
    hs_lambdas_fini(&e->lambdas);
    hs_free(e->edges);
    hs_free(e->keys);
    hs_free(e);
}
