#include "index_cells.h"

static hs_status cell_damaged(struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "the index is damaged: a number is out of range");
}

void index_cells_skip_sizes(struct hs_cursor *cursor)
{
    hs_packed_skip_number(cursor);
    uint64_t objects = hs_packed_number(cursor);
    if ((objects & 1) != 0) {
        hs_packed_skip_number(cursor);
        hs_packed_skip_number(cursor);
    }
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

hs_status index_cells_sizes(struct hs_packed *retained, hs_node node, struct hs_sizes *ret,
                            struct hs_error *err)
{
    struct hs_cursor cursor;
    struct hs_sizes sizes = {0};

    HS_TRY(hs_packed_cell_of(retained, node, &cursor, err));
    sizes.words = hs_packed_number(&cursor);
    uint64_t objects = hs_packed_number(&cursor);
    sizes.objects = objects >> 1;
    if ((objects & 1) != 0) {
        sizes.static_words = hs_packed_number(&cursor);
        sizes.static_objects = hs_packed_number(&cursor);
    }
    if (cursor.failed)
        return cell_damaged(err);
    *ret = sizes;
    return HS_OK;
}
