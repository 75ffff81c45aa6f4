/* The deep check: decodes everything and counts it again. */
#include <assert.h>

#include "base/alloc.h"
#include "reader_internal.h"

struct check {
    const struct hs_snap *snap;
    struct hs_snap_totals totals; /* counted again */
    hs_addr end_address;          /* of the last block so far */
    uint64_t *in_degrees;         /* owned pages; counted again */
    size_t n_in_degrees;
    struct hs_chunk chunk;
};

static hs_status check_edges(struct check *check, uint32_t at, struct hs_error *err)
{
    const struct hs_chunk *chunk = &check->chunk;
    hs_node first_block = check->snap->n_roots;
    unsigned long long node = chunk->first + at;
    for (uint64_t e = chunk->edge_begin[at]; e < chunk->edge_begin[at + 1]; e++) {
        if (chunk->offset_words[e] >= chunk->words[at])
            return hs_fail(err, HS_FORMAT, "block %llu of %llu words has an edge at word %llu",
                           node, (unsigned long long)chunk->words[at],
                           (unsigned long long)chunk->offset_words[e]);
        bool repeats = e > chunk->edge_begin[at] && chunk->target[e] == chunk->target[e - 1];
        if (repeats && chunk->offset_words[e] < chunk->offset_words[e - 1])
            return hs_fail(err, HS_FORMAT, "the edges of block %llu are out of order", node);
        check->in_degrees[(chunk->target[e] - first_block) >> HS_HISTOGRAM_SHIFT]++;
        check->totals.n_doubtful_edges += !hs_edge_is_sure(chunk->edge_class[e]);
    }
    return HS_OK;
}

static hs_status check_block(struct check *check, uint32_t at, struct hs_error *err)
{
    const struct hs_chunk *chunk = &check->chunk;
    unsigned long long node = chunk->first + at;
    /* Inside a chunk the encoding cannot go backwards; between two it can. */
    if (chunk->address[at] < check->end_address)
        return hs_fail(err, HS_FORMAT, "block %llu begins before the one before it ends", node);
    check->end_address = chunk->address[at] + chunk->words[at] * check->snap->header.word_bytes;
    HS_TRY(check_edges(check, at, err));
    bool is_static = chunk->state[at] & HS_BLOCK_STATIC;
    if ((chunk->state[at] & HS_BLOCK_MAPPING) && !is_static)
        return hs_fail(err, HS_FORMAT, "block %llu is of a mapping and counts as heap", node);
    check->totals.n_static_blocks += is_static;
    check->totals.static_words += is_static ? chunk->words[at] : 0;
    check->totals.heap_words += is_static ? 0 : chunk->words[at];
    return HS_OK;
}

static hs_status check_extra(const struct check *check, struct hs_error *err)
{
    const struct hs_chunk *chunk = &check->chunk;
    for (uint64_t i = 0; i < chunk->n_extra; i++) {
        const struct hs_extra_edge *edge = &chunk->extra[i];
        assert(edge->source - chunk->first < chunk->n_blocks);
        if (edge->offset_words >= chunk->words[edge->source - chunk->first])
            return hs_fail(err, HS_FORMAT, "block %llu has an extra edge at word %llu",
                           (unsigned long long)edge->source,
                           (unsigned long long)edge->offset_words);
    }
    return HS_OK;
}

static hs_status check_chunk(struct check *check, uint64_t at, struct hs_error *err)
{
    HS_TRY(hs_snap_load_chunk(check->snap, at, HS_COL_ALL, &check->chunk, err));
    assert(check->chunk.n_blocks != 0);
    for (uint32_t i = 0; i < check->chunk.n_blocks; i++)
        HS_TRY(check_block(check, i, err));
    check->totals.n_edges += check->chunk.n_edges;
    check->totals.n_extra_edges += check->chunk.n_extra;
    check->totals.n_blocks += check->chunk.n_blocks;
    return check_extra(check, err);
}

static hs_status check_equal(const char *what, uint64_t stored, uint64_t counted,
                             struct hs_error *err)
{
    if (stored != counted)
        return hs_fail(err, HS_FORMAT, "its trailer counts %llu %s, and there are %llu",
                       (unsigned long long)stored, what, (unsigned long long)counted);
    return HS_OK;
}

static hs_status check_totals(const struct check *check, struct hs_error *err)
{
    const struct hs_snap_totals *stored = &check->snap->totals;
    const struct hs_snap_totals *counted = &check->totals;
    HS_TRY(check_equal("blocks", stored->n_blocks, counted->n_blocks, err));
    HS_TRY(check_equal("edges", stored->n_edges, counted->n_edges, err));
    HS_TRY(check_equal("extra edges", stored->n_extra_edges, counted->n_extra_edges, err));
    if (stored->n_doubtful_edges != HS_UNKNOWN_DOUBT)
        HS_TRY(check_equal("doubtful edges", stored->n_doubtful_edges, counted->n_doubtful_edges,
                           err));
    HS_TRY(check_equal("static blocks", stored->n_static_blocks, counted->n_static_blocks, err));
    HS_TRY(check_equal("heap words", stored->heap_words, counted->heap_words, err));
    return check_equal("static words", stored->static_words, counted->static_words, err);
}

/* A cut file has no histogram to compare with. */
static hs_status check_histogram(const struct check *check, struct hs_error *err)
{
    const struct hs_snap *snap = check->snap;
    for (size_t i = 0; i < snap->n_roots; i++)
        if (snap->roots[i].target != HS_NO_NODE && !snap->roots[i].weak)
            check->in_degrees[(snap->roots[i].target - snap->n_roots) >> HS_HISTOGRAM_SHIFT]++;
    if (snap->is_cut)
        return HS_OK;
    assert(snap->n_in_degrees <= check->n_in_degrees);
    for (size_t i = 0; i < snap->n_in_degrees; i++)
        if (snap->in_degrees[i] != check->in_degrees[i])
            return hs_fail(err, HS_FORMAT,
                           "section HISTOGRAM gives run %zu of blocks %llu pointers, and there are "
                           "%llu",
                           i, (unsigned long long)snap->in_degrees[i],
                           (unsigned long long)check->in_degrees[i]);
    return HS_OK;
}

static hs_status check_all(struct check *check, const struct hs_progress *progress,
                           struct hs_error *err)
{
    const struct hs_snap *snap = check->snap;
    for (size_t i = 0; i < snap->n_sections; i++)
        HS_TRY(hs_section_verify(&snap->file, &snap->sections[i], err));
    for (uint64_t at = 0; at < snap->n_chunks; at++) {
        HS_TRY(hs_progress_tell(progress, "checking", at, snap->n_chunks, err));
        HS_TRY(check_chunk(check, at, err));
    }
    HS_TRY(check_totals(check, err));
    HS_TRY(check_histogram(check, err));
    return hs_progress_tell(progress, "checking", snap->n_chunks, snap->n_chunks, err);
}

hs_status hs_snap_check(const struct hs_snap *snap, const struct hs_progress *progress,
                        struct hs_error *err)
{
    struct check check = {.snap = snap};
    check.n_in_degrees = (size_t)((snap->totals.n_blocks >> HS_HISTOGRAM_SHIFT) + 1);
    HS_TRY(HS_PAGES_ALLOC(&check.in_degrees, check.n_in_degrees, err));
    hs_status status = check_all(&check, progress, err);
    hs_chunk_fini(&check.chunk);
    hs_pages_free(check.in_degrees, check.n_in_degrees, sizeof check.in_degrees[0]);
    return status;
}
