#include "analysis/block_file.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/buffer.h"
#include "base/spill.h"

enum {
    GROUP_BLOCKS = 64,
    GROUPS = HS_CHUNK_BLOCKS / GROUP_BLOCKS,
    GROUP_EDGES_MOST = 16384, /* of both kinds together */
    HEAD_BYTES = 4,
    BLOCK_BYTES = 6 * HS_VARINT_MAX_BYTES, /* at most, without its edges */
    EDGE_BYTES = 3 * HS_VARINT_MAX_BYTES,
    GROUP_BYTES = HEAD_BYTES + GROUP_BLOCKS * BLOCK_BYTES + GROUP_EDGES_MOST * EDGE_BYTES,
};
#define WEAK_MOST ((size_t)1 << 18)
#define CHUNK_BYTES_MOST ((uint64_t)8 << 20)

struct weak_edge {
    hs_node target;
    struct hs_link link; /* from there */
};

/* The places in the file of a chunk's groups of blocks; a group that was left out has no bytes. */
struct places {
    uint64_t at;
    uint32_t begin[GROUPS + 1];
};

struct hs_block_file {
    struct hs_spill spill;
    struct places *places;                       /* owned: by chunk */
    uint64_t n_added, taken_bytes, adding_bytes; /* the last: a part of the second */
    struct hs_chunk chunk;                       /* that is added */
    struct hs_buffer bytes;
    struct weak_edge *weak; /* owned: by target once all chunks are there */
    size_t n_weak, weak_capacity;
    bool has_all_weak;
    uint64_t group_at; /* of the group in `group`; UINT64_MAX: none */
    size_t n_group;
    uint8_t group[GROUP_BYTES];
    hs_node target[GROUP_EDGES_MOST]; /* of the row that was read last */
    uint64_t offset_words[GROUP_EDGES_MOST];
    uint8_t edge_class[GROUP_EDGES_MOST], edge_reason[GROUP_EDGES_MOST];
    struct hs_extra_edge extra[GROUP_EDGES_MOST];
};

/* ---- weak edges */

static hs_status add_weak(struct hs_block_file *file, const struct weak_edge *edge,
                          struct hs_error *err)
{
    if (file->n_weak == WEAK_MOST)
        file->has_all_weak = false;
    if (!file->has_all_weak)
        return HS_OK;
    HS_TRY(HS_GROW(&file->weak, &file->weak_capacity, file->n_weak + 1, err));
    file->weak[file->n_weak++] = *edge;
    return HS_OK;
}

static hs_status add_weak_roots(const struct hs_view *view, struct hs_error *err)
{
    for (hs_node leaf = 0; leaf < view->n_tree; leaf++) {
        const struct hs_root *root = hs_snap_root(view->snap, leaf);
        const struct weak_edge edge = {root->target,
                                       {leaf, HS_NO_OFFSET, HS_EDGE_WEAK, root->reason}};
        if (root->weak && root->target != HS_NO_NODE)
            HS_TRY(add_weak(view->blocks, &edge, err));
    }
    return HS_OK;
}

static hs_status add_weak_blocks(struct hs_block_file *file, struct hs_error *err)
{
    for (uint64_t i = 0; i < file->chunk.n_extra; i++) {
        const struct hs_extra_edge *extra = &file->chunk.extra[i];
        const struct weak_edge edge = {
            extra->target, {extra->source, extra->offset_words, extra->edge_class, extra->reason}};
        if (extra->edge_class > HS_EDGE_EPHEMERON)
            HS_TRY(add_weak(file, &edge, err));
    }
    return HS_OK;
}

/* Orders edges by their target; those of one target stay as they came: roots first, then blocks,
 * ascending. */
static int by_target(const void *left, const void *right)
{
    const struct weak_edge *a = left, *b = right;
    if (a->target != b->target)
        return a->target < b->target ? -1 : 1;
    if (a->link.other != b->link.other)
        return a->link.other < b->link.other ? -1 : 1;
    return a->link.offset_words < b->link.offset_words
               ? -1
               : a->link.offset_words > b->link.offset_words;
}

hs_status hs_block_file_weak(const struct hs_view *view, hs_node node, struct hs_links *links,
                             bool *ret_found, struct hs_error *err)
{
    const struct hs_block_file *file = view->blocks;
    *ret_found = file != NULL && file->has_all_weak && file->n_added == view->totals->n_chunks;
    if (!*ret_found)
        return HS_OK;
    size_t at = HS_FIRST_FROM(file->weak, file->n_weak, target, node);
    for (; at < file->n_weak && file->weak[at].target == node; at++) {
        HS_TRY(HS_GROW(&links->links, &links->capacity, links->n + 1, err));
        links->links[links->n++] = file->weak[at].link;
    }
    return HS_OK;
}

/* ---- adding chunks */

/* The sparse edges of block `at` of the chunk; *from moves behind them. */
static uint64_t count_extra(const struct hs_chunk *chunk, uint32_t at, uint64_t *from)
{
    uint64_t first = *from;
    while (*from < chunk->n_extra && chunk->extra[*from].source == chunk->first + at)
        (*from)++;
    return *from - first;
}

static void put_facts(struct hs_block_file *file, uint32_t first, uint32_t end)
{
    const struct hs_chunk *chunk = &file->chunk;
    struct hs_buffer *out = &file->bytes;
    hs_addr before = 0;
    for (uint32_t i = first; i < end; i++) {
        hs_buffer_put_zigzag(out, (int64_t)(chunk->address[i] - before));
        before = chunk->address[i];
        hs_buffer_put_varint(out, chunk->words[i]);
        hs_buffer_put_varint(out, chunk->type[i]);
        hs_buffer_put_u8(out, chunk->state[i]);
    }
}

static void put_kind(struct hs_buffer *out, uint8_t edge_class, uint8_t reason)
{
    hs_buffer_put_u8(out, edge_class);
    if (hs_edge_has_reason(edge_class))
        hs_buffer_put_u8(out, reason);
}

static void put_row(struct hs_block_file *file, uint32_t at, uint64_t *extra)
{
    const struct hs_chunk *chunk = &file->chunk;
    struct hs_buffer *out = &file->bytes;
    uint64_t n_extra = count_extra(chunk, at, extra);
    hs_node before = chunk->first + at;
    hs_buffer_put_varint(out, chunk->edge_begin[at + 1] - chunk->edge_begin[at]);
    hs_buffer_put_varint(out, n_extra);
    for (uint64_t e = chunk->edge_begin[at]; e < chunk->edge_begin[at + 1]; e++) {
        hs_buffer_put_zigzag(out, (int64_t)(chunk->target[e] - before));
        before = chunk->target[e];
        hs_buffer_put_varint(out, chunk->offset_words[e] + 1);
        put_kind(out, chunk->edge_class[e], chunk->edge_reason[e]);
    }
    for (uint64_t e = *extra - n_extra; e < *extra; e++) {
        hs_buffer_put_zigzag(out, (int64_t)(chunk->extra[e].target - chunk->first - at));
        hs_buffer_put_varint(out, chunk->extra[e].offset_words + 1);
        put_kind(out, chunk->extra[e].edge_class, chunk->extra[e].reason);
    }
}

/* Tells whether the edges of [first, end) are few enough to be kept. *extra is moved behind their
 * weak and ephemeron edges. */
static bool has_few_edges(const struct hs_chunk *chunk, uint32_t first, uint32_t end,
                          uint64_t *extra)
{
    uint64_t before = *extra, n_edges = chunk->edge_begin[end] - chunk->edge_begin[first];
    for (uint32_t i = first; i < end; i++)
        (void)count_extra(chunk, i, extra);
    return n_edges <= GROUP_EDGES_MOST && *extra - before <= GROUP_EDGES_MOST - n_edges;
}

/* Puts a group; *extra moves behind its weak and ephemeron edges. */
static hs_status put_group(struct hs_block_file *file, uint32_t first, bool has_rows,
                           uint64_t *extra, struct hs_error *err)
{
    const struct hs_chunk *chunk = &file->chunk;
    uint32_t left = chunk->n_blocks - first;
    uint32_t end = first + (left < GROUP_BLOCKS ? left : GROUP_BLOCKS);
    uint64_t behind = *extra;
    HS_TRY(hs_buffer_reserve(&file->bytes, GROUP_BYTES, err));
    size_t head = file->bytes.n_bytes;
    hs_buffer_put_u32(&file->bytes, 0);
    put_facts(file, first, end);
    uint32_t n_facts = (uint32_t)(file->bytes.n_bytes - head - HEAD_BYTES);
    memcpy(file->bytes.bytes + head, &n_facts, sizeof n_facts);
    if (has_rows && has_few_edges(chunk, first, end, &behind))
        for (uint32_t i = first; i < end; i++)
            put_row(file, i, extra);
    *extra = behind;
    return HS_OK;
}

static hs_status write_chunk(struct hs_block_file *file, bool has_rows, struct hs_error *err)
{
    struct places *places = &file->places[file->n_added];
    uint64_t extra = 0;
    places->at = file->spill.n_bytes;
    file->bytes.n_bytes = 0;
    for (uint32_t group = 0; group < GROUPS; group++) {
        places->begin[group] = (uint32_t)file->bytes.n_bytes;
        if (group * GROUP_BLOCKS < file->chunk.n_blocks)
            HS_TRY(put_group(file, group * GROUP_BLOCKS, has_rows, &extra, err));
    }
    places->begin[GROUPS] = (uint32_t)file->bytes.n_bytes;
    HS_TRY(hs_spill_write(&file->spill, file->bytes.bytes, file->bytes.n_bytes, err));
    return hs_spill_flush(&file->spill, err);
}

/* Adds a chunk. One of more than CHUNK_BYTES_MOST (arrays of millions) is added without its edges,
 * for which the chunk is decoded as if there were no file. */
static hs_status add_chunk(const struct hs_view *view, struct hs_error *err)
{
    struct hs_block_file *file = view->blocks;
    bool has_rows = hs_snap_chunk_bytes(view->snap, file->n_added, HS_COL_ALL) <= CHUNK_BYTES_MOST;
    unsigned columns = has_rows ? HS_COL_ALL : HS_COL_SIZES | HS_COL_TYPES;
    HS_TRY(hs_snap_load_chunk(view->snap, file->n_added, columns, &file->chunk, err));
    if (has_rows)
        HS_TRY(add_weak_blocks(file, err));
    else
        file->has_all_weak = false;
    HS_TRY(write_chunk(file, has_rows, err));
    file->n_added++;
    return HS_OK;
}

/* Returns the memory of the largest chunk of those that are added with their edges, decoded. */
static uint64_t largest_chunk(const struct hs_view *view)
{
    uint64_t most = 0;
    for (uint64_t i = 0; i < view->totals->n_chunks; i++) {
        uint64_t n_bytes = hs_snap_chunk_bytes(view->snap, i, HS_COL_ALL);
        if (n_bytes <= CHUNK_BYTES_MOST && n_bytes > most)
            most = n_bytes;
    }
    return most;
}

static hs_status begin(struct hs_view *view, struct hs_error *err)
{
    struct hs_budget *budget = view->session.budget;
    uint64_t n_chunks = view->totals->n_chunks;
    uint64_t n_weak = view->totals->n_extra_edges + view->n_tree;
    uint64_t adding_bytes = 2 * largest_chunk(view) + GROUP_BYTES; /* a chunk, and it in groups */
    uint64_t n_bytes = adding_bytes + n_chunks * sizeof(struct places) +
                       sizeof(struct hs_block_file) +
                       (n_weak < WEAK_MOST ? n_weak : WEAK_MOST) * sizeof(struct weak_edge);
    HS_TRY(hs_budget_reserve(budget, n_bytes, "the places of blocks", err));
    if (HS_ALLOC(&view->blocks, 1, err) != HS_OK) {
        hs_budget_release(budget, n_bytes);
        return err->status;
    }
    struct hs_block_file *file = view->blocks;
    file->taken_bytes = n_bytes;
    file->adding_bytes = adding_bytes;
    file->has_all_weak = true;
    file->group_at = UINT64_MAX;
    HS_TRY(HS_ALLOC(&file->places, n_chunks, err));
    HS_TRY(hs_spill_open(budget, "single blocks", &file->spill, err));
    file->spill.is_read_often = file->spill.stays_cached = true;
    return add_weak_roots(view, err);
}

/* Ends the building; all that is needed for reading stays. */
static hs_status end(struct hs_view *view, struct hs_error *err)
{
    struct hs_block_file *file = view->blocks;
    if (file->n_weak > 1)
        qsort(file->weak, file->n_weak, sizeof *file->weak, by_target);
    hs_chunk_fini(&file->chunk);
    hs_buffer_fini(&file->bytes);
    file->taken_bytes -= file->adding_bytes;
    hs_budget_release(view->session.budget, file->adding_bytes);
    return hs_spill_seal(&file->spill, err);
}

static bool is_whole(const struct hs_view *view)
{
    const struct hs_block_file *file = view->blocks;
    return file->n_added == view->totals->n_chunks || file->spill.n_bytes >= HS_BLOCK_FILE_MOST;
}

hs_status hs_block_file_add(struct hs_view *view, bool *ret_more, struct hs_error *err)
{
    hs_status status = view->blocks == NULL ? begin(view, err) : HS_OK;
    if (status == HS_OK && !is_whole(view))
        status = add_chunk(view, err);
    *ret_more = status == HS_OK && !is_whole(view);
    if (status == HS_OK && !*ret_more && view->blocks->spill.buffer != NULL)
        status = end(view, err);
    if (status != HS_OK)
        hs_block_file_close(view);
    return status;
}

void hs_block_file_close(struct hs_view *view)
{
    struct hs_block_file *file = view->blocks;
    if (file == NULL)
        return;
    hs_budget_release(view->session.budget, file->taken_bytes);
    hs_spill_close(&file->spill);
    hs_chunk_fini(&file->chunk);
    hs_buffer_fini(&file->bytes);
    hs_free(file->places);
    hs_free(file->weak);
    hs_free(file);
    view->blocks = NULL;
}

/* ---- looking */

/* The group of a node in ->group; *ret is at its first part. */
static hs_status read_group(const struct hs_view *view, hs_node node, struct hs_cursor *ret,
                            bool *ret_found, struct hs_error *err)
{
    struct hs_block_file *file = view->blocks;
    uint64_t rank = node - view->n_tree, number = rank / HS_CHUNK_BLOCKS;
    *ret_found = file != NULL && number < file->n_added;
    if (!*ret_found)
        return HS_OK;
    const struct places *places = &file->places[number];
    uint64_t group = rank % HS_CHUNK_BLOCKS / GROUP_BLOCKS;
    uint64_t at = places->at + places->begin[group];
    size_t n = places->begin[group + 1] - places->begin[group];
    if (file->group_at != at) {
        file->group_at = UINT64_MAX;
        HS_TRY(hs_spill_read_at(&file->spill, at, file->group, n, err));
        file->group_at = at;
        file->n_group = n;
    }
    *ret = hs_cursor_make(file->group, file->n_group);
    return HS_OK;
}

hs_status hs_block_file_look(const struct hs_view *view, hs_node node, struct hs_loose_block *ret,
                             bool *ret_found, struct hs_error *err)
{
    struct hs_cursor cursor;
    HS_TRY(read_group(view, node, &cursor, ret_found, err));
    if (!*ret_found)
        return HS_OK;
    *ret = (struct hs_loose_block){0};
    hs_cursor_skip(&cursor, HEAD_BYTES);
    for (uint64_t left = (node - view->n_tree) % GROUP_BLOCKS + 1; left > 0; left--) {
        ret->address += (uint64_t)hs_cursor_zigzag(&cursor);
        ret->words = hs_cursor_varint(&cursor);
        ret->type = (uint32_t)hs_cursor_varint(&cursor);
        ret->state = hs_cursor_u8(&cursor);
    }
    return hs_cursor_check(&cursor, "a group of blocks", err);
}

hs_status hs_block_file_find_address(const struct hs_view *view, uint64_t chunk, hs_addr address,
                                     hs_node *ret, bool *ret_found, struct hs_error *err)
{
    hs_node first = view->n_tree + chunk * HS_CHUNK_BLOCKS, low = first;
    hs_node end = view->n_nodes - first < HS_CHUNK_BLOCKS ? view->n_nodes : first + HS_CHUNK_BLOCKS;
    struct hs_loose_block block;
    while (low < end) {
        hs_node middle = low + (end - low) / 2;
        HS_TRY(hs_block_file_look(view, middle, &block, ret_found, err));
        if (!*ret_found)
            return HS_OK;
        if (block.address <= address)
            low = middle + 1;
        else
            end = middle;
    }
    *ret = HS_NO_NODE;
    if (low == first)
        return HS_OK;
    HS_TRY(hs_block_file_look(view, low - 1, &block, ret_found, err));
    if ((address - block.address) / view->facts->word_bytes < block.words)
        *ret = low - 1;
    return HS_OK;
}

static void take_kind(struct hs_cursor *cursor, uint8_t *ret_class, uint8_t *ret_reason)
{
    *ret_class = hs_cursor_u8(cursor);
    *ret_reason = hs_edge_has_reason(*ret_class) ? hs_cursor_u8(cursor) : HS_REASON_NONE;
}

/* Takes the row of `node` into the file's arrays. False: there is no room, which cannot be. */
static bool take_row(struct hs_block_file *file, hs_node node, struct hs_cursor *cursor,
                     struct hs_edge_row *ret)
{
    hs_node before = node;
    *ret = (struct hs_edge_row){.n = hs_cursor_varint(cursor),
                                .n_extra = hs_cursor_varint(cursor),
                                .target = file->target,
                                .offset_words = file->offset_words,
                                .edge_class = file->edge_class,
                                .edge_reason = file->edge_reason,
                                .extra = file->extra};
    if (ret->n > GROUP_EDGES_MOST || ret->n_extra > GROUP_EDGES_MOST)
        return false;
    for (uint64_t i = 0; i < ret->n; i++) {
        before += (uint64_t)hs_cursor_zigzag(cursor);
        file->target[i] = before;
        file->offset_words[i] = hs_cursor_varint(cursor) - 1;
        take_kind(cursor, &file->edge_class[i], &file->edge_reason[i]);
    }
    for (uint64_t i = 0; i < ret->n_extra; i++) {
        struct hs_extra_edge *edge = &file->extra[i];
        edge->source = node;
        edge->target = node + (uint64_t)hs_cursor_zigzag(cursor);
        edge->offset_words = hs_cursor_varint(cursor) - 1;
        take_kind(cursor, &edge->edge_class, &edge->reason);
    }
    return true;
}

hs_status hs_block_file_row(const struct hs_view *view, hs_node node, struct hs_edge_row *ret,
                            bool *ret_found, struct hs_error *err)
{
    struct hs_cursor cursor;
    HS_TRY(read_group(view, node, &cursor, ret_found, err));
    if (!*ret_found)
        return HS_OK;
    uint64_t at = (node - view->n_tree) % GROUP_BLOCKS;
    hs_cursor_skip(&cursor, hs_cursor_u32(&cursor));
    *ret_found = hs_cursor_left(&cursor) != 0;
    if (!*ret_found)
        return hs_cursor_check(&cursor, "a group of blocks", err);
    for (hs_node first = node - at; first <= node; first++)
        if (!take_row(view->blocks, first, &cursor, ret))
            return hs_fail(err, HS_BUG, "a group of blocks has more edges than were written");
    return hs_cursor_check(&cursor, "a group of blocks", err);
}
