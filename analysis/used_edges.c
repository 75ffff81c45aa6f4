#include "analysis/used_edges.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/bitmap.h"
#include "base/table.h"
#include "graph/edges.h"

struct hs_used_edges {
    bool has_tiers;
    struct hs_bitmap pointers_in; /* by type */
    struct hs_bitmap is_read;     /* by chunk */
    struct hs_table by_ends;
    struct ends {
        hs_node source, target;
    } * dropped; /* owned */
    size_t n, capacity;
    uint64_t taken_bytes;
    struct hs_error error; /* the first failure */
};

static hs_status mark_types(const struct hs_view *view, struct hs_used_edges *used,
                            struct hs_error *err)
{
    const struct hs_policy *policy = &view->session.policy;
    HS_TRY(hs_bitmap_init(&used->pointers_in, view->totals->n_types, err));
    for (uint32_t i = 0; policy->n_pointers_in != 0 && i < view->totals->n_types; i++)
        for (size_t k = 0; k < policy->n_pointers_in; k++)
            if (strcmp(hs_view_string(view, hs_snap_type(view->snap, i)->name),
                       policy->pointers_in[k]) == 0)
                hs_bitmap_set(&used->pointers_in, i);
    return hs_bitmap_init(&used->is_read, view->totals->n_chunks, err);
}

hs_status hs_used_edges_open(struct hs_view *view, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&view->used, 1, err));
    struct hs_used_edges *used = view->used;
    used->error = (struct hs_error)HS_ERROR_INIT;
    used->has_tiers =
        hs_index_policy(view->index) != HS_POLICY_CONSERVATIVE && hs_snap_has_tiers(view->snap);
    return mark_types(view, used, err);
}

void hs_used_edges_close(struct hs_view *view)
{
    if (view->used == NULL)
        return;
    hs_budget_release(view->session.budget, view->used->taken_bytes);
    hs_bitmap_fini(&view->used->pointers_in);
    hs_bitmap_fini(&view->used->is_read);
    hs_table_fini(&view->used->by_ends);
    hs_free(view->used->dropped);
    hs_free(view->used);
    view->used = NULL;
}

bool hs_used_edges_by_tier(const struct hs_view *view, const struct hs_bitmap **ret)
{
    *ret = &view->used->pointers_in;
    return view->used->has_tiers;
}

unsigned hs_view_edge_tier(const struct hs_view *view, hs_node source, uint32_t type,
                           unsigned edge_class)
{
    bool is_trusted = source >= view->n_tree && view->used != NULL &&
                      hs_bitmap_get(&view->used->pointers_in, type);
    return is_trusted ? (unsigned)HS_TIER_FIRM : hs_edge_tier(edge_class);
}

static uint32_t find(const struct hs_used_edges *used, hs_node source, hs_node target)
{
    return HS_TABLE_FIND(&used->by_ends, hs_hash_pair(source, target), i,
                         used->dropped[i].source == source && used->dropped[i].target == target);
}

static hs_status drop(const struct hs_view *view, hs_node source, hs_node target,
                      struct hs_error *err)
{
    struct hs_used_edges *used = view->used;
    uint64_t more = hs_table_growth_bytes(&used->by_ends, 1);
    size_t room = used->capacity;
    if (used->n == used->capacity) {
        room = used->capacity == 0 ? 64 : 2 * used->capacity;
        more += (room - used->capacity) * sizeof *used->dropped;
    }
    HS_TRY(hs_budget_reserve(view->session.budget, more, "edges that take no part", err));
    used->taken_bytes += more;
    HS_TRY(HS_GROW(&used->dropped, &used->capacity, room, err));
    HS_TRY(hs_table_add(&used->by_ends, hs_hash_pair(source, target), used->n, err));
    used->dropped[used->n++] = (struct ends){source, target};
    return HS_OK;
}

/* Tells whether an ephemeron holds the target: such an edge is as firm as the ephemeron's keys,
 * though a doubtful word of the same block may lead there, too. */
static bool is_held(const struct hs_chunk *chunk, hs_node source, hs_node target)
{
    uint64_t e = HS_FIRST_FROM(chunk->extra, chunk->n_extra, source, source);
    for (; e < chunk->n_extra && chunk->extra[e].source == source; e++)
        if (chunk->extra[e].target == target && chunk->extra[e].edge_class == HS_EDGE_EPHEMERON)
            return true;
    return false;
}

/* Targets of a block ascend: those of which no edge is sure are dropped, unless doubt is all that
 * leads to them. */
static hs_status read_block(const struct hs_view *view, const struct hs_chunk *chunk, uint32_t at,
                            struct hs_error *err)
{
    hs_node source = chunk->first + at;
    for (uint64_t e = chunk->edge_begin[at], end = chunk->edge_begin[at + 1]; e < end;) {
        hs_node target = chunk->target[e];
        unsigned least = HS_TIER_DOUBTFUL;
        for (; e < end && chunk->target[e] == target; e++) {
            unsigned tier = hs_view_edge_tier(view, source, chunk->type[at], chunk->edge_class[e]);
            least = tier < least ? tier : least;
        }
        if (least != HS_TIER_FIRM && least > hs_index_tier(view->index, target) &&
            !is_held(chunk, source, target))
            HS_TRY(drop(view, source, target, err));
    }
    return HS_OK;
}

static hs_status read_chunk(const struct hs_view *view, uint64_t number, struct hs_error *err)
{
    struct hs_chunk chunk = {0};
    unsigned columns = HS_COL_EDGES | HS_COL_CLASSES | HS_COL_TYPES | HS_COL_EXTRA;
    hs_status status = hs_snap_load_chunk(view->snap, number, columns, &chunk, err);
    for (uint32_t i = 0; i < chunk.n_blocks && status == HS_OK; i++)
        status = read_block(view, &chunk, i, err);
    if (status == HS_OK)
        hs_bitmap_set(&view->used->is_read, number);
    hs_chunk_fini(&chunk);
    return status;
}

/* Tells whether a sure edge of a block leads to the target, which is not doubtful. */
static bool is_kept(const struct hs_view *view, hs_node source, hs_node target)
{
    struct hs_used_edges *used = view->used;
    uint64_t number = (source - view->n_tree) / HS_CHUNK_BLOCKS;
    if (used->error.status == HS_OK && !hs_bitmap_get(&used->is_read, number))
        (void)read_chunk(view, number, &used->error);
    return used->error.status == HS_OK && find(used, source, target) == HS_NO_NUMBER;
}

bool hs_edge_is_used(const struct hs_view *view, hs_node source, hs_node target)
{
    if (view->used == NULL || !view->used->has_tiers)
        return hs_index_is_reached(view->index, source);
    unsigned from = hs_index_tier(view->index, source), to = hs_index_tier(view->index, target);
    if (from == HS_TIER_NONE || from > to)
        return false;
    if (to >= HS_TIER_DOUBTFUL)
        return true;
    if (source < view->n_tree)
        return hs_root_tier(hs_snap_root(view->snap, source)) <= to;
    return is_kept(view, source, target);
}

hs_status hs_used_edges_check(const struct hs_view *view, struct hs_error *err)
{
    if (view->used == NULL || view->used->error.status == HS_OK)
        return HS_OK;
    *err = view->used->error;
    return err->status;
}
