#include "graph/edges.h"

bool hs_root_holds(const struct hs_root *root, const struct hs_edge_choice *choice)
{
    if (root->target == HS_NO_NODE || root->weak)
        return false;
    unsigned tier = hs_root_tier(root);
    if (choice->edges == HS_GRAPH_FIRM)
        return tier == HS_TIER_FIRM;
    if (choice->edges == HS_GRAPH_SURE)
        return tier != HS_TIER_DOUBTFUL;
    return choice->tiers == NULL || hs_tiers_admit(choice->tiers, tier, root->target);
}

static bool takes_sure_only(const struct hs_edge_choice *choice)
{
    return choice->edges == HS_GRAPH_SURE || choice->edges == HS_GRAPH_FIRM;
}

unsigned hs_edge_columns(const struct hs_edge_choice *choice)
{
    if (!takes_sure_only(choice) && choice->tiers == NULL)
        return 0;
    return HS_COL_CLASSES | (choice->pointers_in != NULL ? HS_COL_TYPES : 0);
}

/* The tier of the words of a block that are called doubtful. */
static unsigned doubtful_tier(const struct hs_chunk *chunk, uint32_t block,
                              const struct hs_edge_choice *choice)
{
    bool holds_pointers =
        choice->pointers_in != NULL && hs_bitmap_get(choice->pointers_in, chunk->type[block]);
    return holds_pointers ? HS_TIER_FIRM : HS_TIER_DOUBTFUL;
}

static void rows_keep_sure(struct hs_chunk *chunk, const struct hs_edge_choice *choice)
{
    uint64_t kept = 0, begin = 0;

    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint64_t end = chunk->edge_begin[i + 1];
        bool all = doubtful_tier(chunk, i, choice) == HS_TIER_FIRM;
        for (uint64_t e = begin; e < end; e++) {
            chunk->target[kept] = chunk->target[e];
            kept += all || hs_edge_tier(chunk->edge_class[e]) == HS_TIER_FIRM;
        }
        chunk->edge_begin[i + 1] = kept;
        begin = end;
    }
    chunk->n_edges = kept;
}

static void rows_keep_admitted(struct hs_chunk *chunk, const struct hs_edge_choice *choice)
{
    const struct hs_tiers *tiers = choice->tiers;
    uint64_t kept = 0, begin = 0;

    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint64_t end = chunk->edge_begin[i + 1];
        unsigned own = hs_tiers_of(tiers, chunk->first + i);
        unsigned doubtful = doubtful_tier(chunk, i, choice);
        for (uint64_t e = begin; e < end; e++) {
            hs_node target = chunk->target[e];
            unsigned tier = hs_edge_tier(chunk->edge_class[e]) == HS_TIER_FIRM ? own : doubtful;
            chunk->target[kept] = target;
            kept += hs_tiers_admit(tiers, tier > own ? tier : own, target);
        }
        chunk->edge_begin[i + 1] = kept;
        begin = end;
    }
    chunk->n_edges = kept;
}

/* Drops the edges of ephemerons that take no part: each is as firm as the ephemeron's keys, the
 * tier of its source. */
static void extra_keep_admitted(struct hs_chunk *chunk, const struct hs_tiers *tiers)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < chunk->n_extra; i++)
        if (hs_tiers_admit(tiers, hs_tiers_of(tiers, chunk->extra[i].source),
                           chunk->extra[i].target))
            chunk->extra[kept++] = chunk->extra[i];
    chunk->n_extra = kept;
}

void hs_chunk_choose(struct hs_chunk *chunk, const struct hs_edge_choice *choice)
{
    if (takes_sure_only(choice)) {
        rows_keep_sure(chunk, choice);
    } else if (choice->tiers != NULL) {
        rows_keep_admitted(chunk, choice);
        if (chunk->extra != NULL)
            extra_keep_admitted(chunk, choice->tiers);
    }
}

bool hs_snap_has_tiers(const struct hs_snap *snap)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);

    if (totals->n_edges != 0 && totals->n_doubtful_edges != 0) /* or nobody knows how many */
        return true;
    for (hs_node node = 0; node < totals->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(snap, node);
        if (hs_root_tier(root) != HS_TIER_FIRM)
            return true;
    }
    return false;
}
