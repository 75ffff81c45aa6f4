/* The writer of heap.snap: checks what it is told, cuts it into chunks, ends with the trailer. */
#include "snapshot/writer.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "chunk_codec.h"
#include "edge_runs.h"
#include "edge_sort.h"
#include "schema.h"
#include "section_writer.h"
#include "snapshot/reader.h"
#include "writer_internal.h"

static int writer_level = -1;

void hs_snap_writer_set_level(int level)
{
    writer_level = level;
}

struct hs_snap_writer {
    struct hs_section_writer sections;
    const struct hs_strtab *strings; /* borrowed */
    struct hs_snap_totals totals;
    uint64_t n_promised; /* blocks to come in all */
    uint64_t n_samplers;
    uint64_t n_strings_written;
    uint64_t n_types_used; /* highest type seen, plus one */
    hs_addr end_address;   /* of the last block */
    uint64_t *in_degrees;  /* owned pages; one per 1024 blocks */
    size_t n_in_degrees;
    struct hs_chunk_info *chunks; /* owned */
    size_t n_chunks, chunk_capacity;
    struct hs_chunk_encoder chunk;
    struct hs_edge_runs runs; /* the next block's edges that came in parts */
    struct hs_buffer raw;     /* the section being made */
};

static hs_status writer_put(struct hs_snap_writer *w, enum hs_section_kind kind, uint64_t id,
                            struct hs_error *err)
{
    return hs_section_writer_put(&w->sections, kind, id, &w->raw, err);
}

/* All strings added since the last time. */
static hs_status writer_put_strings(struct hs_snap_writer *w, struct hs_error *err)
{
    uint64_t first = w->n_strings_written + 1;
    uint64_t n = w->strings->n_strings - w->n_strings_written;
    w->raw.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&w->raw, HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(&w->raw, n);
    for (uint64_t i = 0; i < n; i++) {
        const char *text = hs_strtab_get(w->strings, (hs_str)(first + i));
        size_t n_bytes = strlen(text) + 1;
        HS_TRY(hs_buffer_reserve(&w->raw, n_bytes, err));
        hs_buffer_put_bytes(&w->raw, text, n_bytes);
    }
    w->n_strings_written += n;
    return writer_put(w, HS_SECTION_STRINGS, first, err);
}

/* Strings added so far may be used. */
static struct hs_column_limits writer_limits(const struct hs_snap_writer *w)
{
    return (struct hs_column_limits){.version = HS_FORMAT_VERSION,
                                     .n_strings = w->strings->n_strings};
}

static void writer_count_target(struct hs_snap_writer *w, hs_node target)
{
    uint64_t at = (target - w->totals.n_tree) >> HS_HISTOGRAM_SHIFT;
    assert(at < w->n_in_degrees);
    w->in_degrees[at]++;
}

static hs_status writer_put_roots(struct hs_snap_writer *w, const struct hs_root *roots,
                                  uint64_t n_roots, struct hs_error *err)
{
    const struct hs_column_limits limits = writer_limits(w);
    const struct hs_root_limits of_roots = {
        .version = HS_FORMAT_VERSION,
        .n_roots = n_roots,
        .n_blocks = w->n_promised,
    };
    if (hs_roots_verify(roots, &of_roots, err) != HS_OK) {
        err->status = HS_BUG;
        return HS_BUG;
    }
    w->totals.n_tree = n_roots;
    for (uint64_t i = 0; i < n_roots; i++)
        if (roots[i].target != HS_NO_NODE && !roots[i].weak)
            writer_count_target(w, roots[i].target);
    w->raw.n_bytes = 0;
    HS_TRY(hs_schema_encode_list(&hs_schema_roots, roots, (size_t)n_roots, &limits, &w->raw, err));
    return writer_put(w, HS_SECTION_ROOTS, 0, err);
}

static hs_status writer_begin(struct hs_snap_writer *w, const struct hs_snap_facts *facts,
                              const struct hs_root *roots, uint64_t n_roots, struct hs_error *err)
{
    struct hs_header header = {.version = HS_FORMAT_VERSION,
                               .word_bytes = (uint16_t)facts->word_bytes,
                               .n_blocks = w->n_promised};
    w->n_in_degrees = (size_t)((w->n_promised >> HS_HISTOGRAM_SHIFT) + 1);
    HS_TRY(HS_PAGES_ALLOC(&w->in_degrees, w->n_in_degrees, err));
    HS_TRY(hs_section_writer_header(&w->sections, &header, err));
    HS_TRY(writer_put_strings(w, err));
    w->raw.n_bytes = 0;
    const struct hs_column_limits limits = writer_limits(w);
    w->n_samplers = facts->n_samplers;
    if (hs_samplers_verify(facts->samplers, facts->n_samplers, err) != HS_OK) {
        err->status = HS_BUG;
        return HS_BUG;
    }
    HS_TRY(hs_facts_encode(facts, &limits, &w->raw, err));
    HS_TRY(writer_put(w, HS_SECTION_META, 0, err));
    HS_TRY(writer_put_roots(w, roots, n_roots, err));
    w->chunk.word_bytes = facts->word_bytes;
    return hs_chunk_encoder_begin(&w->chunk, n_roots, w->n_promised, err);
}

hs_status hs_snap_writer_new(struct hs_out *out, const struct hs_strtab *strings,
                             const struct hs_snap_facts *facts, const struct hs_root *roots,
                             uint64_t n_roots, uint64_t n_blocks, struct hs_snap_writer **ret,
                             struct hs_error *err)
{
    if (facts->word_bytes != 1 && facts->word_bytes != 4 && facts->word_bytes != 8)
        return hs_fail(err, HS_BUG, "a word of %u bytes is not supported", facts->word_bytes);
    if (n_blocks > HS_MAX_BLOCKS || n_roots > HS_MAX_BLOCKS)
        return hs_fail(err, HS_LIMIT, "%llu blocks are more than a snapshot holds",
                       (unsigned long long)n_blocks);
    struct hs_snap_writer *w;
    HS_TRY(HS_ALLOC(&w, 1, err));
    w->strings = strings;
    w->n_promised = n_blocks;
    hs_status status = hs_section_writer_init(&w->sections, out, err);
    if (writer_level >= 0)
        w->sections.level = writer_level;
    if (status == HS_OK)
        status = writer_begin(w, facts, roots, n_roots, err);
    if (status == HS_OK)
        *ret = w;
    else
        hs_snap_writer_free(w);
    return status;
}

static hs_status writer_flush_chunk(struct hs_snap_writer *w, struct hs_error *err)
{
    HS_TRY(HS_GROW(&w->chunks, &w->chunk_capacity, w->n_chunks + 1, err));
    for (unsigned kind = HS_SECTION_SIZES; kind <= HS_SECTION_EXTRA; kind++) {
        struct hs_section_parts parts;
        bool is_long;
        w->raw.n_bytes = 0;
        HS_TRY(
            hs_chunk_encoder_column(&w->chunk, (enum hs_section_kind)kind, &w->raw, &parts, err));
        is_long = parts.n_parts != 0;
        if (is_long)
            HS_TRY(hs_section_writer_put_long(&w->sections, (enum hs_section_kind)kind, w->n_chunks,
                                              &parts, err));
        else
            HS_TRY(writer_put(w, (enum hs_section_kind)kind, w->n_chunks, err));
        for (size_t i = 0; is_long && i < parts.n_parts; i++) /* room for the next column */
            hs_long_buffer_clear(parts.parts[i], w->chunk.budget);
    }
    w->chunks[w->n_chunks++] = (struct hs_chunk_info){
        .n_edges = w->chunk.n_edges,
        .n_extra = w->chunk.n_extra,
        .first_address = w->chunk.first_address,
    };
    w->totals.n_edges += w->chunk.n_edges;
    w->totals.n_extra_edges += w->chunk.n_extra;
    w->totals.n_doubtful_edges += w->chunk.n_doubtful;
    return hs_chunk_encoder_begin(&w->chunk, w->totals.n_tree + w->totals.n_blocks,
                                  w->n_promised - w->totals.n_blocks, err);
}

static hs_status writer_verify_edge(const struct hs_snap_writer *w,
                                    const struct hs_block_record *block, const struct hs_edge *edge,
                                    struct hs_error *err)
{
    if (edge->target - w->totals.n_tree >= w->n_promised || edge->target < w->totals.n_tree)
        return hs_fail(err, HS_BUG, "block 0x%llx has an edge to node %llu, which is no block",
                       (unsigned long long)block->address, (unsigned long long)edge->target);
    if (edge->reason != HS_REASON_NONE && !hs_edge_has_reason(edge->edge_class))
        return hs_fail(err, HS_BUG, "block 0x%llx has an edge of class %u with a reason",
                       (unsigned long long)block->address, edge->edge_class);
    if (edge->edge_class >= HS_N_EDGE_CLASSES || edge->offset_words >= block->words)
        return hs_fail(err, HS_BUG,
                       "block 0x%llx of %llu words has an edge of class %u at word %llu",
                       (unsigned long long)block->address, (unsigned long long)block->words,
                       edge->edge_class, (unsigned long long)edge->offset_words);
    return HS_OK;
}

static hs_status writer_verify_block(const struct hs_snap_writer *w,
                                     const struct hs_block_record *block, hs_addr *ret_end,
                                     struct hs_error *err)
{
    uint64_t size;
    if (w->totals.n_blocks == w->n_promised)
        return hs_fail(err, HS_BUG, "more than the promised %llu blocks",
                       (unsigned long long)w->n_promised);
    if (block->address < w->end_address)
        return hs_fail(err, HS_BUG, "block 0x%llx begins before the last one ends at 0x%llx",
                       (unsigned long long)block->address, (unsigned long long)w->end_address);
    if (block->is_counted && block->room < block->entries)
        return hs_fail(err, HS_BUG, "block 0x%llx has more elements than room",
                       (unsigned long long)block->address);
    if (block->words == 0 || !hs_mul_fits(block->words, w->chunk.word_bytes, &size) ||
        !hs_add_fits(block->address, size, ret_end) || (block->state & ~HS_BLOCK_STATES) != 0 ||
        (block->state & (HS_BLOCK_MAPPING | HS_BLOCK_STATIC)) == HS_BLOCK_MAPPING)
        return hs_fail(err, HS_BUG, "block 0x%llx has %llu words and state %u",
                       (unsigned long long)block->address, (unsigned long long)block->words,
                       block->state);
    return HS_OK;
}

void hs_snap_writer_set_budget(struct hs_snap_writer *w, struct hs_budget *budget)
{
    assert(w->totals.n_blocks == 0 && w->chunk.n_blocks == 0);
    w->chunk.budget = budget;
    w->sections.budget = budget;
}

/* The first part tells what all take. At the worst all is there twice: while runs are merged into
 * one, or their columns are written. */
static hs_status writer_foresee_parts(struct hs_snap_writer *w, size_t n_edges, uint64_t n_more,
                                      struct hs_error *err)
{
    uint64_t n_bytes = hs_edge_runs_bytes(&w->runs), need;

    n_bytes = n_bytes / n_edges + (n_bytes % n_edges != 0);
    if (!hs_mul_fits(2 * n_bytes, n_more, &need))
        need = UINT64_MAX;
    hs_status status = hs_disk_need(hs_spill_directory(w->chunk.budget), need, err);
    if (status != HS_OK)
        hs_edge_runs_fini(&w->runs, w->chunk.budget);
    return status;
}

hs_status hs_snap_writer_part(struct hs_snap_writer *w, struct hs_edge *edges, size_t n_edges,
                              uint64_t n_more, struct hs_error *err)
{
    bool is_first = w->runs.n_runs == 0;

    HS_TRY(hs_edge_runs_add(&w->runs, w->chunk.budget, edges, n_edges, err));
    return is_first && n_edges != 0 ? writer_foresee_parts(w, n_edges, n_more, err) : HS_OK;
}

struct writer_edges {
    struct hs_snap_writer *w;
    const struct hs_block_record *block;
};

static hs_status writer_put_edges(void *context, const struct hs_edge *edges, size_t n_edges,
                                  struct hs_error *err)
{
    const struct writer_edges *of = context;

    for (size_t i = 0; i < n_edges; i++)
        HS_TRY(writer_verify_edge(of->w, of->block, &edges[i], err));
    HS_TRY(hs_chunk_encoder_edges(&of->w->chunk, edges, n_edges, err));
    for (size_t i = 0; i < n_edges; i++)
        if (hs_edge_is_strong(edges[i].edge_class))
            writer_count_target(of->w, edges[i].target);
    return HS_OK;
}

/* All edges of a block, in their order. */
static hs_status writer_edges(struct hs_snap_writer *w, const struct hs_block_record *block,
                              struct hs_edge *edges, size_t n_edges, struct hs_error *err)
{
    struct writer_edges of = {.w = w, .block = block};
    const struct hs_edge_sink sink = {.put = writer_put_edges, .context = &of};

    if (w->runs.n_runs == 0) {
        hs_edges_sort(edges, n_edges);
        return writer_put_edges(&of, edges, n_edges, err);
    }
    HS_TRY(hs_edge_runs_add(&w->runs, w->chunk.budget, edges, n_edges, err));
    w->chunk.targets.kept_bytes = w->chunk.fields.kept_bytes = HS_SECTION_KEPT_BYTES;
    return hs_edge_runs_merge(&w->runs, w->chunk.budget, &sink, err);
}

hs_status hs_snap_writer_block(struct hs_snap_writer *w, const struct hs_block_record *block,
                               struct hs_edge *edges, size_t n_edges, struct hs_error *err)
{
    hs_addr end_address = 0;
    HS_TRY(writer_verify_block(w, block, &end_address, err));
    HS_TRY(writer_edges(w, block, edges, n_edges, err));
    HS_TRY(hs_chunk_encoder_add(&w->chunk, block, NULL, 0, err));

    w->end_address = end_address;
    w->totals.n_blocks++;
    if (block->state & HS_BLOCK_STATIC) {
        w->totals.n_static_blocks++;
        w->totals.static_words += block->words;
    } else {
        w->totals.heap_words += block->words;
    }
    if (block->type >= w->n_types_used)
        w->n_types_used = (uint64_t)block->type + 1;
    return w->chunk.n_blocks == HS_CHUNK_BLOCKS ? writer_flush_chunk(w, err) : HS_OK;
}

static hs_status writer_verify_end(const struct hs_snap_writer *w, const struct hs_snap_ending *end,
                                   struct hs_error *err)
{
    if (w->totals.n_blocks != w->n_promised)
        return hs_fail(err, HS_BUG, "%llu blocks of the promised %llu",
                       (unsigned long long)w->totals.n_blocks, (unsigned long long)w->n_promised);
    if (w->n_types_used > end->n_types || end->n_types > UINT32_MAX)
        return hs_fail(err, HS_BUG, "type %llu is used and %zu are given",
                       (unsigned long long)w->n_types_used - 1, end->n_types);
    struct hs_samples_limits limits = {
        .n_roots = w->totals.n_tree, .n_blocks = w->n_promised, .n_samplers = w->n_samplers};
    uint32_t n_sites = 0;
    hs_status status = hs_site_frames_verify(end->site_frames, end->n_site_frames, &n_sites, err);
    limits.n_sites = n_sites;
    if (status == HS_OK)
        status = hs_samples_verify(end->samples, end->n_samples, &limits, err);
    if (status == HS_OK)
        status = hs_members_verify(end->members, end->n_members, end->types, end->n_types, err);
    if (status != HS_OK)
        err->status = HS_BUG;
    return status == HS_OK ? HS_OK : HS_BUG;
}

static hs_status writer_put_tables(struct hs_snap_writer *w, const struct hs_snap_ending *end,
                                   struct hs_error *err)
{
    const struct hs_column_limits limits = writer_limits(w);
    w->raw.n_bytes = 0;
    HS_TRY(
        hs_schema_encode_list(&hs_schema_types, end->types, end->n_types, &limits, &w->raw, err));
    HS_TRY(hs_schema_encode_list(&hs_schema_members, end->members, end->n_members, &limits, &w->raw,
                                 err));
    HS_TRY(writer_put(w, HS_SECTION_TYPES, 0, err));
    w->raw.n_bytes = 0;
    HS_TRY(hs_schema_encode_list(&hs_schema_samples, end->samples, end->n_samples, &limits, &w->raw,
                                 err));
    HS_TRY(hs_schema_encode_list(&hs_schema_site_frames, end->site_frames, end->n_site_frames,
                                 &limits, &w->raw, err));
    HS_TRY(writer_put(w, HS_SECTION_SAMPLES, 0, err));
    HS_TRY(writer_put_strings(w, err));

    size_t n = (size_t)((w->n_promised + 1023) >> HS_HISTOGRAM_SHIFT);
    w->raw.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&w->raw, (n + 1) * HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(&w->raw, n);
    for (size_t i = 0; i < n; i++)
        hs_buffer_put_varint(&w->raw, w->in_degrees[i]);
    return writer_put(w, HS_SECTION_HISTOGRAM, 0, err);
}

/* Totals, chunks, and the heads of all sections before this one. */
static hs_status writer_put_trailer(struct hs_snap_writer *w, struct hs_error *err)
{
    const struct hs_section_writer *s = &w->sections;
    const struct hs_column_limits limits = writer_limits(w);
    w->raw.n_bytes = 0;
    HS_TRY(hs_schema_encode(&hs_schema_totals, &w->totals, 1, &limits, &w->raw, err));
    HS_TRY(hs_schema_encode_list(&hs_schema_chunks, w->chunks, w->n_chunks, &limits, &w->raw, err));
    HS_TRY(hs_schema_encode_list(&hs_schema_sections, s->sections, s->n_sections, &limits, &w->raw,
                                 err));
    return writer_put(w, HS_SECTION_TRAILER, 0, err);
}

hs_status hs_snap_writer_finish(struct hs_snap_writer *w, const struct hs_snap_ending *ending,
                                struct hs_snap_totals *ret, struct hs_error *err)
{
    struct hs_footer footer;
    HS_TRY(writer_verify_end(w, ending, err));
    if (w->chunk.n_blocks != 0)
        HS_TRY(writer_flush_chunk(w, err));
    assert(w->n_chunks == hs_chunks_of(w->n_promised));
    HS_TRY(writer_put_tables(w, ending, err));
    w->totals.n_types = ending->n_types;
    w->totals.n_members = ending->n_members;
    w->totals.n_samples = ending->n_samples;
    w->totals.n_strings = w->n_strings_written;
    w->totals.n_chunks = w->n_chunks;
    HS_TRY(writer_put_trailer(w, err));
    HS_TRY(hs_section_writer_footer(&w->sections, &footer, err));
    w->totals.checksum = footer.checksum;
    w->totals.file_bytes = footer.file_bytes;
    *ret = w->totals;
    return HS_OK;
}

void hs_snap_writer_free(struct hs_snap_writer *w)
{
    if (w == NULL)
        return;
    hs_section_writer_fini(&w->sections);
    hs_edge_runs_fini(&w->runs, w->chunk.budget);
    hs_chunk_encoder_fini(&w->chunk);
    hs_pages_free(w->in_degrees, w->n_in_degrees, sizeof w->in_degrees[0]);
    hs_free(w->chunks);
    hs_buffer_fini(&w->raw);
    hs_free(w);
}
