/* Answers for all nodes of a page at once: whoever reads all of them in order spares the search for
 * each. */
#include <assert.h>
#include <string.h>

#include "index_cells.h"
#include "index_private.h"

/* Finds the cells of the run, and how many there are; false at damage, which is remembered. */
static bool run_begin(struct hs_index *index, enum index_section section, hs_node first,
                      struct hs_cursor *ret, unsigned *ret_n)
{
    uint64_t n_nodes = index->file.header->n_nodes;
    struct hs_error err;

    assert(first < n_nodes && first % HS_INDEX_RUN == 0);
    *ret_n = n_nodes - first < HS_INDEX_RUN ? (unsigned)(n_nodes - first) : HS_INDEX_RUN;
    if (hs_packed_cell_of(&index->file.packed[section], first, ret, &err) == HS_OK)
        return true;
    index->is_damaged = true;
    return false;
}

static bool run_holds(struct hs_index *index, const struct hs_cursor *cursor)
{
    index->is_damaged |= cursor->failed;
    return !cursor->failed;
}

void hs_index_run_words(struct hs_index *index, hs_node first, uint64_t ret[HS_INDEX_RUN])
{
    struct hs_cursor cursor;
    unsigned n, i = 0;

    if (run_begin(index, INDEX_RETAINED, first, &cursor, &n))
        for (; i < n; i++)
            ret[i] = index_cells_sizes_at(&cursor).words;
    if (i == 0 || !run_holds(index, &cursor))
        i = 0;
    memset(ret + i, 0, (HS_INDEX_RUN - i) * sizeof *ret);
}

/* Reads the child of a row that has one; HS_NO_NODE for others, the cursor behind either. */
static hs_node run_only_child(struct hs_cursor *cursor, hs_node node, uint64_t n_nodes)
{
    if (cursor->bytes[cursor->at] != 1) {
        hs_packed_skip_row(cursor, 1);
        return HS_NO_NODE;
    }
    cursor->at++;
    hs_node child = node + (uint64_t)hs_zigzag_decode(hs_packed_number(cursor));
    cursor->failed |= child >= n_nodes;
    return cursor->failed ? HS_NO_NODE : child;
}

void hs_index_run_rows(struct hs_index *index, hs_node first, uint64_t places[HS_INDEX_RUN],
                       hs_node only[HS_INDEX_RUN])
{
    struct hs_cursor cursor;
    unsigned n, i = 0;

    if (run_begin(index, INDEX_DOMINATED, first, &cursor, &n))
        for (; i < n; i++) {
            bool is_empty = hs_cursor_left(&cursor) != 0 && cursor.bytes[cursor.at] == 0;
            only[i] = HS_NO_NODE;
            places[i] = is_empty ? HS_INDEX_NO_ROW : cursor.at;
            if (is_empty)
                cursor.at++;
            else if (hs_cursor_left(&cursor) != 0)
                only[i] = run_only_child(&cursor, first + i, index->file.header->n_nodes);
            else
                cursor.failed = true;
        }
    if (i == 0 || !run_holds(index, &cursor))
        i = 0;
    for (; i < HS_INDEX_RUN; i++) {
        places[i] = HS_INDEX_NO_ROW;
        only[i] = HS_NO_NODE;
    }
}

void hs_index_run_tiers(struct hs_index *index, hs_node first, uint8_t ret[HS_INDEX_RUN])
{
    struct hs_cursor cursor;
    unsigned n, i = 0;

    if (run_begin(index, INDEX_OWNERS, first, &cursor, &n))
        for (; i < n; i++)
            ret[i] = hs_packed_number(&cursor) & ((1 << INDEX_TIER_BITS) - 1);
    if (i == 0 || !run_holds(index, &cursor))
        i = 0;
    memset(ret + i, HS_TIER_NONE, (HS_INDEX_RUN - i) * sizeof *ret);
}

void hs_index_run_reached(struct hs_index *index, hs_node first, uint8_t ret[HS_INDEX_RUN])
{
    struct hs_cursor cursor;
    unsigned n, i = 0;

    if (run_begin(index, INDEX_IDOM, first, &cursor, &n))
        for (; i < n; i++)
            ret[i] = hs_packed_number(&cursor) != INDEX_IDOM_NONE;
    if (i == 0 || !run_holds(index, &cursor))
        i = 0;
    memset(ret + i, 0, (HS_INDEX_RUN - i) * sizeof *ret);
    if (first == 0)
        ret[0] = 1; /* the root has no dominator */
}

void hs_index_run_sets(struct hs_index *index, hs_node first, uint32_t ret[HS_INDEX_RUN])
{
    const uint64_t n_sets = index->file.header->n_sets;
    struct hs_cursor cursor;
    unsigned n, i = 0;

    if (run_begin(index, INDEX_OWNERS, first, &cursor, &n))
        for (; i < n; i++) {
            uint64_t code = hs_packed_number(&cursor) >> INDEX_TIER_BITS;
            cursor.failed |= code > n_sets && code != INDEX_OWNER_OTHERS;
            ret[i] = (uint32_t)code;
        }
    if (i == 0 || !run_holds(index, &cursor))
        i = 0;
    memset(ret + i, 0, (HS_INDEX_RUN - i) * sizeof *ret);
}
