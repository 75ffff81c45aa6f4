/* Edges of single nodes, looked up in their chunks. */
#include "analysis/neighbours.h"

#include <stdlib.h>

#include "analysis/block_file.h"
#include "analysis/chunk_pass.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"
#include "base/bisect.h"

void hs_links_fini(struct hs_links *links)
{
    hs_free(links->links);
    *links = (struct hs_links){0};
}

static hs_status add(struct hs_links *links, hs_node other, uint64_t offset_words,
                     unsigned edge_class, struct hs_error *err)
{
    HS_TRY(HS_GROW(&links->links, &links->capacity, links->n + 1, err));
    links->links[links->n++] = (struct hs_link){other, offset_words, (uint8_t)edge_class};
    return HS_OK;
}

static int by_offset(const void *left, const void *right)
{
    const struct hs_link *a = left, *b = right;
    if (a->offset_words != b->offset_words)
        return a->offset_words < b->offset_words ? -1 : 1;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* The chunk's sparse edges are in order of their source. */
static uint64_t first_extra(const struct hs_chunk *chunk, hs_node source)
{
    return HS_FIRST_FROM(chunk->extra, chunk->n_extra, source, source);
}

static hs_status out_of_root(const struct hs_view *view, hs_node node, struct hs_links *links,
                             struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    if (root->target == HS_NO_NODE)
        return HS_OK;
    return add(links, root->target, HS_NO_OFFSET, root->weak ? HS_EDGE_WEAK : root->edge_class,
               err);
}

/* Borrowed until the view is looked at again. */
static hs_status row_of(struct hs_view *view, hs_node node, struct hs_edge_row *ret,
                        struct hs_error *err)
{
    const unsigned columns = HS_COL_EDGES | HS_COL_FIELDS | HS_COL_EXTRA;
    const struct hs_chunk *chunk;
    uint32_t at;
    bool is_found;
    HS_TRY(hs_block_file_row(view, node, ret, &is_found, err));
    if (is_found)
        return HS_OK;
    HS_TRY(hs_view_chunk(view, node, columns, &chunk, &at, err));
    uint64_t first = chunk->edge_begin[at], extra = first_extra(chunk, node), end = extra;
    *ret = (struct hs_edge_row){.n = chunk->edge_begin[at + 1] - first};
    if (ret->n != 0) { /* else there may be no arrays */
        ret->target = chunk->target + first;
        ret->offset_words = chunk->offset_words + first;
        ret->edge_class = chunk->edge_class + first;
    }
    while (end < chunk->n_extra && chunk->extra[end].source == node)
        end++;
    ret->n_extra = end - extra;
    if (ret->n_extra != 0)
        ret->extra = chunk->extra + extra;
    return HS_OK;
}

static hs_status out_of_block(struct hs_view *view, hs_node node, struct hs_links *links,
                              struct hs_error *err)
{
    struct hs_edge_row row;
    HS_TRY(row_of(view, node, &row, err));
    for (uint64_t e = 0; e < row.n; e++)
        HS_TRY(add(links, row.target[e], row.offset_words[e], row.edge_class[e], err));
    for (uint64_t e = 0; e < row.n_extra; e++)
        HS_TRY(add(links, row.extra[e].target, row.extra[e].offset_words, row.extra[e].edge_class,
                   err));
    if (links->n > 1)
        qsort(links->links, links->n, sizeof *links->links, by_offset);
    return HS_OK;
}

hs_status hs_links_out(struct hs_view *view, hs_node node, struct hs_links *ret,
                       struct hs_error *err)
{
    struct hs_links links = {0};
    hs_status status = node < view->n_tree ? out_of_root(view, node, &links, err)
                                           : out_of_block(view, node, &links, err);
    if (status == HS_OK)
        *ret = links;
    else
        hs_links_fini(&links);
    return status;
}

/* All fields of `source` that hold `target`. */
static hs_status add_source(struct hs_view *view, hs_node source, hs_node target,
                            struct hs_links *links, struct hs_error *err)
{
    if (source < view->n_tree)
        return add(links, source, HS_NO_OFFSET, hs_snap_root(view->snap, source)->edge_class, err);
    struct hs_links out = {0};
    hs_status status = hs_links_out(view, source, &out, err);
    for (size_t i = 0; i < out.n && status == HS_OK; i++)
        if (out.links[i].other == target && out.links[i].edge_class <= HS_EDGE_EPHEMERON)
            status = add(links, source, out.links[i].offset_words, out.links[i].edge_class, err);
    hs_links_fini(&out);
    return status;
}

static hs_status add_weak_sources(struct hs_view *view, hs_node node, struct hs_links *links,
                                  struct hs_error *err)
{
    bool is_found;
    HS_TRY(hs_block_file_weak(view, node, links, &is_found, err));
    if (is_found)
        return HS_OK;
    for (hs_node leaf = 0; leaf < view->n_tree; leaf++) {
        const struct hs_root *root = hs_snap_root(view->snap, leaf);
        if (root->weak && root->target == node)
            HS_TRY(add(links, leaf, HS_NO_OFFSET, HS_EDGE_WEAK, err));
    }
    if (view->totals->n_extra_edges == 0)
        return HS_OK;
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_EXTRA, /* what= */ NULL);
    while (hs_chunk_pass_next(&pass, err))
        for (uint64_t e = 0; pass.status == HS_OK && e < pass.chunk.n_extra; e++) {
            const struct hs_extra_edge *edge = &pass.chunk.extra[e];
            if (edge->target == node && edge->edge_class > HS_EDGE_EPHEMERON)
                pass.status = add(links, edge->source, edge->offset_words, edge->edge_class, err);
        }
    return hs_chunk_pass_end(&pass);
}

struct hs_referrers hs_referrers_of(struct hs_view *view, hs_node node, uint64_t limit)
{
    struct hs_referrers r = {.view = view, .node = node, .has_weak = true};
    r.row = hs_index_predecessors(view->index, node);
    r.left = r.row.n < limit ? r.row.n : limit;
    r.n_more = r.row.n - r.left;
    return r;
}

hs_status hs_referrers_next(struct hs_referrers *referrers, uint64_t most, struct hs_links *links,
                            struct hs_error *err)
{
    hs_node source;
    links->n = 0;
    for (uint64_t i = 0; (i < most || links->n == 0) && referrers->left > 0; i++) {
        referrers->left--;
        if (!hs_row_next(&referrers->row, &source)) {
            referrers->left = 0;
            return hs_row_check(&referrers->row, err);
        }
        HS_TRY(add_source(referrers->view, source, referrers->node, links, err));
    }
    if (links->n != 0 || referrers->left > 0 || !referrers->has_weak)
        return HS_OK;
    referrers->has_weak = false;
    return add_weak_sources(referrers->view, referrers->node, links, err);
}

hs_status hs_link_find(struct hs_view *view, hs_node source, hs_node target, struct hs_link *ret,
                       struct hs_error *err)
{
    struct hs_link link = {target, HS_NO_OFFSET, HS_N_EDGE_CLASSES};
    if (source < view->n_tree) {
        link.edge_class = hs_snap_root(view->snap, source)->edge_class;
        *ret = link;
        return HS_OK;
    }
    struct hs_edge_row row;
    HS_TRY(row_of(view, source, &row, err));
    uint64_t first = HS_FIRST_NOT(e, (uint64_t)0, row.n, row.target[e] < target);
    unsigned least = HS_N_TIERS;
    for (uint64_t e = first; e < row.n && row.target[e] == target; e++) {
        unsigned tier = hs_edge_tier(row.edge_class[e]);
        if (tier < least) { /* offsets ascend, too */
            link.offset_words = row.offset_words[e];
            link.edge_class = row.edge_class[e];
            least = tier;
        }
    }
    for (uint64_t e = 0; e < row.n_extra; e++) {
        const struct hs_extra_edge *edge = &row.extra[e];
        if (edge->target == target && edge->edge_class == HS_EDGE_EPHEMERON &&
            (least != HS_TIER_FIRM || edge->offset_words < link.offset_words)) {
            link.offset_words = edge->offset_words;
            link.edge_class = edge->edge_class;
            least = HS_TIER_FIRM;
        }
    }
    *ret = link;
    return HS_OK;
}

hs_status hs_link_offset(struct hs_view *view, hs_node source, hs_node target,
                         uint64_t *ret_offset_words, struct hs_error *err)
{
    struct hs_link link;
    HS_TRY(hs_link_find(view, source, target, &link, err));
    *ret_offset_words = link.offset_words;
    return HS_OK;
}

hs_status hs_link_tier(struct hs_view *view, hs_node source, unsigned edge_class, unsigned *ret,
                       struct hs_error *err)
{
    unsigned own = hs_index_tier(view->index, source), tier = HS_TIER_FIRM;
    struct hs_node_facts facts = {.type = 0};
    *ret = HS_TIER_NONE;
    if (own == HS_TIER_NONE || edge_class > HS_EDGE_EPHEMERON)
        return HS_OK;
    if (hs_edge_tier(edge_class) != HS_TIER_FIRM && source >= view->n_tree)
        HS_TRY(hs_view_facts(view, source, &facts, err));
    tier = hs_view_edge_tier(view, source, facts.type, edge_class);
    *ret = tier > own ? tier : own;
    return HS_OK;
}
