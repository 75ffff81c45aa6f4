/* Types of blocks of a snapshot, along pointers whose types say what they lead to.
 *
 * A block of which the snapshot knows the size alone, or a shape, gets the type that a pointer to
 * its start declares; two pointers that say different things leave it as it was. One whose type has
 * a name already (by C++'s run-time type information) keeps that, and its members are known now.
 * A chunk is gone through until nothing in it is left to do, then the next one that has something;
 * what leads to another chunk waits there. Each block is gone through once, so the work is linear
 * in the edges, whatever the order; chunks are read again where paths go to and fro. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "names_private.h"

/* A type that a block has: a number of native/later.h, and what is to be done. */
enum {
    FLOW_IS_PENDING = 1u << 31, /* what it leads to is not told yet */
    FLOW_IS_OWN = 1u << 30,     /* the block says it itself */
    FLOW_TYPE = FLOW_IS_OWN - 1,
    FLOW_DIFFER = FLOW_TYPE, /* two pointers say different things */
    FLOW_BYTES = 8,          /* of a block, in two arrays */
    FLOW_WORD = 8,
    FLOW_ROUNDS = 64, /* how often a chunk is read, at the most and on the average */
};

static uint64_t n_blocks_of(const struct names *names)
{
    return hs_snap_totals(names->snap)->n_blocks;
}

static uint32_t type_of(const struct names_flow *flow, uint64_t rank)
{
    return flow->type[rank] & FLOW_TYPE;
}

/* A block of the chunk that is being gone through is the next one. */
static void set_pending(struct names_flow *flow, uint64_t rank, uint32_t type)
{
    flow->type[rank] = type | FLOW_IS_PENDING;
    flow->n_pending[rank / HS_CHUNK_BLOCKS]++;
    if (flow->is_in_chunk && rank / HS_CHUNK_BLOCKS == flow->chunk)
        flow->stack[flow->n_stack++] = (uint32_t)(rank % HS_CHUNK_BLOCKS);
}

/* Finds the type for a pointee and a size, asked for once. */
static hs_status find_type(struct names *names, uint32_t pointee, uint32_t n_words, uint32_t *ret,
                           struct hs_error *err)
{
    struct names_flow *flow = &names->flow;
    uint64_t key = (uint64_t)pointee << 32 | n_words;
    const uint64_t *known = hs_dict_find(&flow->blocks, key);

    *ret = known != NULL ? (uint32_t)*known : 0;
    if (known != NULL)
        return HS_OK;
    HS_TRY(hs_later_block(names->later, pointee, (uint64_t)n_words * FLOW_WORD, ret, err));
    if (*ret >= FLOW_TYPE)
        *ret = 0;
    return hs_dict_put(&flow->blocks, key, *ret, err);
}

/* Hears what a pointer to the start of a block says. */
static hs_status claim(struct names *names, uint64_t rank, uint32_t pointee, struct hs_error *err)
{
    struct names_flow *flow = &names->flow;
    uint32_t type, now = flow->type[rank];

    if ((now & FLOW_IS_OWN) != 0 || now == FLOW_DIFFER)
        return HS_OK;
    HS_TRY(find_type(names, pointee, flow->words[rank], &type, err));
    if (type == 0 || type == (now & FLOW_TYPE))
        return HS_OK;
    if (now == 0) {
        set_pending(flow, rank, type);
        return HS_OK;
    }
    if ((now & FLOW_IS_PENDING) != 0)
        flow->n_pending[rank / HS_CHUNK_BLOCKS]--;
    flow->type[rank] = FLOW_DIFFER;
    return HS_OK;
}

/* Tells what the pointers of one block say. */
static hs_status follow(struct names *names, const struct hs_chunk *chunk, uint32_t at,
                        struct hs_error *err)
{
    struct names_flow *flow = &names->flow;
    uint64_t n_tree = hs_snap_totals(names->snap)->n_tree, rank = chunk->first - n_tree + at;
    uint32_t type = type_of(flow, rank);

    flow->type[rank] &= ~FLOW_IS_PENDING;
    flow->n_pending[rank / HS_CHUNK_BLOCKS]--;
    for (uint64_t e = chunk->edge_begin[at]; e < chunk->edge_begin[at + 1]; e++) {
        if (chunk->edge_class[e] != HS_EDGE_EXACT)
            continue;
        uint32_t pointee = hs_later_pointee(names->later, type, chunk->offset_words[e] * FLOW_WORD);
        if (pointee != 0)
            HS_TRY(claim(names, chunk->target[e] - n_tree, pointee, err));
    }
    return HS_OK;
}

static hs_status flow_chunk(struct names *names, uint64_t number, struct hs_chunk *chunk,
                            struct hs_error *err)
{
    struct names_flow *flow = &names->flow;
    const uint32_t *types = flow->type + number * HS_CHUNK_BLOCKS;
    hs_status status =
        hs_snap_load_chunk(names->snap, number, HS_COL_FIELDS | HS_COL_SIZES, chunk, err);

    flow->chunk = number;
    flow->is_in_chunk = true;
    flow->n_stack = 0;
    for (uint32_t at = 0; status == HS_OK && at < chunk->n_blocks; at++)
        if ((types[at] & FLOW_IS_PENDING) != 0)
            flow->stack[flow->n_stack++] = at;
    while (status == HS_OK && flow->n_stack != 0) {
        uint32_t at = flow->stack[--flow->n_stack];
        if ((types[at] & FLOW_IS_PENDING) != 0)
            status = follow(names, chunk, at, err);
    }
    flow->is_in_chunk = false;
    return status;
}

static hs_status flow_rounds(struct names *names, struct hs_chunk *chunk, struct hs_error *err)
{
    uint64_t n_chunks = hs_snap_totals(names->snap)->n_chunks, n_read = 0;
    bool is_left = true;

    while (is_left && n_read < FLOW_ROUNDS * n_chunks) {
        is_left = false;
        for (uint64_t i = 0; i < n_chunks; i++) {
            if (names->flow.n_pending[i] == 0)
                continue;
            is_left = true;
            n_read++;
            HS_TRY(
                hs_progress_tell(names->options->progress, "following pointers", i, n_chunks, err));
            HS_TRY(flow_chunk(names, i, chunk, err));
        }
    }
    if (is_left)
        snprintf(names->report->note, sizeof names->report->note,
                 "types are not followed to their end: paths go to and fro too often");
    return HS_OK;
}

/* ---- what the snapshot has of blocks */

/* Tells whether the type in the snapshot says no more than a size or a shape. */
static bool is_open(const struct names *names, uint32_t old)
{
    const struct hs_type *type = hs_snap_type(names->snap, old);
    size_t n_members;

    (void)hs_snap_members(names->snap, old, &n_members);
    return type->form == HS_FORM_BYTES || (type->form == HS_FORM_RECORD && n_members == 0);
}

/* Finds the description of a type that has a name. Several sizes of one name are looked at for the
 * first alone. */
static hs_status describe(struct names *names, uint32_t old, uint32_t n_words, uint32_t *ret,
                          struct hs_error *err)
{
    struct names_flow *flow = &names->flow;
    const struct hs_type *type = hs_snap_type(names->snap, old);

    if (flow->known[old] == 0) {
        flow->known[old] = FLOW_IS_PENDING; /* it was looked for */
        if (type->form == HS_FORM_RECORD && type->stride_bytes == 0 && is_open(names, old))
            HS_TRY(hs_later_named(names->later, hs_snap_string(names->snap, type->name),
                                  (uint64_t)n_words * FLOW_WORD, ret, err));
        if (*ret < FLOW_TYPE)
            flow->known[old] |= *ret;
    }
    *ret = flow->known[old] & FLOW_TYPE;
    return HS_OK;
}

static hs_status read_chunk(struct names *names, const struct hs_chunk *chunk, struct hs_error *err)
{
    struct names_flow *flow = &names->flow;
    uint64_t first = chunk->first - hs_snap_totals(names->snap)->n_tree;

    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint32_t type = 0, old = chunk->type[i];
        bool is_block = chunk->state[i] == 0 && chunk->words[i] <= UINT32_MAX;
        flow->words[first + i] = is_block ? (uint32_t)chunk->words[i] : 0;
        if (is_block)
            HS_TRY(describe(names, old, flow->words[first + i], &type, err));
        if (type != 0)
            set_pending(flow, first + i, type | FLOW_IS_OWN);
        else if (!is_block || !is_open(names, old))
            flow->type[first + i] = FLOW_DIFFER;
    }
    return HS_OK;
}

static hs_status read_all(struct names *names, struct hs_chunk *chunk, struct hs_error *err)
{
    uint64_t n_chunks = hs_snap_totals(names->snap)->n_chunks;

    for (uint64_t i = 0; i < n_chunks; i++) {
        HS_TRY(hs_snap_load_chunk(names->snap, i, HS_COL_SIZES | HS_COL_TYPES, chunk, err));
        HS_TRY(read_chunk(names, chunk, err));
    }
    return HS_OK;
}

/* Takes the arrays from the budget. False: there is no room for them. */
static hs_status make_arrays(struct names *names, bool *ret_has_room, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(names->snap);
    struct names_flow *flow = &names->flow;
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t n_bytes = totals->n_blocks * FLOW_BYTES + totals->n_chunks * sizeof(uint64_t);

    *ret_has_room = names->options->budget == NULL ||
                    hs_budget_reserve(names->options->budget, n_bytes, "types", &ignored) == HS_OK;
    if (!*ret_has_room)
        return HS_OK;
    flow->reserved_bytes = names->options->budget == NULL ? 0 : n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&flow->words, totals->n_blocks, err));
    HS_TRY(HS_PAGES_ALLOC(&flow->type, totals->n_blocks, err));
    HS_TRY(HS_ALLOC(&flow->n_pending, totals->n_chunks, err));
    HS_TRY(HS_ALLOC(&flow->stack, HS_CHUNK_BLOCKS, err));
    return HS_ALLOC(&flow->known, totals->n_types, err);
}

void hs_names_flow_fini(struct names *names)
{
    struct names_flow *flow = &names->flow;
    uint64_t n = names->snap == NULL ? 0 : n_blocks_of(names);

    hs_pages_free(flow->words, n, sizeof *flow->words);
    hs_pages_free(flow->type, n, sizeof *flow->type);
    hs_free(flow->n_pending);
    hs_free(flow->stack);
    hs_free(flow->known);
    hs_dict_fini(&flow->blocks);
    if (flow->reserved_bytes != 0)
        hs_budget_release(names->options->budget, flow->reserved_bytes);
}

static void count_typed(struct names *names)
{
    for (uint64_t rank = 0; rank < n_blocks_of(names); rank++) {
        uint32_t type = type_of(&names->flow, rank);
        names->report->n_typed += type != 0 && type != FLOW_DIFFER;
    }
}

hs_status hs_names_flow(struct names *names, struct hs_error *err)
{
    struct hs_chunk chunk = {0};
    bool has_room;

    if (n_blocks_of(names) == 0)
        return HS_OK;
    HS_TRY(make_arrays(names, &has_room, err));
    if (!has_room) {
        snprintf(names->report->note, sizeof names->report->note,
                 "types are left out: --memory has no room for them");
        return HS_OK;
    }
    hs_status status = read_all(names, &chunk, err);
    for (size_t i = 0; i < names->n_seeds && status == HS_OK; i++)
        status = claim(names, names->seeds[i].rank, names->seeds[i].pointee, err);
    if (status == HS_OK)
        status = flow_rounds(names, &chunk, err);
    hs_chunk_fini(&chunk);
    if (status == HS_OK)
        count_typed(names);
    return status;
}

uint32_t hs_names_type(const struct names *names, uint64_t rank, uint32_t old)
{
    const struct names_flow *flow = &names->flow;
    uint32_t type = flow->type == NULL ? 0 : type_of(flow, rank);

    return type == 0 || type == FLOW_DIFFER
               ? old
               : (uint32_t)hs_snap_totals(names->snap)->n_types + type - 1;
}
