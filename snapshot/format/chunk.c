/* Chunks on demand: verify, unpack and decode the columns that were asked for. */
#include <assert.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "reader_internal.h"

const struct hs_section *hs_snap_chunk_section(const struct hs_snap *snap, uint64_t chunk,
                                               enum hs_section_kind kind)
{
    size_t at = HS_FRONT_SECTIONS + (size_t)chunk * HS_CHUNK_SECTIONS + (kind - HS_SECTION_SIZES);
    assert(at < snap->n_sections && snap->sections[at].kind == kind);
    return &snap->sections[at];
}

void hs_chunk_fini(struct hs_chunk *chunk)
{
    if (chunk == NULL)
        return;
    struct hs_chunk_storage *s = chunk->storage;
    if (s != NULL) {
        hs_unpacker_fini(&s->unpacker);
        hs_free(s->address);
        hs_free(s->words);
        hs_free(s->state);
        hs_free(s->type);
        hs_free(s->edge_begin);
        hs_free(s->target);
        hs_free(s->offset_words);
        hs_free(s->edge_class);
        hs_free(s->edge_reason);
        hs_free(s->extra);
        hs_free(s->counts);
        hs_free(s);
    }
    *chunk = (struct hs_chunk){0};
}

#define CHUNK_ROOM(s, member, capacity, n) HS_TRY(HS_GROW(&(s)->member, &(s)->capacity, (n), err))

static hs_status chunk_decode_edges(const struct hs_section_view *view,
                                    const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                                    struct hs_error *err)
{
    struct hs_chunk_storage *s = chunk->storage;
    size_t used;
    CHUNK_ROOM(s, edge_begin, edge_begin_capacity, (size_t)chunk->n_blocks + 1);
    chunk->edge_begin = s->edge_begin;
    HS_TRY(hs_degrees_decode(view->bytes, view->n_bytes, chunk, &used, err));
    CHUNK_ROOM(s, target, target_capacity, (size_t)chunk->n_edges);
    chunk->target = s->target;
    return hs_targets_decode(view->bytes + used, view->n_bytes - used, limits, chunk, err);
}

/* All of it, or the classes alone. */
static hs_status chunk_decode_fields(const struct hs_section_view *view, unsigned columns,
                                     const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                                     struct hs_error *err)
{
    struct hs_chunk_storage *s = chunk->storage;
    CHUNK_ROOM(s, edge_class, class_capacity, (size_t)chunk->n_edges);
    chunk->edge_class = s->edge_class;
    if ((columns & HS_COL_FIELDS) == 0)
        return hs_classes_decode(view->bytes, view->n_bytes, limits, chunk, err);
    CHUNK_ROOM(s, offset_words, offset_capacity, (size_t)chunk->n_edges);
    chunk->offset_words = s->offset_words;
    if ((columns & HS_COL_REASONS) != 0) {
        CHUNK_ROOM(s, edge_reason, reason_capacity, (size_t)chunk->n_edges);
        chunk->edge_reason = s->edge_reason;
    }
    return hs_fields_decode(view->bytes, view->n_bytes, limits, chunk, err);
}

/* The types, and the counts where they are asked for; else those are verified only. */
static hs_status chunk_decode_types(const struct hs_section_view *view, unsigned columns,
                                    const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                                    struct hs_error *err)
{
    struct hs_chunk_storage *s = chunk->storage;
    size_t used;
    uint32_t n;
    CHUNK_ROOM(s, type, type_capacity, chunk->n_blocks);
    chunk->type = s->type;
    HS_TRY(hs_block_types_decode(view->bytes, view->n_bytes, limits, chunk, &used, err));
    HS_TRY(hs_counts_number(view->bytes + used, view->n_bytes - used, limits, chunk, &n, err));
    chunk->counts = NULL;
    if ((columns & HS_COL_COUNTS) != 0 && n != 0) {
        CHUNK_ROOM(s, counts, counts_capacity, n);
        chunk->counts = s->counts;
    }
    chunk->n_counts = chunk->counts == NULL ? 0 : n;
    return hs_counts_decode(view->bytes + used, view->n_bytes - used, chunk, err);
}

static hs_status chunk_decode(enum hs_section_kind kind, const struct hs_section_view *view,
                              unsigned columns, const struct hs_chunk_limits *limits,
                              struct hs_chunk *chunk, struct hs_error *err)
{
    struct hs_chunk_storage *s = chunk->storage;
    switch (kind) {
    case HS_SECTION_SIZES:
        CHUNK_ROOM(s, address, address_capacity, chunk->n_blocks);
        CHUNK_ROOM(s, words, words_capacity, chunk->n_blocks);
        CHUNK_ROOM(s, state, state_capacity, chunk->n_blocks);
        chunk->address = s->address;
        chunk->words = s->words;
        chunk->state = s->state;
        return hs_sizes_decode(view->bytes, view->n_bytes, limits, chunk, err);
    case HS_SECTION_BLOCK_TYPES:
        return chunk_decode_types(view, columns, limits, chunk, err);
    case HS_SECTION_EDGES:
        return chunk_decode_edges(view, limits, chunk, err);
    case HS_SECTION_FIELDS:
        return chunk_decode_fields(view, columns, limits, chunk, err);
    default:
        assert(kind == HS_SECTION_EXTRA);
        HS_TRY(hs_extra_count(view->bytes, view->n_bytes, limits, &chunk->n_extra, err));
        CHUNK_ROOM(s, extra, extra_capacity, (size_t)chunk->n_extra);
        chunk->extra = s->extra;
        return hs_extra_decode(view->bytes, view->n_bytes, limits, chunk, err);
    }
}

static hs_status chunk_load_column(const struct hs_snap *snap, uint64_t at,
                                   enum hs_section_kind kind, unsigned columns,
                                   struct hs_chunk *chunk, struct hs_error *err)
{
    /* A file cut before its types has a single type, given to all. */
    struct hs_chunk_limits limits = {
        .version = snap->header.version,
        .word_bytes = snap->header.word_bytes,
        .n_tree = snap->n_roots,
        .n_blocks = snap->header.n_blocks,
        .n_types = snap->is_cut && !snap->has_types ? UINT32_MAX : snap->n_types,
        .max_state = HS_BLOCK_STATES,
    };
    if (snap->header.version == 1)
        limits.max_state = HS_BLOCK_STATIC | HS_BLOCK_YOUNG;
    struct hs_section_view view;
    const struct hs_section *section = hs_snap_chunk_section(snap, at, kind);
    HS_TRY(hs_section_load(&snap->file, section, &chunk->storage->unpacker, &view, err));
    hs_status status = chunk_decode(kind, &view, columns, &limits, chunk, err);
    hs_map_release(&snap->map, section->offset, section->offset + section->stored_bytes);
    return status == HS_OK ? HS_OK : hs_section_context(section, err);
}

/* Drops edges into what is missing of a cut file. */
static void chunk_drop_edges(struct hs_chunk *chunk, hs_node limit)
{
    uint64_t n = 0;
    uint64_t e = 0;
    for (uint32_t i = 0; chunk->edge_begin != NULL && i < chunk->n_blocks; i++) {
        uint64_t end = chunk->edge_begin[i + 1];
        for (; e < end; e++) {
            if (chunk->target[e] >= limit)
                continue;
            chunk->target[n] = chunk->target[e];
            if (chunk->offset_words != NULL)
                chunk->offset_words[n] = chunk->offset_words[e];
            if (chunk->edge_class != NULL)
                chunk->edge_class[n] = chunk->edge_class[e];
            if (chunk->edge_reason != NULL)
                chunk->edge_reason[n] = chunk->edge_reason[e];
            n++;
        }
        chunk->edge_begin[i + 1] = n;
    }
    chunk->n_edges = n;
    n = 0;
    for (uint64_t i = 0; i < chunk->n_extra; i++)
        if (chunk->extra[i].target < limit)
            chunk->extra[n++] = chunk->extra[i];
    chunk->n_extra = n;
}

static void chunk_hide_types(struct hs_chunk *chunk)
{
    for (uint32_t i = 0; chunk->type != NULL && i < chunk->n_blocks; i++)
        chunk->type[i] = 0;
}

static hs_status chunk_begin(const struct hs_snap *snap, uint64_t at, struct hs_chunk *chunk,
                             struct hs_error *err)
{
    if (at >= snap->n_chunks)
        return hs_fail(err, HS_BUG, "chunk %llu of %zu", (unsigned long long)at, snap->n_chunks);
    if (chunk->storage == NULL) {
        HS_TRY(HS_ALLOC(&chunk->storage, 1, err));
    }
    uint64_t left = snap->header.n_blocks - at * HS_CHUNK_BLOCKS;
    *chunk = (struct hs_chunk){
        .first = snap->n_roots + at * HS_CHUNK_BLOCKS,
        .n_blocks = left < HS_CHUNK_BLOCKS ? (uint32_t)left : HS_CHUNK_BLOCKS,
        .storage = chunk->storage,
    };
    return HS_OK;
}

static hs_status chunk_verify_counts(const struct hs_snap *snap, uint64_t at, unsigned columns,
                                     const struct hs_chunk *chunk, struct hs_error *err)
{
    const struct hs_chunk_info *info = &snap->chunks[at];
    if (((columns & HS_COL_EDGES) && info->n_edges != chunk->n_edges) ||
        ((columns & HS_COL_EXTRA) && info->n_extra != chunk->n_extra) ||
        ((columns & HS_COL_SIZES) && info->first_address != chunk->address[0]))
        return hs_fail(err, HS_FORMAT, "chunk %llu is not as the trailer describes it",
                       (unsigned long long)at);
    return HS_OK;
}

static const unsigned column_bits[HS_CHUNK_SECTIONS] = {
    HS_COL_SIZES, HS_COL_TYPES | HS_COL_COUNTS, HS_COL_EDGES,
    HS_COL_FIELDS | HS_COL_CLASSES | HS_COL_REASONS, HS_COL_EXTRA};

/* A number takes a byte at least: no trailer can claim more than its sections are large. */
static uint64_t chunk_at_most(const struct hs_snap *snap, uint64_t at, enum hs_section_kind kind,
                              uint64_t claimed, uint64_t n_numbers)
{
    uint64_t most = hs_snap_chunk_section(snap, at, kind)->raw_bytes / n_numbers;
    return claimed < most ? claimed : most;
}

uint64_t hs_snap_chunk_edges(const struct hs_snap *snap, uint64_t at, uint64_t *ret_extra)
{
    const struct hs_chunk_info *info = &snap->chunks[at];

    *ret_extra = chunk_at_most(snap, at, HS_SECTION_EXTRA, info->n_extra, 4);
    return chunk_at_most(snap, at, HS_SECTION_EDGES, info->n_edges, 1);
}

static unsigned chunk_with_edges(unsigned columns)
{
    columns |= columns & HS_COL_REASONS ? HS_COL_FIELDS : 0;
    columns |= columns & HS_COL_COUNTS ? HS_COL_TYPES : 0;
    return columns & (HS_COL_FIELDS | HS_COL_CLASSES) ? columns | HS_COL_EDGES : columns;
}

/* A count takes three bytes at the least, behind a byte at least for each type. */
static uint64_t chunk_most_counts(const struct hs_snap *snap, uint64_t at, uint64_t n_blocks)
{
    uint64_t n_bytes = hs_snap_chunk_section(snap, at, HS_SECTION_BLOCK_TYPES)->raw_bytes;
    uint64_t n = n_bytes > n_blocks ? (n_bytes - n_blocks) / 3 : 0;
    return (n < n_blocks ? n : n_blocks) * sizeof(struct hs_block_count);
}

uint64_t hs_snap_chunk_bytes(const struct hs_snap *snap, uint64_t at, unsigned columns)
{
    uint64_t left = snap->header.n_blocks - at * HS_CHUNK_BLOCKS, n_extra, unpacked = 0;
    uint64_t n = left < HS_CHUNK_BLOCKS ? left : HS_CHUNK_BLOCKS;
    uint64_t n_edges = hs_snap_chunk_edges(snap, at, &n_extra);
    columns = chunk_with_edges(columns);
    const bool has_classes = (columns & (HS_COL_FIELDS | HS_COL_CLASSES)) != 0;

    uint64_t decoded = (columns & HS_COL_SIZES ? n * (sizeof(hs_addr) + sizeof(uint64_t) + 1) : 0) +
                       (columns & HS_COL_TYPES ? n * sizeof(uint32_t) : 0) +
                       (columns & HS_COL_EDGES ? (n + 1 + n_edges) * sizeof(uint64_t) : 0) +
                       (has_classes ? n_edges : 0) + (columns & HS_COL_REASONS ? n_edges : 0) +
                       (columns & HS_COL_FIELDS ? n_edges * sizeof(uint64_t) : 0) +
                       (columns & HS_COL_COUNTS ? chunk_most_counts(snap, at, n) : 0) +
                       (columns & HS_COL_EXTRA ? n_extra * sizeof(struct hs_extra_edge) : 0);
    for (unsigned i = 0; i < HS_CHUNK_SECTIONS; i++) { /* each is unpacked into the same buffer */
        const struct hs_section *section =
            hs_snap_chunk_section(snap, at, (enum hs_section_kind)(HS_SECTION_SIZES + i));
        uint64_t n_bytes = section->stored_bytes +
                           ((section->flags & HS_SECTION_ZSTD) != 0 ? section->raw_bytes : 0);
        if ((columns & column_bits[i]) != 0 && n_bytes > unpacked)
            unpacked = n_bytes;
    }
    return unpacked + decoded;
}

/* Loads columns that `chunk` lacks. Of a cut file all are loaded again: its edges are dropped,
 * which is done once. */
hs_status hs_snap_load_more(const struct hs_snap *snap, uint64_t at, unsigned had, unsigned columns,
                            struct hs_chunk *chunk, struct hs_error *err)
{
    if (snap->is_cut || had == 0)
        return hs_snap_load_chunk(snap, at, had | columns, chunk, err);
    had = chunk_with_edges(had);
    columns = chunk_with_edges(columns);
    for (unsigned i = 0; i < HS_CHUNK_SECTIONS; i++)
        if (columns & ~had & column_bits[i])
            HS_TRY(chunk_load_column(snap, at, (enum hs_section_kind)(HS_SECTION_SIZES + i),
                                     had | columns, chunk, err));
    return chunk_verify_counts(snap, at, had | columns, chunk, err);
}

hs_status hs_snap_load_chunk(const struct hs_snap *snap, uint64_t at, unsigned columns,
                             struct hs_chunk *chunk, struct hs_error *err)
{
    HS_TRY(chunk_begin(snap, at, chunk, err));
    columns = chunk_with_edges(columns);
    for (unsigned i = 0; i < HS_CHUNK_SECTIONS; i++)
        if (columns & column_bits[i])
            HS_TRY(chunk_load_column(snap, at, (enum hs_section_kind)(HS_SECTION_SIZES + i),
                                     columns, chunk, err));
    if (!snap->is_cut)
        return chunk_verify_counts(snap, at, columns, chunk, err);
    chunk_drop_edges(chunk, snap->n_roots + snap->totals.n_blocks);
    if (!snap->has_types)
        chunk_hide_types(chunk);
    return HS_OK;
}

hs_node hs_chunk_find_address(const struct hs_chunk *chunk, uint32_t word_bytes, hs_addr address)
{
    size_t low = HS_FIRST_NOT(at, 0, chunk->n_blocks, chunk->address[at] <= address);
    if (low == 0)
        return HS_NO_NODE;
    uint64_t inside = address - chunk->address[low - 1];
    return inside / word_bytes < chunk->words[low - 1] ? chunk->first + low - 1 : HS_NO_NODE;
}

bool hs_snap_address_chunk(const struct hs_snap *snap, hs_addr address, uint64_t *ret)
{
    size_t low = HS_FIRST_ABOVE(snap->chunks, snap->n_chunks, first_address, address);
    if (low == 0)
        return false;
    *ret = low - 1;
    return true;
}

hs_status hs_snap_find_address(const struct hs_snap *snap, hs_addr address, hs_node *ret,
                               struct hs_error *err)
{
    uint64_t at;
    if (!hs_snap_address_chunk(snap, address, &at)) {
        *ret = HS_NO_NODE;
        return HS_OK;
    }
    struct hs_chunk chunk = {0};
    hs_status status = hs_snap_load_chunk(snap, at, HS_COL_SIZES, &chunk, err);
    if (status == HS_OK)
        *ret = hs_chunk_find_address(&chunk, snap->header.word_bytes, address);
    hs_chunk_fini(&chunk);
    return status;
}
