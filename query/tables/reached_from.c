/* reached_from(of): all blocks that strong pointers lead to from a node, a block itself included,
 * by ascending id; of roots all that their slots reach, as `reachable_words` counts it. */
#include "base/bitmap.h"
#include "node_columns.h"
#include "tables.h"

enum { REACHED_OF = HS_SQL_N_NODE_COLUMNS };

struct reached {
    struct hs_sql_cursor cursor;    /* row: the block */
    struct hs_bitmap seen, waiting; /* by block; seen: the answer, waiting: not yet looked into */
    uint64_t reserved_bytes;
};

static void reached_fini(struct hs_sql_cursor *cursor)
{
    struct reached *r = (struct reached *)cursor;
    hs_bitmap_fini(&r->seen);
    hs_bitmap_fini(&r->waiting);
    hs_budget_release(cursor->source->view.session.budget, r->reserved_bytes);
    r->reserved_bytes = 0;
}

static void meet(struct reached *r, uint64_t block)
{
    if (hs_bitmap_get(&r->seen, block))
        return;
    hs_bitmap_set(&r->seen, block);
    hs_bitmap_set(&r->waiting, block);
}

/* A block, or what the slots at and below a node of the root tree lead to. */
static void begin(struct reached *r, hs_node node)
{
    const struct hs_view *view = &r->cursor.source->view;
    if (node >= view->n_tree) {
        meet(r, node - view->n_tree);
        return;
    }
    unsigned level = hs_snap_root(view->snap, node)->level;
    for (hs_node at = node; at < view->n_tree; at++) {
        const struct hs_root *root = hs_snap_root(view->snap, at);
        if (at != node && root->level <= level)
            return;
        if (root->target != HS_NO_NODE && !root->weak)
            meet(r, root->target - view->n_tree);
    }
}

/* Looks into all blocks of a chunk that wait, also those that begin to meanwhile. */
static void look_into(struct reached *r, const struct hs_chunk *chunk)
{
    uint64_t n_tree = r->cursor.source->view.n_tree;
    uint64_t first = chunk->first - n_tree, end = first + chunk->n_blocks, from = first, block;
    while ((block = hs_bitmap_next(&r->waiting, from)) < end) {
        uint64_t at = block - first;
        hs_bitmap_clear(&r->waiting, block);
        from = block + 1;
        for (uint64_t e = chunk->edge_begin[at]; e < chunk->edge_begin[at + 1]; e++) {
            uint64_t target = chunk->target[e] - n_tree;
            if (!hs_bitmap_get(&r->seen, target) && target >= first && target < from)
                from = target;
            meet(r, target);
        }
    }
}

/* Searches chunk after chunk, as often as any block waits: two bits a block, however the pointers
 * go. */
static hs_status search(struct reached *r, struct hs_error *err)
{
    struct hs_view *view = &r->cursor.source->view;
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;
    uint64_t n_blocks = view->totals->n_blocks, block;
    while (status == HS_OK && (block = hs_bitmap_next(&r->waiting, 0)) < n_blocks)
        for (; status == HS_OK && block < n_blocks; block = hs_bitmap_next(&r->waiting, block)) {
            uint64_t number = block / HS_CHUNK_BLOCKS;
            status = hs_progress_tell(view->session.progress, "following pointers", block, n_blocks,
                                      err);
            if (status == HS_OK)
                status = hs_snap_load_chunk(view->snap, number, HS_COL_EDGES, &chunk, err);
            if (status == HS_OK)
                look_into(r, &chunk);
            block = (number + 1) * HS_CHUNK_BLOCKS;
            if (block >= n_blocks)
                break;
        }
    hs_chunk_fini(&chunk);
    return status;
}

static void go_to(struct reached *r, uint64_t block)
{
    const struct hs_view *view = &r->cursor.source->view;
    uint64_t next =
        block < view->totals->n_blocks ? hs_bitmap_next(&r->seen, block) : view->totals->n_blocks;
    r->cursor.at_end = next >= view->totals->n_blocks;
    r->cursor.row = view->n_tree + next;
}

static hs_status reached_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                                struct hs_error *err)
{
    struct reached *r = (struct reached *)cursor;
    struct hs_view *view = &cursor->source->view;
    uint64_t n_blocks = view->totals->n_blocks, n_bytes = n_blocks / 4 + HS_VIEW_CHUNK_BYTES;
    hs_node node;
    reached_fini(cursor);
    HS_TRY(hs_sql_node(cursor->source, plan->argument, &node, err));
    cursor->at_end = node == HS_NO_NODE;
    if (cursor->at_end)
        return HS_OK;
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "blocks that are reached", err));
    r->reserved_bytes = n_bytes;
    HS_TRY(hs_bitmap_init(&r->seen, n_blocks, err));
    HS_TRY(hs_bitmap_init(&r->waiting, n_blocks, err));
    begin(r, node);
    HS_TRY(search(r, err));
    go_to(r, 0);
    return HS_OK;
}

static hs_status reached_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    (void)err;
    go_to((struct reached *)cursor, cursor->row + 1 - cursor->source->view.n_tree);
    return HS_OK;
}

static hs_status reached_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                struct hs_error *err)
{
    return hs_sql_node_column(cursor->source, cursor->row, column, ret, err);
}

static double reached_estimate(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_blocks / 4;
}

const struct hs_sql_table hs_sql_table_reached_from = {
    .name = "reached_from",
    .columns = HS_SQL_NODE_COLUMNS ", of HIDDEN",
    .cursor_bytes = sizeof(struct reached),
    .argument = REACHED_OF + 1,
    .usage = "reached_from('root:server')",
    .estimate = reached_estimate,
    .filter = reached_filter,
    .next = reached_next,
    .fini = reached_fini,
    .column = reached_column,
};
