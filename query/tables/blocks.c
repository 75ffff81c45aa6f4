/* blocks: every block of the heap, by ascending id, which is by ascending address. A scan decodes
 * one chunk after the other, and of each only the columns that the query uses. */
#include "base/alloc.h"
#include "by_type.h"
#include "depths.h"
#include "graph/edges.h"
#include "largest.h"
#include "node_columns.h"
#include "other_policy.h"
#include "rows.h"
#include "tables.h"

enum { BLOCKS_CONSERVATIVE = HS_BLOCKS_N, BLOCKS_DEPTH };
enum { ROOTS_AT_ONCE = 16384 };

enum walk { WALK_CHUNKS, WALK_ONE, WALK_CHILDREN, WALK_LARGEST, WALK_TYPES };

struct blocks {
    struct hs_sql_cursor cursor; /* row: the node */
    enum walk walk;
    hs_node end;             /* of a walk over chunks */
    unsigned columns;        /* that are decoded; 0: none */
    struct hs_chunk chunk;   /* owned: of a walk over chunks */
    uint64_t number;         /* of the chunk */
    uint64_t reserved_bytes; /* for it */
    uint32_t at;             /* the row in the chunk */
    struct hs_row children;
    struct hs_sql_largest largest;
    size_t next; /* of the largest */
    struct hs_sql_by_type by_type;
    uint64_t place;   /* in it */
    uint32_t type_at; /* of its types */
    hs_node sized;    /* whose sizes these are; HS_NO_NODE: none */
    struct hs_sizes sizes;
    hs_node *roots; /* owned: who retains the blocks from roots_first on */
    hs_node roots_first, roots_end;
};

static unsigned columns_of(uint32_t used)
{
    unsigned columns = 0;
    uint32_t sizes = 1u << HS_BLOCKS_address | 1u << HS_BLOCKS_words | 1u << HS_BLOCKS_static |
                     1u << HS_BLOCKS_young;
    if ((used & sizes) != 0)
        columns |= HS_COL_SIZES;
    if ((used & (1u << HS_BLOCKS_type | 1u << HS_BLOCKS_type_id)) != 0)
        columns |= HS_COL_TYPES;
    return columns;
}

static hs_status load(struct blocks *b, struct hs_error *err)
{
    struct hs_view *view = &b->cursor.source->view;
    uint64_t rank = b->cursor.row - view->n_tree;
    b->number = rank / HS_CHUNK_BLOCKS;
    b->at = (uint32_t)(rank % HS_CHUNK_BLOCKS);
    if (b->columns == 0)
        return HS_OK;
    if (b->reserved_bytes == 0) {
        HS_TRY(hs_budget_reserve(view->session.budget, HS_VIEW_CHUNK_BYTES, "a chunk", err));
        b->reserved_bytes = HS_VIEW_CHUNK_BYTES;
    }
    return hs_snap_load_chunk(view->snap, b->number, b->columns, &b->chunk, err);
}

/* The block that holds an address; whether it begins there SQLite looks itself. Addresses of the
 * upper half are negative in SQL. */
static hs_status find_address(struct blocks *b, sqlite3_value *value, hs_node *first, hs_node *end,
                              struct hs_error *err)
{
    uint64_t address;
    hs_node node = HS_NO_NODE;
    bool is_number = hs_sql_whole(value, &address);
    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        address = (uint64_t)sqlite3_value_int64(value);
    else if (!is_number) {
        *end = *first;
        return HS_OK;
    }
    HS_TRY(hs_view_find_address(&b->cursor.source->view, address, &node, err));
    *end = node == HS_NO_NODE ? *first : node + 1;
    *first = node == HS_NO_NODE ? *first : node;
    return HS_OK;
}

static hs_status go_to_children(struct blocks *b, const struct hs_sql_plan *plan)
{
    struct hs_view *view = &b->cursor.source->view;
    uint64_t first = 0, end = view->n_nodes;
    b->walk = WALK_CHILDREN;
    hs_sql_range(plan, &first, &end);
    b->cursor.at_end = first >= end;
    if (!b->cursor.at_end)
        b->children = hs_index_dominated(view->index, first);
    return HS_OK;
}

/* The next block in the order of types. */
static void go_on_by_type(struct blocks *b)
{
    const struct hs_sql_by_type *all = &b->by_type;
    b->cursor.at_end = b->place >= all->n;
    if (b->cursor.at_end)
        return;
    while (b->place >= all->begin[b->type_at + 1])
        b->type_at++;
    b->cursor.row = b->cursor.source->view.n_tree + all->block[b->place];
}

static hs_status blocks_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    struct blocks *b = (struct blocks *)cursor;
    if (__builtin_expect(b->walk == WALK_CHUNKS, 1)) {
        if (++cursor->row == b->end) {
            cursor->at_end = true;
            return HS_OK;
        }
        return ++b->at == HS_CHUNK_BLOCKS ? load(b, err) : HS_OK;
    }
    if (b->walk == WALK_TYPES) {
        b->place++;
        go_on_by_type(b);
        return HS_OK;
    }
    if (b->walk == WALK_LARGEST) {
        cursor->at_end = b->next == b->largest.n;
        cursor->row = cursor->at_end ? 0 : b->largest.found[b->next++].node;
        return HS_OK;
    }
    do /* a node of the root tree dominates others of it, too */
        cursor->at_end = b->walk == WALK_ONE || !hs_row_next(&b->children, &cursor->row);
    while (!cursor->at_end && cursor->row < cursor->source->view.n_tree);
    return cursor->at_end && b->walk == WALK_CHILDREN ? hs_row_check(&b->children, err) : HS_OK;
}

static void blocks_fini(struct hs_sql_cursor *cursor)
{
    struct blocks *b = (struct blocks *)cursor;
    hs_chunk_fini(&b->chunk);
    hs_sql_largest_fini(&b->largest);
    hs_sql_by_type_fini(&b->by_type);
    hs_free(b->roots);
    hs_budget_release(cursor->source->view.session.budget, b->reserved_bytes);
    b->roots = NULL;
    b->roots_end = b->reserved_bytes = 0;
}

static hs_status go_to_first(struct blocks *b, hs_node first, hs_node end, struct hs_error *err)
{
    struct hs_sql_cursor *cursor = &b->cursor;
    cursor->row = first;
    b->end = end;
    cursor->at_end = first >= end;
    if (cursor->at_end)
        return HS_OK;
    if (end - first == 1) { /* the chunk may be at hand */
        b->walk = WALK_ONE;
        return HS_OK;
    }
    b->walk = WALK_CHUNKS;
    return load(b, err);
}

enum { KEY_ID, KEY_ADDRESS, KEY_IDOM };

static struct hs_sql_by_type_wants wants_of(uint32_t used)
{
    return (struct hs_sql_by_type_wants){
        .words = (used & 1u << HS_BLOCKS_words) != 0,
        .state = (used & (1u << HS_BLOCKS_static | 1u << HS_BLOCKS_young)) != 0};
}

/* Tells whether blocks can come in groups: for columns of the index, and addresses, a look-up per
 * row in such an order costs more than sorting. */
static bool blocks_can_group(const struct hs_sql_source *source, uint32_t used)
{
    uint32_t cheap = 1u << HS_BLOCKS_id | 1u << HS_BLOCKS_words | 1u << HS_BLOCKS_static |
                     1u << HS_BLOCKS_young | 1u << HS_BLOCKS_type | 1u << HS_BLOCKS_type_id;
    return (used & ~cheap) == 0 && hs_sql_by_type_fits(source, wants_of(used));
}

static hs_status go_by_type(struct blocks *b, uint32_t used, struct hs_error *err)
{
    b->walk = WALK_TYPES;
    b->place = 0;
    b->type_at = 0;
    HS_TRY(hs_sql_by_type_make(b->cursor.source, wants_of(used), &b->by_type, err));
    go_on_by_type(b);
    return HS_OK;
}

static hs_status blocks_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                               struct hs_error *err)
{
    struct blocks *b = (struct blocks *)cursor;
    struct hs_view *view = &cursor->source->view;
    hs_node first = view->n_tree, end = view->n_nodes;
    blocks_fini(cursor);
    b->sized = HS_NO_NODE;
    b->columns = columns_of(plan->used);
    if (plan->wants_largest) {
        b->walk = WALK_LARGEST;
        b->next = 0;
        HS_TRY(hs_sql_largest_find(cursor->source, plan->most, &b->largest, err));
        return blocks_next(cursor, err);
    }
    if (plan->wants_groups)
        return go_by_type(b, plan->used, err);
    if (plan->key == KEY_IDOM) {
        HS_TRY(go_to_children(b, plan));
        return cursor->at_end ? HS_OK : blocks_next(cursor, err);
    }
    if (plan->key == KEY_ID)
        hs_sql_range(plan, &first, &end);
    else if (plan->key == KEY_ADDRESS)
        HS_TRY(find_address(b, plan->equal, &first, &end, err));
    return go_to_first(b, first, end, err);
}

static void typed_column(const struct blocks *b, sqlite3_context *ret, int column)
{
    const struct hs_view *view = &b->cursor.source->view;
    uint32_t type = b->by_type.types[b->type_at];
    switch (column) {
    case HS_BLOCKS_words:
        hs_sql_put(ret, b->by_type.words[b->place]);
        return;
    case HS_BLOCKS_static:
        sqlite3_result_int(ret, (b->by_type.state[b->place] & HS_BLOCK_STATIC) != 0);
        return;
    case HS_BLOCKS_young:
        sqlite3_result_int(ret, (b->by_type.state[b->place] & HS_BLOCK_YOUNG) != 0);
        return;
    case HS_BLOCKS_type:
        hs_sql_put_name(ret, hs_view_string(view, hs_snap_type(view->snap, type)->name));
        return;
    default:
        hs_sql_put(ret, type);
    }
}

/* Gives a column that the chunk has. */
static hs_status chunk_column(struct blocks *b, sqlite3_context *ret, int column,
                              struct hs_error *err)
{
    const struct hs_view *view = &b->cursor.source->view;
    const struct hs_chunk *chunk = &b->chunk;
    uint32_t at = b->at;
    unsigned columns = columns_of(1u << column);
    if (b->walk == WALK_TYPES && column != HS_BLOCKS_address) {
        typed_column(b, ret, column);
        return HS_OK;
    }
    if (b->walk != WALK_CHUNKS)
        HS_TRY(hs_view_chunk(&b->cursor.source->view, b->cursor.row, columns, &chunk, &at, err));
    switch (column) {
    case HS_BLOCKS_address:
        sqlite3_result_int64(ret, (sqlite3_int64)chunk->address[at]);
        break;
    case HS_BLOCKS_words:
        hs_sql_put(ret, chunk->words[at]);
        break;
    case HS_BLOCKS_static:
        sqlite3_result_int(ret, (chunk->state[at] & HS_BLOCK_STATIC) != 0);
        break;
    case HS_BLOCKS_young:
        sqlite3_result_int(ret, (chunk->state[at] & HS_BLOCK_YOUNG) != 0);
        break;
    case HS_BLOCKS_type:
        hs_sql_put_name(ret, hs_view_string(view, hs_snap_type(view->snap, chunk->type[at])->name));
        break;
    default:
        hs_sql_put(ret, chunk->type[at]);
    }
    return HS_OK;
}

/* Gives the root that retains a block, found for many blocks at once: each part of the tree is
 * climbed a few times. */
static hs_status root_column(struct blocks *b, sqlite3_context *ret, struct hs_error *err)
{
    struct hs_view *view = &b->cursor.source->view;
    hs_node node = b->cursor.row, nodes[ROOTS_AT_ONCE];
    if (node < b->roots_first || node >= b->roots_end) {
        uint64_t left = b->walk == WALK_CHUNKS ? b->end - node : 1;
        size_t n = left < ROOTS_AT_ONCE ? left : ROOTS_AT_ONCE;
        if (b->roots == NULL)
            HS_TRY(HS_ALLOC(&b->roots, ROOTS_AT_ONCE, err));
        for (size_t i = 0; i < n; i++)
            nodes[i] = node + i;
        b->roots_end = 0;
        HS_TRY(hs_view_retaining_roots(view, nodes, n, b->roots, err));
        b->roots_first = node;
        b->roots_end = node + n;
    }
    hs_sql_put_or(ret, b->roots[node - b->roots_first], HS_NO_NODE);
    return HS_OK;
}

/* Returns the retained sizes of the row; three columns ask for them. */
static const struct hs_sizes *retained(struct blocks *b)
{
    if (b->sized != b->cursor.row)
        b->sizes = hs_index_retained(b->cursor.source->view.index, b->cursor.row);
    b->sized = b->cursor.row;
    return &b->sizes;
}

static hs_status conservative_column(struct blocks *b, sqlite3_context *ret, struct hs_error *err)
{
    struct hs_index *index;
    HS_TRY(hs_sql_conservative_index(b->cursor.source, &index, err));
    hs_sql_put(ret, hs_index_retained(index, b->cursor.row).words);
    return hs_index_check(index, err);
}

static hs_status depth_column(struct blocks *b, sqlite3_context *ret, struct hs_error *err)
{
    uint64_t depth;
    HS_TRY(hs_sql_depth(b->cursor.source, b->cursor.row, &depth, err));
    hs_sql_put_or(ret, depth, HS_SQL_NO_DEPTH);
    return HS_OK;
}

static hs_status blocks_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                               struct hs_error *err)
{
    struct blocks *b = (struct blocks *)cursor;
    struct hs_index *index = cursor->source->view.index;
    switch (column) {
    case HS_BLOCKS_id:
        hs_sql_put(ret, cursor->row);
        return HS_OK;
    case HS_BLOCKS_idom:
        hs_sql_put_or(ret, hs_index_idom(index, cursor->row), HS_NO_NODE);
        return HS_OK;
    case HS_BLOCKS_retained_words:
        hs_sql_put(ret, retained(b)->words);
        return HS_OK;
    case HS_BLOCKS_retained_objects:
        hs_sql_put(ret, retained(b)->objects);
        return HS_OK;
    case HS_BLOCKS_static_retained_words:
        hs_sql_put(ret, retained(b)->static_words);
        return HS_OK;
    case HS_BLOCKS_root_id:
        return root_column(b, ret, err);
    case HS_BLOCKS_tier:
        hs_sql_put_tier(ret, hs_index_tier(index, cursor->row));
        return HS_OK;
    case HS_BLOCKS_reached:
        sqlite3_result_int(ret, hs_index_is_reached(index, cursor->row));
        return HS_OK;
    case BLOCKS_CONSERVATIVE:
        return conservative_column(b, ret, err);
    case BLOCKS_DEPTH:
        return depth_column(b, ret, err);
    default:
        return chunk_column(b, ret, column, err);
    }
}

static double blocks_estimate(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_blocks;
}

static const struct hs_sql_key keys[] = {
    [KEY_ID] = {HS_BLOCKS_id, HS_SQL_KEY_ORDERED, true, 1},
    [KEY_ADDRESS] = {HS_BLOCKS_address, HS_SQL_KEY_EQUAL, true, 1},
    [KEY_IDOM] = {HS_BLOCKS_idom, HS_SQL_KEY_EQUAL, false, 10},
};

const struct hs_sql_table hs_sql_table_blocks = {
    .name = "blocks",
    .columns = &(HS_ROWS_BLOCKS(HS_SQL_COLUMN) ", retained_conservative WORDS HIDDEN, "
                                               "depth INTEGER HIDDEN")[2],
    .cursor_bytes = sizeof(struct blocks),
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .largest = HS_BLOCKS_retained_words + 1,
    .grouped = HS_BLOCKS_type + 1,
    .can_group = blocks_can_group,
    .estimate = blocks_estimate,
    .filter = blocks_filter,
    .next = blocks_next,
    .fini = blocks_fini,
    .column = blocks_column,
};
