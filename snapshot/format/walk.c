/* Walks from head to head through a file whose end is missing or wrong: says where it is cut, and
 * opens what is whole. */
#include <assert.h>

#include "base/alloc.h"
#include "reader_internal.h"

/* Is this the head that has to stand at place `at`? */
static bool walk_is_expected(const struct hs_section *section, uint64_t at, uint64_t n_chunks)
{
    if (section->kind != hs_section_expected(at, n_chunks) || section->flags > HS_SECTION_ZSTD)
        return false;
    if (section->kind == HS_SECTION_STRINGS)
        return section->id != 0;
    uint64_t in_chunks = at - HS_FRONT_SECTIONS;
    bool is_column = at >= HS_FRONT_SECTIONS && in_chunks < HS_CHUNK_SECTIONS * n_chunks;
    return section->id == (is_column ? in_chunks / HS_CHUNK_SECTIONS : 0);
}

static hs_status walk_keep(struct hs_snap *snap, const struct hs_section *section,
                           struct hs_error *err)
{
    HS_TRY(HS_GROW(&snap->sections, &snap->sections_capacity, snap->n_sections + 1, err));
    snap->sections[snap->n_sections++] = *section;
    return HS_OK;
}

hs_status hs_snap_walk(struct hs_snap *snap, struct hs_walk *ret, struct hs_error *err)
{
    const uint64_t n_bytes = snap->file.n_bytes;
    const uint64_t n_chunks = hs_chunks_of(snap->header.n_blocks);
    const uint64_t n_expected = hs_sections_of(n_chunks);
    struct hs_walk walk = {.cut_offset = HS_HEADER_BYTES};
    assert(n_bytes >= HS_HEADER_BYTES && snap->n_sections == 0);
    while (walk.n_whole < n_expected && n_bytes - walk.cut_offset >= HS_HEAD_BYTES) {
        struct hs_section section;
        hs_head_decode(snap->file.bytes + walk.cut_offset, walk.cut_offset, &section);
        if (!walk_is_expected(&section, walk.n_whole, n_chunks)) {
            walk.is_damaged = true;
            walk.damaged = section;
            break;
        }
        if (section.stored_bytes > n_bytes - walk.cut_offset - HS_HEAD_BYTES)
            break;
        HS_TRY(walk_keep(snap, &section, err));
        walk.cut_offset += HS_HEAD_BYTES + section.stored_bytes;
        walk.n_whole++;
    }
    *ret = walk;
    return HS_OK;
}

/* Totals of the whole chunks, by decoding them. */
static hs_status walk_count_chunk(struct hs_snap *snap, uint64_t at, struct hs_chunk *chunk,
                                  struct hs_error *err)
{
    HS_TRY(hs_snap_load_chunk(snap, at, HS_COL_SIZES | HS_COL_CLASSES | HS_COL_EXTRA, chunk, err));
    struct hs_snap_totals *totals = &snap->totals;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        bool is_static = chunk->state[i] & HS_BLOCK_STATIC;
        totals->n_static_blocks += is_static;
        totals->static_words += is_static ? chunk->words[i] : 0;
        totals->heap_words += is_static ? 0 : chunk->words[i];
    }
    for (uint64_t e = 0; e < chunk->n_edges; e++)
        totals->n_doubtful_edges += !hs_edge_is_sure(chunk->edge_class[e]);
    totals->n_edges += chunk->n_edges;
    totals->n_extra_edges += chunk->n_extra;
    snap->chunks[at] = (struct hs_chunk_info){
        .n_edges = chunk->n_edges,
        .n_extra = chunk->n_extra,
        .first_address = chunk->address[0],
    };
    return HS_OK;
}

static hs_status walk_count(struct hs_snap *snap, struct hs_error *err)
{
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;
    for (uint64_t at = 0; at < snap->n_chunks && status == HS_OK; at++)
        status = walk_count_chunk(snap, at, &chunk, err);
    hs_chunk_fini(&chunk);
    return status;
}

/* Roots of blocks that are not there any more keep their place and lose their target. */
static void walk_drop_targets(struct hs_snap *snap)
{
    hs_node limit = snap->n_roots + snap->totals.n_blocks;
    for (size_t i = 0; i < snap->n_roots; i++)
        if (snap->roots[i].target != HS_NO_NODE && snap->roots[i].target >= limit)
            snap->roots[i].target = HS_NO_NODE;
}

static hs_status walk_make_types(struct hs_snap *snap, struct hs_error *err)
{
    if (snap->has_types)
        return HS_OK;
    HS_TRY(HS_ALLOC(&snap->types, 1, err));
    snap->types[0] = (struct hs_type){.form = HS_FORM_OTHER};
    snap->n_types = 1;
    return HS_OK;
}

hs_status hs_snap_open_cut(struct hs_snap *snap, const struct hs_walk *walk, struct hs_error *err)
{
    uint64_t promised = snap->header.n_blocks;
    uint64_t n_chunks = hs_chunks_of(promised);
    bool whole_tables = walk->n_whole + 1 >= hs_sections_of(n_chunks);
    assert(walk->n_whole >= HS_FRONT_SECTIONS);
    if (!whole_tables && (walk->n_whole - HS_FRONT_SECTIONS) / HS_CHUNK_SECTIONS < n_chunks)
        n_chunks = (walk->n_whole - HS_FRONT_SECTIONS) / HS_CHUNK_SECTIONS;
    for (size_t i = 0; i < snap->n_sections; i++)
        HS_TRY(hs_section_verify(&snap->file, &snap->sections[i], err));

    HS_TRY(HS_ALLOC(&snap->chunks, (size_t)n_chunks, err));
    snap->n_chunks = (size_t)n_chunks;
    snap->is_cut = true;
    snap->cut_offset = walk->cut_offset;
    HS_TRY(hs_snap_read_tables(snap, whole_tables, err));
    HS_TRY(walk_make_types(snap, err));

    uint64_t n_blocks = n_chunks * HS_CHUNK_BLOCKS;
    snap->totals = (struct hs_snap_totals){
        .n_tree = snap->n_roots,
        .n_blocks = n_blocks < promised ? n_blocks : promised,
        .n_types = snap->n_types,
        .n_samples = snap->n_samples,
        .n_strings = snap->n_strings,
        .n_chunks = n_chunks,
        .file_bytes = snap->file.n_bytes,
    };
    walk_drop_targets(snap);
    return walk_count(snap, err);
}
