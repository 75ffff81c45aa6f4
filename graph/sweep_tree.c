/* The rows of the root tree: of each node its children, then the block that it holds. Children are
 * put in the order of their parents by counting. */
#include <assert.h>

#include "base/alloc.h"
#include "graph/ids.h"
#include "sweep_parts.h"

/* The rows that are made and not yet emitted. */
struct tree_rows {
    const struct hs_snap_sweep *source;
    struct hs_sweep_out *out;
    hs_node n_tree;
    struct hs_ids begin;   /* of each node's children in `child`; n_tree + 1 */
    struct hs_ids child;   /* n_tree - 1 */
    uint64_t *piece_begin; /* owned */
    hs_node *target;       /* owned */
    hs_node first;         /* of the piece */
    uint32_t n;
};

static void tree_rows_fini(struct tree_rows *rows)
{
    hs_ids_fini(&rows->begin);
    hs_ids_fini(&rows->child);
    hs_free(rows->piece_begin);
    hs_free(rows->target);
}

/* The block that a tree node has an edge to, or HS_NO_NODE. */
static hs_node tree_target(const struct hs_snap_sweep *source, hs_node node)
{
    const struct hs_root *root = hs_snap_root(source->snap, node);
    const struct hs_edge_choice choice = hs_sweep_choice(source);
    return hs_root_holds(root, &choice) ? root->target : HS_NO_NODE;
}

static hs_status tree_rows_init(const struct hs_snap_sweep *source, struct hs_sweep_out *out,
                                struct tree_rows *rows, struct hs_error *err)
{
    hs_node n_tree = hs_snap_totals(source->snap)->n_tree;

    *rows = (struct tree_rows){.source = source, .out = out, .n_tree = n_tree};
    HS_TRY(hs_ids_init(n_tree + 1, n_tree, source->budget, "the root tree", &rows->begin, err));
    HS_TRY(hs_ids_init(n_tree, n_tree, source->budget, "the root tree", &rows->child, err));
    HS_TRY(HS_ALLOC(&rows->piece_begin, (size_t)HS_PIECE_NODES + 1, err));
    HS_TRY(HS_ALLOC(&rows->target, (size_t)HS_PIECE_NODES, err));
    return HS_OK;
}

/* Sorts the rows: after it begin[i] is where the children of node i begin. */
static void tree_rows_sort(struct tree_rows *rows)
{
    for (hs_node i = 1; i < rows->n_tree; i++) {
        hs_node parent = hs_snap_root(rows->source->snap, i)->parent;
        assert(parent < i);
        hs_ids_set(&rows->begin, parent, hs_ids_get(&rows->begin, parent) + 1);
    }
    uint64_t sum = 0;
    for (hs_node i = 0; i <= rows->n_tree; i++) { /* begin[i] becomes the end of row i */
        sum += i == rows->n_tree ? 0 : hs_ids_get(&rows->begin, i);
        hs_ids_set(&rows->begin, i, sum);
    }
    for (hs_node i = rows->n_tree; i-- > 1;) {
        hs_node parent = hs_snap_root(rows->source->snap, i)->parent;
        uint64_t at = hs_ids_get(&rows->begin, parent) - 1;
        hs_ids_set(&rows->begin, parent, at);
        hs_ids_set(&rows->child, at, i);
    }
}

/* A row from front to end: children, then blocks, which all have higher numbers. */
struct tree_row {
    uint64_t child, child_end;
    hs_node target;               /* not emitted yet, or HS_NO_NODE */
    const struct hs_bitmap *held; /* NULL except for node 0 */
    hs_node next_held;
};

static struct tree_row tree_row_of(const struct tree_rows *rows, hs_node node)
{
    struct tree_row row = {.child = hs_ids_get(&rows->begin, node),
                           .child_end = hs_ids_get(&rows->begin, node + 1),
                           .target = tree_target(rows->source, node)};
    if (node == 0 && rows->source->held != NULL) {
        row.held = rows->source->held;
        row.next_held = hs_bitmap_next(row.held, rows->n_tree);
    }
    return row;
}

static bool tree_row_next(const struct tree_rows *rows, struct tree_row *row, hs_node *ret)
{
    if (row->child != row->child_end) {
        *ret = hs_ids_get(&rows->child, row->child++);
        return true;
    }
    bool has_held = row->held != NULL && row->next_held < row->held->n_bits;
    if (!has_held && row->target == HS_NO_NODE)
        return false;
    *ret = has_held && row->next_held < row->target ? row->next_held : row->target;
    if (has_held && *ret == row->next_held)
        row->next_held = hs_bitmap_next(row->held, row->next_held + 1);
    if (*ret == row->target)
        row->target = HS_NO_NODE;
    return true;
}

static uint64_t tree_row_count(const struct tree_rows *rows, hs_node node)
{
    struct tree_row row = tree_row_of(rows, node);
    uint64_t n = row.child_end - row.child + (row.target != HS_NO_NODE);
    if (row.held == NULL)
        return n;
    hs_node target;
    for (n = 0; tree_row_next(rows, &row, &target);)
        n++;
    return n;
}

static hs_status tree_rows_flush(struct tree_rows *rows, struct hs_error *err)
{
    HS_TRY(hs_sweep_emit(rows->out, rows->first, rows->n, rows->piece_begin, rows->target, err));
    rows->first += rows->n;
    rows->n = 0;
    return HS_OK;
}

/* A row with more targets than there is room for. */
static hs_status tree_row_parts(struct tree_rows *rows, hs_node node, uint64_t n_row,
                                struct hs_error *err)
{
    struct tree_row row = tree_row_of(rows, node);
    uint64_t n = 0;

    assert(rows->n == 0 && rows->first == node);
    while (tree_row_next(rows, &row, &rows->target[n]))
        if (++n == HS_PIECE_NODES) {
            HS_TRY(hs_sweep_emit_part(rows->out, node, n_row, rows->target, n, err));
            n = 0;
        }
    if (n != 0)
        HS_TRY(hs_sweep_emit_part(rows->out, node, n_row, rows->target, n, err));
    rows->first++;
    return HS_OK;
}

static hs_status tree_rows_emit(struct tree_rows *rows, struct hs_error *err)
{
    rows->piece_begin[0] = 0;
    for (hs_node node = 0; node < rows->n_tree; node++) {
        uint64_t n_row = tree_row_count(rows, node), used = rows->piece_begin[rows->n];
        if (rows->n == HS_PIECE_NODES || n_row > HS_PIECE_NODES - used) {
            HS_TRY(tree_rows_flush(rows, err));
            used = 0;
        }
        if (n_row > HS_PIECE_NODES) {
            HS_TRY(tree_row_parts(rows, node, n_row, err));
            continue;
        }
        struct tree_row row = tree_row_of(rows, node);
        for (uint64_t i = 0; i < n_row; i++)
            (void)tree_row_next(rows, &row, &rows->target[used++]);
        rows->piece_begin[++rows->n] = used;
    }
    return tree_rows_flush(rows, err);
}

hs_status hs_sweep_tree(const struct hs_snap_sweep *source, struct hs_sweep_out *out,
                        struct hs_error *err)
{
    struct tree_rows rows;
    hs_status status = tree_rows_init(source, out, &rows, err);

    if (status == HS_OK) {
        tree_rows_sort(&rows);
        status = tree_rows_emit(&rows, err);
    }
    tree_rows_fini(&rows);
    return status;
}
