#include "owner_search.h"

#include "analysis/chunk_pass.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"

/* The states of a cell: what is known of the block. */
enum state {
    WAITING, /* nothing has met it */
    MET,     /* from this level; the key is that of what it hangs on */
    FRESH,   /* of the next level, with its own key */
    DONE
};

#define VALUE_BITS 30
#define VALUE ((UINT32_C(1) << VALUE_BITS) - 1)
#define KIND_BITS 28
#define ENTRY_KIND_BITS 24
#define BLOCKS_MOST ((uint64_t)1 << (64 - ENTRY_KIND_BITS))
#define LEVEL_LEAST ((uint64_t)1 << 16)
#define TELL_EVERY ((uint64_t)1 << 20)
/* A program with very many names (functions of Python, each of a few small blocks) leaves a quarter
 * of the keys for what is below its stacks. */
#define FIRST_KEYS_MOST (KEYS_SEARCHED / 4 * 3)
#define PHASE "finding who owns what"

static enum state state_of(uint32_t cell)
{
    return (enum state)(cell >> VALUE_BITS);
}

static uint32_t cell_of(enum state state, uint32_t value)
{
    return (uint32_t)state << VALUE_BITS | value;
}

uint32_t owner_search_key(const struct owner_search *search, uint64_t block)
{
    uint32_t cell = search->cells[block];
    return state_of(cell) == DONE ? cell & VALUE : HS_NO_KEY;
}

/* ---- before anything is met */

static hs_status cells_fill(struct owner_search *search, struct hs_error *err)
{
    struct hs_view *view = search->view;
    const struct hs_bitmap *firm_types;
    bool has_tiers = hs_used_edges_by_tier(view, &firm_types);
    const uint32_t *kinds = search->table->kinds->of_type;
    struct hs_index_in_order told = {.index = view->index,
                                     .read = has_tiers ? hs_index_run_tiers : hs_index_run_reached};
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "reading types");
    while (hs_chunk_pass_next(&pass, err))
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++) {
            hs_node node = pass.chunk.first + i;
            unsigned is = hs_index_next(&told, node);
            unsigned tier = has_tiers ? is : is != 0 ? HS_TIER_FIRM : HS_TIER_NONE;
            uint32_t value = tier << KIND_BITS | kinds[pass.chunk.type[i]];
            search->cells[node - view->n_tree] = cell_of(WAITING, value);
            if (tier < HS_N_TIERS)
                search->n_of_tier[tier]++;
        }
    HS_TRY(hs_chunk_pass_end(&pass));
    return hs_index_check(view->index, err);
}

static hs_status level_init(struct owner_level *level, uint64_t n_blocks, struct hs_error *err)
{
    level->most = n_blocks / 64 < LEVEL_LEAST ? LEVEL_LEAST : n_blocks / 64;
    return HS_PAGES_ALLOC(&level->entries, level->most, err);
}

static uint64_t level_bytes(uint64_t n_blocks)
{
    return (n_blocks / 64 + LEVEL_LEAST) * sizeof(uint64_t);
}

static hs_status search_open(struct owner_search *search, bool in_file, struct hs_error *err)
{
    uint64_t n = search->n_blocks;
    if (n > BLOCKS_MOST)
        return hs_fail(err, HS_LIMIT, "keys are for at most 2^40 blocks");
    uint64_t n_bytes = n * sizeof *search->cells + 2 * level_bytes(n);
    HS_TRY(hs_budget_reserve(search->view->session.budget, n_bytes, "the keys of all blocks", err));
    search->reserved_bytes = n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&search->cells, n, err));
    HS_TRY(level_init(&search->now, n, err));
    HS_TRY(level_init(&search->next, n, err));
    HS_TRY(cells_fill(search, err));
    return successors_open(search->view, in_file, &search->rows, err);
}

void owner_search_fini(struct owner_search *search)
{
    successors_close(&search->rows);
    hs_pages_free(search->cells, search->n_blocks, sizeof *search->cells);
    hs_pages_free(search->now.entries, search->now.most, sizeof *search->now.entries);
    hs_pages_free(search->next.entries, search->next.most, sizeof *search->next.entries);
    if (search->view != NULL)
        hs_budget_release(search->view->session.budget, search->reserved_bytes);
    *search = (struct owner_search){0};
}

/* ---- a level */

static void level_put(struct owner_level *level, uint64_t block, uint32_t kind)
{
    if (level->n == level->most)
        level->is_wide = true;
    else
        level->entries[level->n++] = block << ENTRY_KIND_BITS | kind;
}

/* A way leads to the block from something of this key. */
static void meet(struct owner_search *search, uint64_t block, uint32_t key)
{
    uint32_t *cell = &search->cells[block], value = *cell & VALUE;
    const uint32_t *rank = search->table->rank;
    switch (state_of(*cell)) {
    case WAITING:
        if (value >> KIND_BITS > search->tier)
            return;
        level_put(&search->next, block, value & ((UINT32_C(1) << KIND_BITS) - 1));
        *cell = cell_of(MET, key);
        break;
    case MET:
        if (rank[key] < rank[value])
            *cell = cell_of(MET, key);
        break;
    case FRESH:
    case DONE:
        break;
    }
}

static hs_status meet_row(struct owner_search *search, uint64_t block, uint32_t key,
                          struct hs_error *err)
{
    struct successor_row row;
    hs_node n_tree = search->view->n_tree;
    HS_TRY(successors_of(&search->rows, n_tree + block, &row, err));
    for (hs_node target; successors_next(&row, &target);)
        if (target >= n_tree)
            meet(search, target - n_tree, key);
    return HS_OK;
}

static hs_status settle_one(struct owner_search *search, uint64_t block, uint32_t kind,
                            struct hs_error *err)
{
    uint32_t key;
    HS_TRY(key_table_step(search->table, search->cells[block] & VALUE, kind, &key, err));
    search->cells[block] = cell_of(FRESH, key);
    search->n_met++;
    return HS_OK;
}

static hs_status settle_wide(struct owner_search *search, struct hs_error *err)
{
    struct hs_view *view = search->view;
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, NULL);
    while (hs_chunk_pass_next(&pass, err)) {
        uint64_t first = pass.chunk.first - view->n_tree;
        for (uint32_t i = 0; i < pass.chunk.n_blocks && pass.status == HS_OK; i++)
            if (state_of(search->cells[first + i]) == MET)
                pass.status = settle_one(search, first + i,
                                         search->table->kinds->of_type[pass.chunk.type[i]], err);
    }
    return hs_chunk_pass_end(&pass);
}

/* Gives the nodes that were met their key; they are the level that comes next. */
static hs_status settle(struct owner_search *search, struct hs_error *err)
{
    struct owner_level *next = &search->next;
    uint64_t before = search->n_met;
    if (next->is_wide)
        HS_TRY(settle_wide(search, err));
    for (uint64_t i = 0; i < next->n && !next->is_wide; i++)
        HS_TRY(settle_one(search, next->entries[i] >> ENTRY_KIND_BITS,
                          next->entries[i] & (KEY_KINDS_MOST - 1), err));
    key_table_rank(search->table);
    struct owner_level done = search->now;
    search->now = *next;
    *next = done;
    next->n = 0;
    next->is_wide = false;
    if (before / TELL_EVERY != search->n_met / TELL_EVERY)
        return hs_progress_tell(search->view->session.progress, PHASE, search->n_met,
                                search->n_blocks, err);
    return HS_OK;
}

static hs_status expand_one(struct owner_search *search, uint64_t block, struct hs_error *err)
{
    uint32_t key = search->cells[block] & VALUE;
    search->cells[block] = cell_of(DONE, key);
    return meet_row(search, block, key, err);
}

static hs_status expand(struct owner_search *search, struct hs_error *err)
{
    const struct owner_level *now = &search->now;
    for (uint64_t i = 0; now->is_wide && i < search->n_blocks; i++)
        if (state_of(search->cells[i]) == FRESH)
            HS_TRY(expand_one(search, i, err));
    for (uint64_t i = 0; !now->is_wide && i < now->n; i++)
        HS_TRY(expand_one(search, now->entries[i] >> ENTRY_KIND_BITS, err));
    return HS_OK;
}

/* Searches from what was met on, to the end. */
static hs_status flood(struct owner_search *search, struct hs_error *err)
{
    HS_TRY(settle(search, err));
    while (search->now.n > 0) {
        HS_TRY(expand(search, err));
        HS_TRY(settle(search, err));
    }
    return HS_OK;
}

/* ---- the rounds */

/* Continues from finished nodes: a node of this tier can be reached from nodes of a stronger tier.
 */
static hs_status flood_from_done(struct owner_search *search, struct hs_error *err)
{
    for (uint64_t i = 0; i < search->n_blocks; i++)
        if (state_of(search->cells[i]) == DONE)
            HS_TRY(meet_row(search, i, search->cells[i] & VALUE, err));
    return flood(search, err);
}

static hs_status flood_from_roots(struct owner_search *search, enum key_round round,
                                  struct hs_error *err)
{
    const struct hs_view *view = search->view;
    bool is_first = search->tier == 0 && round == KEY_ROUND_NAMES;
    search->table->most = is_first ? FIRST_KEYS_MOST : KEYS_SEARCHED;
    for (size_t i = 0; i < search->roots->n; i++) {
        const struct key_leaf *leaf = &search->roots->leaves[i];
        hs_node target = hs_snap_root(view->snap, leaf->leaf)->target;
        if (leaf->tier == search->tier && key_roots_round(leaf->kind) == round)
            meet(search, target - view->n_tree, leaf->key);
    }
    return flood(search, err);
}

static hs_status search_tiers(struct owner_search *search, struct hs_error *err)
{
    for (search->tier = 0; search->tier < HS_N_TIERS; search->tier++) {
        if (search->n_of_tier[search->tier] == 0)
            continue;
        if (search->tier > 0)
            HS_TRY(flood_from_done(search, err));
        for (enum key_round round = 0; round < KEY_N_ROUNDS; round++)
            HS_TRY(flood_from_roots(search, round, err));
    }
    uint64_t n_reached = 0;
    for (unsigned tier = 0; tier < HS_N_TIERS; tier++)
        n_reached += search->n_of_tier[tier];
    if (search->n_met == n_reached)
        return HS_OK;
    (void)hs_fail(err, HS_FORMAT, "the index of '%s' is damaged: it calls reached what is not",
                  search->view->path);
    return hs_hint(err, "compute it anew: heapsnap index --rebuild %s", search->view->path);
}

hs_status owner_search_run(struct hs_view *view, struct key_table *table,
                           const struct key_roots *roots, bool in_file, struct owner_search *ret,
                           struct hs_error *err)
{
    struct owner_search search = {
        .view = view, .table = table, .roots = roots, .n_blocks = view->totals->n_blocks};
    hs_status status = search_open(&search, in_file, err);
    if (status == HS_OK)
        status = search_tiers(&search, err);
    if (status == HS_OK)
        *ret = search;
    else
        owner_search_fini(&search);
    return status;
}
