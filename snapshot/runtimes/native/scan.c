#include "scan.h"

#include "agree.h"
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "disguise.h"
#include "flow.h"
#include "owned.h"
#include "verdict.h"

enum { WORD = 8 };
/* The edges for which memory is taken at a time, of which the first is free, and the most that are
 * in memory. */
enum { EDGES_STEP = 1 << 16, EDGES_PER_PART = 1 << 20 };
/* The largest light block: its edges take no more than the first step. */
enum { LIGHT_BYTES = 1 << 14 };
#define EDGES_STEP_BYTES (EDGES_STEP * sizeof(struct hs_edge))

void hs_scan_close(struct hs_scan *scan)
{
    if (scan == NULL)
        return;
    hs_bitmap_fini(&scan->reached);
    hs_bitmap_fini(&scan->firm);
    hs_bitmap_fini(&scan->by_start);
    hs_bitmap_fini(&scan->unsure);
    hs_bitmap_fini(&scan->leaked);
    hs_bitmap_fini(&scan->below_names);
    hs_bitmap_fini(&scan->entries);
    hs_bitmap_fini(&scan->own);
    hs_bitmap_fini(&scan->visits);
    hs_block_queue_fini(&scan->queue);
    hs_dict_fini(&scan->repeated);
    hs_slack_fini(&scan->slack);
    hs_pages_free(scan->edges, scan->edges_capacity, sizeof *scan->edges);
    hs_free(scan->sizes);
    hs_free(scan->disguise);
    hs_free(scan->said);
    *scan = (struct hs_scan){0};
}

const struct hs_object_words hs_scan_bare_words = {.n_owning = UINT64_MAX};

/* Tells whether a block is not reached, but not lost for certain either. */
static inline bool scan_is_unsure(const struct hs_scan *scan, uint64_t rank)
{
    return scan->has_unsure && hs_bitmap_get(&scan->unsure, rank);
}

const struct hs_native_type *hs_scan_type(const struct hs_scan *scan,
                                          const struct hs_heap_block *block)
{
    hs_ntype number = hs_flow_type(scan->flow, block->rank);

    if (number == 0)
        return NULL;
    const struct hs_native_type *type = hs_native_type_of(&scan->flow->types, number);
    bool is_known = type->ctype != 0 || type->is_plain || type->is_sized || type->is_dynamic;
    return is_known && !type->is_memory ? type : NULL;
}

hs_status hs_scan_packed(struct hs_scan *scan, const struct hs_heap_block *block,
                         const struct hs_native_type *type, hs_scan_visit *visit, void *with,
                         struct hs_error *err)
{
    uint64_t n = type->is_array ? block->n_bytes / type->n_bytes : 1;

    for (uint64_t i = 0; i < n; i++) {
        for (size_t j = 0; j < type->n_slots; j++) {
            uint64_t at = i * type->n_bytes + type->slots[j].offset_bytes;
            if (at % WORD != 0 && at <= block->n_bytes - WORD)
                HS_TRY(visit(scan, with, block, at, err));
        }
    }
    return HS_OK;
}

bool hs_scan_next_by_distance(const struct hs_scan *scan, const struct hs_heap_block *block,
                              uint64_t *word, struct hs_heap_block *ret)
{
    if (!scan->native->dump->heaps.has_distances)
        return false;
    const struct hs_distances distances = hs_heaps_distances(&scan->native->dump->heaps, block);
    uint64_t end = (uint64_t)distances.first_word + distances.n_words;

    if (*word < distances.first_word)
        *word = distances.first_word;
    while (*word < end) {
        uint64_t distance = hs_load_u64(block->bytes + (*word)++ * WORD);
        if (hs_heap_map_resolve(&scan->native->dump->heaps.map, block->begin + distance, ret) ==
            HS_POINTER_START)
            return true;
    }
    return false;
}

/* Tells whether a block is a record of a collector's own, whose first word is the address of a
 * registered root. */
static bool scan_is_record(const struct hs_scan *scan, hs_addr block)
{
    if (scan->n_records == 0)
        return false;
    size_t low = HS_FIRST_NOT(at, 0, scan->n_records, scan->records[at] < block);
    return low < scan->n_records && scan->records[low] == block;
}

/* Finds the words that a Python object owns, or those known of any block; false when it holds no
 * such object. */
static inline bool scan_object(const struct hs_scan *scan, const struct hs_heap_block *block,
                               struct hs_object_words *ret)
{
    *ret = (struct hs_object_words){.n_owning = UINT64_MAX};
    if (scan->has_owners) {
        ret->doubtful = hs_heaps_links(&scan->native->dump->heaps, block);
        ret->weak = hs_heaps_finds(&scan->native->dump->heaps, block);
        ret->cleared = hs_heaps_cleared(&scan->native->dump->heaps, block);
    }
    if (scan_is_record(scan, block->begin)) {
        ret->weak = 1;
        return false;
    }
    return scan->interpreter.model != NULL &&
           (scan->interpreter.model->knows_parts || hs_flow_type(scan->flow, block->rank) != 0) &&
           scan->interpreter.model->words(scan->interpreter.state, block, ret);
}

/* Tells whether all pointers of a block are known, each at its place. */
static inline bool scan_is_exact(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    struct hs_object_words words;
    return scan->interpreter.model != NULL && scan_object(scan, block, &words) && words.is_exact;
}

bool hs_scan_is_known(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    struct hs_object_words words;
    hs_ntype number = hs_flow_type(scan->flow, block->rank);

    if (scan_object(scan, block, &words))
        return !words.is_plain;
    if (number == 0 || scan->below_names.n_bits == 0 ||
        !hs_bitmap_get(&scan->below_names, block->rank))
        return false;
    const struct hs_native_type *type = hs_native_type_of(&scan->flow->types, number);
    return type->is_own_word || type->is_storage || (type->ctype != 0 && !type->is_memory);
}

void hs_scan_said(const struct hs_scan *scan, const struct hs_native_type *type,
                  const struct hs_heap_block *block, uint32_t among, struct hs_said *ret)
{
    if (scan->is_bare && type == NULL && hs_said_is_bare(scan, block, ret)) {
        ret->rules = hs_verdict_rules(ret, among);
        return;
    }
    *ret = (struct hs_said){0};
    ret->is_object = scan_object(scan, block, &ret->words);
    ret->is_record = scan_is_record(scan, block->begin);
    ret->is_unknown = scan->below_names.n_bits != 0 && !hs_scan_is_known(scan, block);
    hs_said_of(scan, type, block, ret);
    ret->rules = hs_verdict_rules(ret, among);
}

void hs_scan_cut(const struct hs_scan *scan, struct hs_heap_block *block)
{
    struct hs_object_words words;

    if (scan->interpreter.model != NULL && scan_object(scan, block, &words) &&
        words.n_owning < block->n_bytes / WORD)
        block->n_bytes = words.n_owning * WORD;
}

bool hs_scan_object_words(const struct hs_scan *scan, const struct hs_heap_block *block,
                          struct hs_object_words *ret)
{
    return scan_object(scan, block, ret);
}

void hs_scan_count_size(struct hs_scan *scan, const struct hs_heap_block *block)
{
    const struct hs_native_type *type = hs_scan_type(scan, block);

    if (type == NULL || type->is_array || type->n_bytes == 0 || type->n_bytes > block->n_bytes)
        return;
    struct hs_scan_sizes *sizes = &scan->sizes[hs_flow_type(scan->flow, block->rank) - 1];
    bool is_tight = hs_said_is_tight(block, type->n_bytes);
    sizes->n_tight += is_tight;
    sizes->n_wide += !is_tight;
    sizes->n_least += !is_tight && hs_native_is_least(block);
}

void hs_scan_count_block(struct hs_scan *scan, const struct hs_heap_block *block)
{
    if ((block->span->states & HS_BLOCK_STATIC) != 0)
        return;
    hs_scan_count_size(scan, block);
    scan->n_interior_only +=
        hs_bitmap_get(&scan->reached, block->rank) && !hs_bitmap_get(&scan->by_start, block->rank);
}

/* Counts blocks for the notes: the sizes of their types, those reached by their middle only, and
 * lost ones. */
static void mark_count(struct hs_scan *scan)
{
    const struct hs_heap_map *map = &scan->native->dump->heaps.map;
    struct hs_heap_iterator it = {.map = map};
    struct hs_heap_block block;

    while (!scan->is_counted && hs_heap_map_next(&it, &block))
        hs_scan_count_block(scan, &block);
    for (it = (struct hs_heap_iterator){.map = map}; hs_scan_next_lost(scan, &it, &block);)
        scan->n_unreached++;
}

hs_status hs_scan_begin(struct hs_scan *scan, struct hs_native *native, const struct hs_flow *flow,
                        struct hs_error *err)
{
    *scan = (struct hs_scan){.native = native,
                             .flow = flow,
                             .rules = hs_verdict_without(native->dump->options->reasons_off),
                             .interpreter = hs_dump_interpreter(native->dump)};
    if (scan->interpreter.model != NULL && scan->interpreter.model->named != NULL)
        scan->named = scan->interpreter.model->named(scan->interpreter.state);
    scan->has_owners = hs_heaps_have_owners(&native->dump->heaps);
    scan->records = hs_dump_records(native->dump, native, &scan->n_records);
    scan->is_bare = scan->interpreter.model == NULL && !scan->has_owners && scan->n_records == 0;
    HS_TRY(HS_ALLOC(&scan->said, 1, err));
    HS_TRY(HS_ALLOC(&scan->sizes, flow->types.n_types, err));
    for (size_t i = 0; i < flow->types.n_types; i++)
        scan->any_packed |= flow->types.types[i].has_unaligned;
    HS_TRY(hs_bitmap_init(&scan->reached, native->dump->heaps.map.n_blocks, err));
    scan->marks = &scan->reached;
    HS_TRY(hs_slack_init(&scan->slack, err));
    HS_TRY(hs_bitmap_init(&scan->by_start, native->dump->heaps.map.n_blocks, err));
    scan->has_unsure = scan->interpreter.model != NULL || native->has_signal_stacks;
    if (scan->has_unsure)
        HS_TRY(hs_bitmap_init(&scan->unsure, native->dump->heaps.map.n_blocks, err));
    HS_TRY(hs_block_queue_init(&scan->queue, &native->dump->heaps.map, HS_QUEUE_BLOCKS, err));
    if (native->is_large)
        hs_block_queue_go_by_region(&scan->queue);
    return HS_OK;
}

bool hs_scan_is_lost(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    return (block->span->states & HS_BLOCK_STATIC) == 0 &&
           !hs_bitmap_get(&scan->reached, block->rank) && !scan_is_unsure(scan, block->rank);
}

/* Finds the first block from `rank` on that is not marked in `reached`, nor in `unsure` where that
 * is not NULL: the rest is passed over by 64. */
static uint64_t scan_next_unmarked(const struct hs_scan *scan, const struct hs_bitmap *unsure,
                                   uint64_t rank)
{
    const uint64_t n_bits = scan->reached.n_bits;
    uint64_t mask = UINT64_MAX << (rank % 64);

    for (uint64_t word = rank / 64; word * 64 < n_bits; word++, mask = UINT64_MAX) {
        uint64_t marked = scan->reached.words[word] | (unsure != NULL ? unsure->words[word] : 0);
        uint64_t bits = ~marked & mask;
        if (bits != 0)
            return word * 64 + (uint64_t)__builtin_ctzll(bits);
    }
    return n_bits;
}

static bool scan_next(const struct hs_scan *scan, const struct hs_bitmap *unsure,
                      struct hs_heap_iterator *it, struct hs_heap_block *ret)
{
    uint64_t rank;

    while ((rank = scan_next_unmarked(scan, unsure, it->rank)) < scan->reached.n_bits) {
        hs_heap_map_forward(it, rank);
        if (!hs_heap_map_next(it, ret))
            return false;
        if ((ret->span->states & HS_BLOCK_STATIC) == 0)
            return true;
    }
    return false;
}

bool hs_scan_next_lost(const struct hs_scan *scan, struct hs_heap_iterator *it,
                       struct hs_heap_block *ret)
{
    return scan_next(scan, scan->has_unsure ? &scan->unsure : NULL, it, ret);
}

bool hs_scan_next_unreached(const struct hs_scan *scan, struct hs_heap_iterator *it,
                            struct hs_heap_block *ret)
{
    return scan_next(scan, NULL, it, ret);
}

bool hs_scan_reaches_all(const struct hs_scan *scan)
{
    struct hs_heap_iterator it = {.map = &scan->native->dump->heaps.map};
    struct hs_heap_block block;

    return !scan_next(scan, NULL, &it, &block);
}

hs_status hs_scan_end(struct hs_scan *scan, struct hs_error *err)
{
    mark_count(scan);
    scan->unaligned =
        hs_unaligned_of(&scan->native->dump->heaps.map, scan->native->dump->options->pointer_mask);
    if (scan->n_unreached != 0) {
        HS_TRY(HS_ALLOC(&scan->disguise, 1, err));
        *scan->disguise = hs_disguise_begin(scan->native);
    }
    hs_block_queue_fini(&scan->queue);
    hs_bitmap_fini(&scan->by_start); /* it was counted */
    hs_bitmap_fini(&scan->leaked);
    hs_dump_plan_release(&scan->native->dump->plan,
                         HS_MARK_BYTES(scan->native->dump->heaps.map.n_blocks) / 2);
    return HS_OK;
}

static hs_status scan_move(struct hs_scan *scan, size_t capacity, struct hs_error *err)
{
    void *edges;

    HS_TRY(hs_pages_alloc(capacity, sizeof *scan->edges, &edges, err));
    if (scan->n_edges != 0)
        memcpy(edges, scan->edges, scan->n_edges * sizeof *scan->edges);
    hs_pages_free(scan->edges, scan->edges_capacity, sizeof *scan->edges);
    scan->edges = edges;
    scan->edges_capacity = capacity;
    return HS_OK;
}

bool hs_scan_is_light(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    return scan->is_bare && block->n_bytes <= LIGHT_BYTES &&
           block->span->owner != HS_OWNER_MAPPING && hs_flow_type(scan->flow, block->rank) == 0;
}

hs_status hs_scan_share(const struct hs_scan *scan, struct hs_scan *ret, struct hs_error *err)
{
    *ret = *scan;
    ret->said = NULL;
    ret->edges = NULL;
    ret->n_edges = ret->edges_capacity = ret->n_edges_reserved = 0;
    ret->repeated = (struct hs_dict){0};
    HS_TRY(HS_ALLOC(&ret->said, 1, err));
    return scan_move(ret, 2 * EDGES_STEP, err);
}

void hs_scan_close_shared(struct hs_scan *shared)
{
    hs_pages_free(shared->edges, shared->edges_capacity, sizeof *shared->edges);
    hs_free(shared->said);
    *shared = (struct hs_scan){0};
}

/* Reserves address space for a pointer at each byte of a block. */
static hs_status scan_reserve(struct hs_scan *scan, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    size_t capacity = scan->edges_capacity == 0 ? 2 * EDGES_STEP : scan->edges_capacity;

    if (scan->n_edges_reserved > EDGES_STEP) { /* of the block before */
        uint64_t n_steps = scan->n_edges_reserved / EDGES_STEP - 1;
        hs_pages_discard(scan->edges, scan->n_edges_reserved * sizeof *scan->edges);
        hs_dump_plan_release(&scan->native->dump->plan, n_steps * EDGES_STEP_BYTES);
    }
    scan->n_edges = 0;
    scan->n_edges_most = block->n_bytes / WORD;
    scan->n_edges_reserved = EDGES_STEP;
    while (capacity < 2 * block->n_bytes && capacity <= SIZE_MAX / 4)
        capacity *= 2;
    if (capacity == scan->edges_capacity)
        return HS_OK;
    hs_status status = scan_move(scan, capacity, err);
    return scan->edges_capacity != 0 ? HS_OK : status; /* it grows as it must, else */
}

/* Writes the block's edges so far as a part, so that there is room for the next. */
static hs_status scan_put_part(struct hs_scan *scan, struct hs_error *err)
{
    uint64_t n_more = scan->n_edges < scan->n_edges_most ? scan->n_edges_most - scan->n_edges : 0;

    HS_TRY(
        hs_snap_writer_part(scan->native->dump->writer, scan->edges, scan->n_edges, n_more, err));
    scan->n_edges_most = n_more;
    scan->n_edges = 0;
    return HS_OK;
}

/* Reserves memory for the next edges. Parts take less of it; while the copy is in memory they can
 * be done without. */
static hs_status scan_reserve_step(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_dump *dump = scan->native->dump;
    bool may_part = dump->writer != NULL;
    hs_status status;

    if (may_part && !scan->keeps_edges && scan->n_edges >= EDGES_PER_PART) {
        status = scan_put_part(scan, err);
        if (status != HS_IO || dump->image.paged != NULL)
            return status;
        *err = (struct hs_error)HS_ERROR_INIT;
        scan->keeps_edges = true;
    }
    status = hs_dump_plan_reserve(&dump->plan, EDGES_STEP_BYTES, "the pointers of one block", err);
    if (status == HS_LIMIT && may_part) {
        *err = (struct hs_error)HS_ERROR_INIT;
        return scan_put_part(scan, err);
    }
    if (status == HS_OK)
        scan->n_edges_reserved += EDGES_STEP;
    return status;
}

hs_node hs_scan_node(const struct hs_scan *scan, const struct hs_heap_block *block)
{
    return hs_dump_node(scan->native->dump, scan->native, block->begin, block->rank);
}

static hs_status scan_add_edge(struct hs_scan *scan, const struct hs_edge *edge,
                               struct hs_error *err)
{
    if (scan->n_edges == scan->n_edges_reserved)
        HS_TRY(scan_reserve_step(scan, err));
    if (scan->n_edges == scan->edges_capacity) /* a type with many pointers in one place */
        HS_TRY(scan_move(scan, scan->edges_capacity * 2, err));
    scan->edges[scan->n_edges++] = *edge;
    return HS_OK;
}

static hs_status scan_add(struct hs_scan *scan, const struct hs_heap_block *target, uint64_t at,
                          struct hs_word_verdict verdict, struct hs_error *err)
{
    const struct hs_edge edge = {.target = hs_scan_node(scan, target),
                                 .offset_words = at / WORD,
                                 .edge_class = verdict.edge_class,
                                 .reason = verdict.reason};
    return scan_add_edge(scan, &edge, err);
}

/* Tells whether an edge of this class between two pieces of unclaimed memory is there already. A
 * heap that nobody can read is such pieces, all of whose words lead to each other: one edge of a
 * class between two of them says as much as a hundred thousand. */
static hs_status scan_is_repeated(struct hs_scan *scan, const struct hs_heap_block *from,
                                  const struct hs_heap_block *to, unsigned edge_class, bool *ret,
                                  struct hs_error *err)
{
    const uint64_t bit = UINT64_C(1) << edge_class, classes = 0xff, shift = 8;

    *ret = false;
    if (from->span->owner != HS_OWNER_MAPPING || to->span->owner != HS_OWNER_MAPPING)
        return HS_OK;
    uint64_t *last = hs_dict_find(&scan->repeated, to->rank);
    if (last == NULL)
        return hs_dict_put(&scan->repeated, to->rank, scan->n_turns << shift | bit, err);
    if (*last >> shift != scan->n_turns)
        *last = scan->n_turns << shift;
    *ret = (*last & classes & bit) != 0;
    *last |= bit;
    return HS_OK;
}

/* Adds an edge to the block before, of which a word is the end: it keeps nothing that a pointer to
 * the beginning does not. */
static hs_status scan_add_end(struct hs_scan *scan, const struct hs_said *said, uint64_t at,
                              enum hs_pointer how, const struct hs_heap_block *target,
                              struct hs_error *err)
{
    const struct hs_word_verdict verdict = {HS_EDGE_PAST_END, HS_REASON_END_POINTER};
    struct hs_heap_block before;

    if (!hs_said_is_end(said, at, how, target, &before))
        return HS_OK;
    scan->n_edges_most++;
    return scan_add(scan, &before, at, verdict, err);
}

static hs_status scan_word(struct hs_scan *scan, const struct hs_said *said, uint64_t at,
                           struct hs_error *err)
{
    struct hs_heap_block target;
    bool is_repeated;
    enum hs_pointer how =
        hs_flow_resolve(scan->native, hs_scan_address(&said->words, said->block, at), &target);

    if (how == HS_POINTER_NONE)
        return HS_OK;
    const struct hs_word_verdict verdict = hs_verdict_of(said, at, how, &target);
    HS_TRY(scan_is_repeated(scan, said->block, &target, verdict.edge_class, &is_repeated, err));
    if (!is_repeated)
        HS_TRY(scan_add(scan, &target, at, verdict, err));
    return verdict.edge_class == HS_EDGE_GUESSED ? scan_add_end(scan, said, at, how, &target, err)
                                                 : HS_OK;
}

static hs_status scan_aligned(struct hs_scan *scan, const struct hs_heap_block *block,
                              const struct hs_native_type *type, struct hs_error *err)
{
    const struct hs_said *said = scan->said;
    struct hs_heap_block target;

    hs_scan_said(scan, type, block, HS_RULES_ALL, scan->said);
    scan->n_turns++;
    for (uint64_t at = 0; at + WORD <= block->n_bytes; at += WORD) {
        at = hs_flow_touched(scan->native, block, at);
        if (at + WORD <= block->n_bytes &&
            !hs_scan_passes_over(&said->words, said->words.links, at))
            HS_TRY(scan_word(scan, said, at, err));
    }
    for (uint64_t word = 0; hs_scan_next_by_distance(scan, block, &word, &target);)
        HS_TRY(scan_add(scan, &target, (word - 1) * WORD, hs_verdict_of_edge(scan, &target), err));
    scan->n_edges_most += hs_owned_most(scan, block);
    for (struct hs_owned_walk walk = {0}; hs_owned_next(scan, block, &walk, &target);)
        HS_TRY(scan_add(scan, &target, 0, hs_verdict_of_edge(scan, &target), err));
    return HS_OK;
}

/* Adds the edge of a pointer of the type at an offset that is no multiple of 8. */
static hs_status scan_packed_word(struct hs_scan *scan, void *with,
                                  const struct hs_heap_block *block, uint64_t at,
                                  struct hs_error *err)
{
    struct hs_heap_block target;
    enum hs_pointer how = hs_flow_resolve(scan->native, hs_load_u64(block->bytes + at), &target);

    (void)with;
    if (how == HS_POINTER_NONE)
        return HS_OK;
    return scan_add(scan, &target, at, hs_verdict_of_packed(scan, block, how, &target), err);
}

/* Adds the edge of the unaligned word at `at` when it leads to the start of a block that nothing
 * reaches. */
static hs_status scan_unaligned_word(struct hs_scan *scan, const struct hs_heap_block *block,
                                     const struct hs_native_type *type, uint64_t at,
                                     struct hs_error *err)
{
    const struct hs_word_verdict verdict = {HS_EDGE_GUESSED, HS_REASON_UNALIGNED};
    const struct hs_unaligned *of = &scan->unaligned;
    struct hs_heap_block target;

    uint64_t word = hs_load_u64(block->bytes + at) & ~scan->native->dump->options->pointer_mask;
    if (word - of->low >= of->high - of->low || word % WORD != 0 ||
        hs_heap_map_resolve(&scan->native->dump->heaps.map, word, &target) != HS_POINTER_START ||
        hs_bitmap_get(&scan->reached, target.rank) || scan_is_unsure(scan, target.rank) ||
        (type != NULL && type->n_slots != 0 && hs_said_slot(type, at % type->n_bytes) != NULL))
        return HS_OK;
    return scan_add(scan, &target, at, verdict, err);
}

/* Adds the edges of unaligned words that lead to the start of a block that nothing reaches. Most
 * are no addresses at all: that is seen first. */
static hs_status scan_unaligned(struct hs_scan *scan, const struct hs_heap_block *block,
                                const struct hs_native_type *type, struct hs_error *err)
{
    for (uint64_t at = 0; at + WORD < block->n_bytes; at += WORD) {
        at = hs_flow_touched(scan->native, block, at);
        if (at + WORD >= block->n_bytes)
            break;
        uint64_t found = block->n_bytes - at < 2 * WORD /* before a rest of less than a word */
                             ? HS_UNALIGNED_ALL
                             : hs_unaligned_in(&scan->unaligned, hs_load_u64(block->bytes + at),
                                               hs_load_u64(block->bytes + at + WORD));
        for (; found != 0; found &= found - 1) {
            uint64_t begin = at + (uint64_t)__builtin_ctzll(found) / 8 + 1;
            if (block->n_bytes - begin >= WORD)
                HS_TRY(scan_unaligned_word(scan, block, type, begin, err));
        }
    }
    return HS_OK;
}

/* Adds the edges of words in disguise that lead to what nothing reaches. */
static hs_status scan_disguised(struct hs_scan *scan, const struct hs_heap_block *block,
                                struct hs_error *err)
{
    const struct hs_word_verdict verdict = {HS_EDGE_GUESSED, HS_REASON_ENCODED};
    struct hs_heap_block target;

    for (uint64_t at = 0; at + WORD <= block->n_bytes; at += WORD) {
        at = hs_flow_touched(scan->native, block, at);
        if (at + WORD > block->n_bytes)
            break;
        uint64_t word = hs_load_u64(block->bytes + at);
        if (word == 0 || !hs_disguise_resolve(scan->disguise, word, &target) ||
            hs_bitmap_get(&scan->reached, target.rank) || scan_is_unsure(scan, target.rank))
            continue;
        HS_TRY(scan_add(scan, &target, at, verdict, err));
    }
    return HS_OK;
}

hs_status hs_scan_block(struct hs_scan *scan, const struct hs_heap_block *block,
                        struct hs_error *err)
{
    HS_TRY(scan_reserve(scan, block, err));
    scan->states = block->span->states;
    if (scan_is_unsure(scan, block->rank) ||
        (scan->native->is_blind && !hs_bitmap_get(&scan->reached, block->rank) &&
         (scan->states & HS_BLOCK_STATIC) == 0))
        scan->states |= HS_BLOCK_UNSURE;
    if (block->bytes == NULL || block->n_bytes < WORD ||
        hs_native_is_root_memory(scan->native, block))
        return HS_OK;
    const struct hs_native_type *type = hs_scan_type(scan, block);
    struct hs_heap_block cut = *block;
    hs_scan_cut(scan, &cut);
    HS_TRY(scan_aligned(scan, &cut, type, err));
    if (type != NULL && type->has_unaligned)
        HS_TRY(hs_scan_packed(scan, &cut, type, scan_packed_word, NULL, err));
    if (scan->n_unreached == 0 || scan_is_exact(scan, block))
        return HS_OK;
    HS_TRY(scan_unaligned(scan, &cut, type, err));
    return scan_disguised(scan, &cut, err);
}
