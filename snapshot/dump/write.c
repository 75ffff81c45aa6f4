/* The blocks of all runtimes in one pass by address, each with its edges. */
#include <string.h>

#include "base/alloc.h"
#include "parts.h"

enum { BLOCKS_PER_TELL = 1 << 18, EDGES_PER_PART = 1 << 20 };

struct write {
    struct hs_dump *dump; /* borrowed, as the next two */
    const struct hs_leaves *leaves;
    const struct hs_dump_facts *facts;
    struct hs_snap_writer *writer; /* owned, as all below */
    struct hs_type_numbers numbers;
    struct hs_edge *edges; /* of a block with edges to other runtimes', but for parts */
    size_t n_edges, edges_capacity;
    uint64_t n_edges_more; /* to come for this block, at most */
    uint64_t n_total, n_done;
};

/* Returns how many blocks of all runtimes lie below the one that starts at an address; HS_NO_NODE
 * when none starts there. */
static uint64_t write_rank(const void *context, hs_addr address)
{
    const struct hs_dump *dump = context;

    for (size_t i = 0; i < dump->n_serving; i++) {
        const struct hs_serving *serving = &dump->serving[i];
        uint64_t rank = serving->runtime->rank(serving->state, address);
        if (rank != HS_NO_NODE)
            return hs_dump_node(dump, serving->state, address, rank) - dump->n_tree;
    }
    return HS_NO_NODE;
}

static hs_status write_open(struct write *w, struct hs_out *out, struct hs_error *err)
{
    struct hs_dump *dump = w->dump;
    const struct hs_rank_of rank_of = {.rank = write_rank, .context = dump};
    struct hs_root *tree = NULL;
    uint64_t n_tree;

    for (size_t i = 0; i < dump->n_serving; i++)
        w->n_total += dump->serving[i].runtime->n_blocks(dump->serving[i].state);
    HS_TRY(hs_roots_finish(w->leaves->roots, &dump->strings, &rank_of, &tree, &n_tree, err));
    dump->n_tree = n_tree;
    hs_status status = hs_snap_writer_new(out, &dump->strings, &w->facts->facts, tree, n_tree,
                                          w->n_total, &w->writer, err);
    hs_free(tree);
    HS_TRY(status);
    hs_snap_writer_set_budget(w->writer, dump->plan.image == NULL ? NULL : dump->options->budget);
    dump->writer = w->writer;
    return HS_OK;
}

/* ---- edges between runtimes */

static hs_status write_edge(struct write *w, hs_node target, uint64_t offset_words,
                            unsigned edge_class, struct hs_error *err)
{
    if (w->n_edges == EDGES_PER_PART) {
        HS_TRY(hs_snap_writer_part(w->writer, w->edges, w->n_edges, w->n_edges_more, err));
        w->n_edges = 0;
    }
    HS_TRY(HS_GROW(&w->edges, &w->edges_capacity, w->n_edges + 1, err));
    w->edges[w->n_edges++] = (struct hs_edge){
        .target = target, .offset_words = offset_words, .edge_class = (uint8_t)edge_class};
    return HS_OK;
}

/* The block's words that lead to blocks of other runtimes. */
static hs_status write_foreign(struct write *w, size_t from, const struct hs_runtime_block *block,
                               struct hs_error *err)
{
    hs_node node;
    unsigned edge_class;
    uint64_t word;

    for (uint64_t i = 0; i < block->n_foreign_words; i++) {
        memcpy(&word, block->foreign + i * HS_WORD_BYTES, sizeof word);
        for (size_t k = 0; k < w->dump->n_serving; k++) {
            const struct hs_serving *other = &w->dump->serving[k];
            if (k != from && other->runtime->resolve != NULL &&
                other->runtime->resolve(other->state, word, &node, &edge_class))
                HS_TRY(write_edge(w, node, block->foreign_offset_words + i, edge_class, err));
        }
    }
    return HS_OK;
}

/* Roots of other runtimes that stand in the block. */
static hs_status write_held(struct write *w, const struct hs_runtime_block *block,
                            const struct hs_held *held, size_t n_held, struct hs_error *err)
{
    for (size_t i = 0; i < n_held; i++) {
        const struct hs_serving *of = held[i].of;
        uint64_t rank = of->runtime->rank(of->state, held[i].block);
        if (rank != HS_NO_NODE)
            HS_TRY(write_edge(w, hs_dump_node(w->dump, of->state, held[i].block, rank),
                              (held[i].at - block->record.address) / HS_WORD_BYTES, HS_EDGE_EXACT,
                              err));
    }
    return HS_OK;
}

/* Most blocks have none: then the runtime's own edges are written where they are. */
static hs_status write_other_edges(struct write *w, size_t from, struct hs_runtime_block *block,
                                   struct hs_error *err)
{
    hs_addr end = block->record.address + block->record.words * HS_WORD_BYTES;
    size_t n_held;
    const struct hs_held *held = hs_leaves_held_in(w->leaves, block->record.address, end, &n_held);

    if (n_held == 0 && block->n_foreign_words == 0)
        return HS_OK;
    w->n_edges = 0;
    w->n_edges_more = block->n_edges + block->n_foreign_words * (w->dump->n_serving - 1) + n_held;
    for (size_t i = 0; i < block->n_edges; i++)
        HS_TRY(write_edge(w, block->edges[i].target, block->edges[i].offset_words,
                          block->edges[i].edge_class, err));
    HS_TRY(write_foreign(w, from, block, err));
    HS_TRY(write_held(w, block, held, n_held, err));
    block->edges = w->edges;
    block->n_edges = w->n_edges;
    return HS_OK;
}

/* ---- blocks */

/* The runtime whose block is next, and where that of another one begins at the earliest. */
static bool write_find_next(const struct write *w, size_t *ret_from, hs_addr *ret_other)
{
    hs_addr first = 0, other = UINT64_MAX;
    bool has_any = false;

    for (size_t i = 0; i < w->dump->n_serving; i++) {
        const struct hs_serving *serving = &w->dump->serving[i];
        hs_addr address;
        if (!serving->runtime->peek(serving->state, &address))
            continue;
        if (!has_any || address < first) {
            other = has_any ? first : other;
            first = address;
            *ret_from = i;
        } else if (address < other) {
            other = address;
        }
        has_any = true;
    }
    *ret_other = other;
    return has_any;
}

/* A block of OCaml is where its first value is, and its size counts the header before that. At the
 * end of an area, a block of another runtime that begins there would begin inside of it: a word of
 * one of the two is not counted. Returns where the next block may begin. */
static hs_addr write_border(struct hs_block_record *record, hs_addr other)
{
    hs_addr end = record->address + record->words * HS_WORD_BYTES;

    if (other >= end)
        return 0;
    if (record->words == 1) /* an atom: nothing but a header */
        return end;
    record->words--;
    return 0;
}

static hs_status write_one(struct write *w, size_t from, struct hs_runtime_block *block,
                           struct hs_error *err)
{
    if (w->dump->n_serving > 1) {
        HS_TRY(hs_type_numbers_get(&w->numbers, (unsigned)from, block->record.type,
                                   &block->record.type, err));
        HS_TRY(write_other_edges(w, from, block, err));
    }
    HS_TRY(hs_snap_writer_block(w->writer, &block->record, block->edges, block->n_edges, err));
    if (++w->n_done % BLOCKS_PER_TELL != 0)
        return HS_OK;
    return hs_progress_tell(w->dump->options->progress, "writing blocks", w->n_done, w->n_total,
                            err);
}

static hs_status write_blocks(struct write *w, struct hs_error *err)
{
    struct hs_runtime_block block;
    hs_addr not_before = 0, other;
    size_t from = 0;

    while (write_find_next(w, &from, &other)) {
        const struct hs_serving *serving = &w->dump->serving[from];
        HS_TRY(serving->runtime->next(serving->state, not_before, &block, err));
        not_before = serving->runtime->has_own_heap ? write_border(&block.record, other) : 0;
        HS_TRY(write_one(w, from, &block, err));
    }
    return HS_OK;
}

/* ---- behind the blocks */

static hs_status write_types(struct write *w, struct hs_type_tables *ret, struct hs_error *err)
{
    struct hs_type_tables sources[HS_N_RUNTIMES] = {{0}};
    hs_status status = HS_OK;

    for (size_t i = 0; i < w->dump->n_serving && status == HS_OK; i++)
        status = w->dump->serving[i].runtime->types(w->dump->serving[i].state, &sources[i], err);
    if (status == HS_OK)
        return hs_type_numbers_merge(&w->numbers, sources, w->dump->n_serving, ret, err);
    for (size_t i = 0; i < HS_N_RUNTIMES; i++)
        hs_type_tables_fini(&sources[i]);
    return status;
}

static hs_status write_end(struct write *w, struct hs_type_tables *tables,
                           struct hs_dump_samples *samples, struct hs_snap_totals *ret,
                           struct hs_error *err)
{
    HS_TRY(write_types(w, tables, err));
    HS_TRY(hs_dump_samples_gather(w->dump, w->facts->first_sampler, samples, err));
    const struct hs_snap_ending ending = {.types = tables->types,
                                          .n_types = tables->n_types,
                                          .members = tables->members,
                                          .n_members = tables->n_members,
                                          .samples = samples->samples,
                                          .n_samples = samples->n_samples,
                                          .site_frames = samples->frames,
                                          .n_site_frames = samples->n_frames};
    return hs_snap_writer_finish(w->writer, &ending, ret, err);
}

static hs_status write_all(struct write *w, struct hs_out *out, struct hs_snap_totals *ret,
                           struct hs_error *err)
{
    struct hs_dump_samples samples = {0};
    struct hs_type_tables tables = {0};

    HS_TRY(write_open(w, out, err));
    HS_TRY(write_blocks(w, err));
    hs_status status = write_end(w, &tables, &samples, ret, err);
    hs_type_tables_fini(&tables);
    hs_dump_samples_fini(&samples);
    return status;
}

hs_status hs_dump_write(struct hs_dump *dump, const struct hs_leaves *leaves,
                        const struct hs_dump_facts *facts, struct hs_out *out,
                        struct hs_snap_totals *ret, struct hs_error *err)
{
    struct write w = {.dump = dump, .leaves = leaves, .facts = facts};
    hs_status status = write_all(&w, out, ret, err);

    dump->writer = NULL;
    hs_snap_writer_free(w.writer);
    hs_type_numbers_fini(&w.numbers);
    hs_free(w.edges);
    return status;
}
