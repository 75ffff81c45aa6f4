/* links: hs_format */
/* The snapshot reader against any bytes. Hashes are not compared, so that damage gets through to
 * the decoders; and once more with them, as users have it. */
#include <assert.h>
#include <string.h>

#include "format/layout.h"
#include "snapshot/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { MAX_CHUNKS = 4 };

/* What the reader lets through must be in range. */
static void fuzz_chunk(const struct hs_snap *snap, const struct hs_chunk *chunk)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    const hs_node end = totals->n_tree + totals->n_blocks;
    for (uint64_t e = 0; chunk->target != NULL && e < chunk->n_edges; e++)
        assert(chunk->target[e] >= totals->n_tree && chunk->target[e] < end);
    for (uint64_t e = 0; chunk->extra != NULL && e < chunk->n_extra; e++)
        assert(chunk->extra[e].target >= totals->n_tree && chunk->extra[e].target < end);
    for (uint32_t i = 0; chunk->type != NULL && i < chunk->n_blocks; i++)
        (void)hs_snap_type(snap, chunk->type[i]);
    for (uint32_t i = 1; chunk->address != NULL && i < chunk->n_blocks; i++)
        assert(chunk->address[i] > chunk->address[i - 1]);
    if (chunk->edge_begin != NULL)
        assert(chunk->edge_begin[0] == 0 && chunk->edge_begin[chunk->n_blocks] == chunk->n_edges);
}

static void fuzz_chunks(const struct hs_snap *snap, struct hs_error *err)
{
    struct hs_chunk chunk = {0};
    hs_node node;
    static const unsigned sets[] = {HS_COL_SIZES, HS_COL_TYPES,   HS_COL_EDGES, HS_COL_FIELDS,
                                    HS_COL_EXTRA, HS_COL_CLASSES, HS_COL_ALL};
    for (uint64_t at = 0; at < hs_snap_totals(snap)->n_chunks && at < MAX_CHUNKS; at++)
        for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
            if (hs_snap_load_chunk(snap, at, sets[i], &chunk, err) == HS_OK)
                fuzz_chunk(snap, &chunk);
    hs_chunk_fini(&chunk);
    if (hs_snap_find_address(snap, 0x601008, &node, err) == HS_OK)
        assert(node == HS_NO_NODE || node < hs_snap_totals(snap)->n_tree + HS_MAX_BLOCKS);
}

static size_t fuzz_members(const struct hs_snap *snap, uint32_t type)
{
    size_t n, n_bytes = 0;
    const uint64_t stride = hs_snap_type(snap, type)->stride_bytes;
    const struct hs_member *members = hs_snap_members(snap, type, &n);
    for (size_t i = 0; i < n; i++) {
        assert(members[i].type == type && (stride == 0 || members[i].offset_bytes < stride));
        assert(i == 0 || members[i].offset_bytes >= members[i - 1].offset_bytes);
        n_bytes += strlen(hs_snap_string(snap, members[i].name));
        n_bytes += strlen(hs_snap_string(snap, members[i].type_name));
        const struct hs_member *first =
            hs_snap_member_at(snap, type, members[i].offset_bytes, NULL);
        assert(first <= &members[i] && first->offset_bytes == members[i].offset_bytes);
    }
    return n_bytes;
}

static void fuzz_tables(const struct hs_snap *snap)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    size_t n_bytes = 0, n_found;
    for (hs_node i = 0; i < totals->n_tree; i++)
        for (const char *c = hs_snap_string(snap, hs_snap_root(snap, i)->name); *c != '\0'; c++)
            n_bytes++;
    for (uint64_t i = 0; i < totals->n_types; i++)
        for (const char *c = hs_snap_string(snap, hs_snap_type(snap, (uint32_t)i)->name); *c; c++)
            n_bytes++;
    for (uint64_t i = 0; i < totals->n_types; i++)
        n_bytes += fuzz_members(snap, (uint32_t)i);
    for (uint64_t i = 0; i < totals->n_samples; i++)
        assert(hs_snap_find_samples(snap, hs_snap_sample(snap, i)->id, &n_found) != NULL);
    for (uint32_t i = 0; i < hs_snap_n_sites(snap); i++) {
        const struct hs_site_frame *frames = hs_snap_site(snap, i, &n_found);
        for (size_t j = 0; j < n_found; j++)
            n_bytes += strlen(hs_snap_string(snap, frames[j].function));
    }
    assert(n_bytes < SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static const unsigned ways[] = {HS_SNAP_TRUST_HASHES, HS_SNAP_TRUST_HASHES | HS_SNAP_ALLOW_CUT,
                                    0, HS_SNAP_ALLOW_CUT};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_snap *snap = NULL;
        hs_status status = hs_snap_open_bytes(data, n_bytes, ways[i], &snap, &err);
        assert(status == HS_OK || status == HS_FORMAT || status == HS_LIMIT);
        if (status != HS_OK)
            continue;
        fuzz_tables(snap);
        fuzz_chunks(snap, &err);
        status = hs_snap_check(snap, NULL, &err);
        assert(status != HS_BUG && status != HS_IO);
        hs_snap_close(snap);
    }
    return 0;
}
