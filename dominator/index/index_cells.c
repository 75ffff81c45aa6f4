#include "index_cells.h"

#include "base/load.h"

static hs_status cell_damaged(struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "the index is damaged: a number is out of range");
}

/* Steps over the sizes of one node: two numbers, or four where the second is odd. */
static void sizes_skip(struct hs_cursor *cursor)
{
    hs_packed_skip_number(cursor, 1);
    uint64_t objects = hs_packed_number(cursor);
    if ((objects & 1) != 0)
        hs_packed_skip_number(cursor, 2);
}

void index_cells_skip_sizes(struct hs_cursor *cursor, uint64_t n)
{
    for (; n != 0 && hs_cursor_left(cursor) >= 8; n--) {
        uint64_t word = hs_load_u64(cursor->bytes + cursor->at);
        unsigned words_end = hs_packed_numbers_bytes(word, 1);
        bool is_odd = words_end < 8 && (word >> 8 * words_end & 1) != 0;
        unsigned n_bytes = hs_packed_numbers_bytes(word, is_odd ? 4 : 2);
        if (words_end != 0 && n_bytes != 0)
            cursor->at += n_bytes;
        else
            sizes_skip(cursor);
    }
    for (; n != 0 && !cursor->failed; n--)
        sizes_skip(cursor);
}

hs_status index_cells_only(struct hs_packed *rows, hs_node node, hs_node *ret, struct hs_error *err)
{
    struct hs_cursor cursor;
    hs_node only = HS_NO_NODE;

    HS_TRY(hs_packed_cell_of(rows, node, &cursor, err));
    if (hs_packed_number(&cursor) == 1) {
        only = node + (uint64_t)hs_zigzag_decode(hs_packed_number(&cursor)); /* may wrap */
        if (only >= rows->n_nodes)
            return cell_damaged(err);
    }
    if (cursor.failed)
        return cell_damaged(err);
    *ret = only;
    return HS_OK;
}

hs_status index_cells_has_idom(struct hs_packed *idoms, hs_node node, bool *ret,
                               struct hs_error *err)
{
    struct hs_cursor cursor;

    HS_TRY(hs_packed_cell_of(idoms, node, &cursor, err));
    uint64_t code = hs_packed_number(&cursor);
    if (cursor.failed)
        return cell_damaged(err);
    *ret = code != INDEX_IDOM_NONE;
    return HS_OK;
}

hs_status index_cells_idom(struct hs_packed *idoms, struct hs_packed *predecessors, hs_node node,
                           hs_node *ret, struct hs_error *err)
{
    struct hs_cursor cursor;
    hs_node idom = HS_NO_NODE;

    HS_TRY(hs_packed_cell_of(idoms, node, &cursor, err));
    uint64_t code = hs_packed_number(&cursor);
    if (cursor.failed)
        return cell_damaged(err);
    if (code == INDEX_IDOM_ONLY)
        HS_TRY(index_cells_only(predecessors, node, &idom, err));
    else if (code != INDEX_IDOM_NONE)
        idom = node - (uint64_t)hs_zigzag_decode(code - INDEX_IDOM_FAR); /* may wrap */
    if (code != INDEX_IDOM_NONE && (idom >= idoms->n_nodes || idom == node || node == 0))
        return cell_damaged(err);
    *ret = idom;
    return HS_OK;
}

struct hs_sizes index_cells_sizes_at(struct hs_cursor *cursor)
{
    struct hs_sizes sizes = {.words = hs_packed_number(cursor)};
    uint64_t objects = hs_packed_number(cursor);

    sizes.objects = objects >> 1;
    if ((objects & 1) != 0) {
        sizes.static_words = hs_packed_number(cursor);
        sizes.static_objects = hs_packed_number(cursor);
    }
    return sizes;
}

hs_status index_cells_sizes(struct hs_packed *retained, hs_node node, struct hs_sizes *ret,
                            struct hs_error *err)
{
    struct hs_cursor cursor;

    HS_TRY(hs_packed_cell_of(retained, node, &cursor, err));
    struct hs_sizes sizes = index_cells_sizes_at(&cursor);
    if (cursor.failed)
        return cell_damaged(err);
    *ret = sizes;
    return HS_OK;
}

/* ---- owners ---- */

hs_status index_cells_owner(struct hs_packed *owners, uint64_t n_sets, hs_node node,
                            unsigned *ret_tier, uint32_t *ret_set, struct hs_error *err)
{
    struct hs_cursor cursor;

    HS_TRY(hs_packed_cell_of(owners, node, &cursor, err));
    uint64_t number = hs_packed_number(&cursor), code = number >> INDEX_TIER_BITS;
    if (cursor.failed || (code > n_sets && code != INDEX_OWNER_OTHERS))
        return cell_damaged(err);
    *ret_tier = number & ((1 << INDEX_TIER_BITS) - 1);
    *ret_set = (uint32_t)code;
    return HS_OK;
}

void index_cells_skip_set(struct hs_cursor *cursor, uint64_t n)
{
    for (; n != 0 && !cursor->failed; n--) {
        sizes_skip(cursor);
        hs_packed_skip_number(cursor, 3);
    }
}

hs_status index_cells_set(struct hs_packed *sets, uint32_t set, struct hs_owner_set *ret,
                          struct hs_error *err)
{
    struct hs_cursor cursor;

    HS_TRY(hs_packed_cell_of(sets, set, &cursor, err));
    struct hs_owner_set found = {.retained = index_cells_sizes_at(&cursor)};
    found.n_tops = hs_packed_number(&cursor);
    found.n_roots = hs_packed_number(&cursor);
    found.first_top = hs_packed_number(&cursor);
    if (cursor.failed || found.first_top >= sets->n_values)
        return cell_damaged(err);
    *ret = found;
    return HS_OK;
}
