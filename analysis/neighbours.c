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

static hs_status add(struct hs_links *links, struct hs_link link, struct hs_error *err)
{
    HS_TRY(HS_GROW(&links->links, &links->capacity, links->n + 1, err));
    links->links[links->n++] = link;
    return HS_OK;
}

/* The link between `other` and a root, an edge of a row, an extra edge. */
static struct hs_link link_of_root(hs_node other, const struct hs_root *root)
{
    uint8_t edge_class = root->weak ? HS_EDGE_WEAK : root->edge_class;
    return (struct hs_link){other, HS_NO_OFFSET, edge_class, root->reason};
}

static struct hs_link link_of_edge(hs_node other, const struct hs_edge_row *row, uint64_t e)
{
    return (struct hs_link){other, row->offset_words[e], row->edge_class[e], row->edge_reason[e]};
}

static struct hs_link link_of_extra(hs_node other, const struct hs_extra_edge *edge)
{
    return (struct hs_link){other, edge->offset_words, edge->edge_class, edge->reason};
}

static int by_offset(const void *left, const void *right)
{
    const struct hs_link *a = left, *b = right;
    if (a->offset_words != b->offset_words)
        return a->offset_words < b->offset_words ? -1 : 1;
    if (a->other != b->other)
        return a->other < b->other ? -1 : 1;
    return (int)a->edge_class - (int)b->edge_class;
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
    return add(links, link_of_root(root->target, root), err);
}

/* Finds the edges of one node, borrowed until the view is looked at again. */
static hs_status row_of(struct hs_view *view, hs_node node, struct hs_edge_row *ret,
                        struct hs_error *err)
{
    const unsigned columns = HS_COL_REASONS | HS_COL_EXTRA;
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
        ret->edge_reason = chunk->edge_reason + first;
    }
    while (end < chunk->n_extra && chunk->extra[end].source == node)
        end++;
    ret->n_extra = end - extra;
    if (ret->n_extra != 0)
        ret->extra = chunk->extra + extra;
    return HS_OK;
}

/* ---- the first ones by offset: of more than are wanted a heap, with the last of them on top */

struct first_links {
    struct hs_links *links;
    uint64_t limit, n;
    bool has_all; /* there are no more than that: no heap */
};

static void sift_down(struct hs_link *links, size_t n)
{
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && by_offset(&links[child + 1], &links[child]) > 0;
        if (by_offset(&links[at], &links[child]) >= 0)
            return;
        struct hs_link moved = links[at];
        links[at] = links[child];
        links[child] = moved;
    }
}

static void sift_up(struct hs_link *links, size_t at)
{
    for (size_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (by_offset(&links[at], &links[parent]) <= 0)
            return;
        struct hs_link moved = links[at];
        links[at] = links[parent];
        links[parent] = moved;
    }
}

static hs_status take_first(struct first_links *first, struct hs_link link, struct hs_error *err)
{
    struct hs_links *links = first->links;
    first->n++;
    if (links->n < first->limit) {
        HS_TRY(add(links, link, err));
        if (!first->has_all)
            sift_up(links->links, links->n - 1);
    } else if (links->n != 0 && by_offset(&link, &links->links[0]) < 0) {
        links->links[0] = link;
        sift_down(links->links, links->n);
    }
    return HS_OK;
}

static hs_status out_of_block(struct hs_view *view, hs_node node, struct first_links *first,
                              struct hs_error *err)
{
    struct hs_edge_row row;
    HS_TRY(row_of(view, node, &row, err));
    first->has_all = row.n <= first->limit && row.n_extra <= first->limit - row.n;
    for (uint64_t e = 0; e < row.n; e++)
        HS_TRY(take_first(first, link_of_edge(row.target[e], &row, e), err));
    for (uint64_t e = 0; e < row.n_extra; e++)
        HS_TRY(take_first(first, link_of_extra(row.extra[e].target, &row.extra[e]), err));
    if (first->links->n > 1)
        qsort(first->links->links, first->links->n, sizeof *first->links->links, by_offset);
    return HS_OK;
}

hs_status hs_links_out_first(struct hs_view *view, hs_node node, uint64_t limit,
                             struct hs_links *ret, uint64_t *ret_n, struct hs_error *err)
{
    struct hs_links links = {0};
    struct first_links first = {.links = &links, .limit = limit};
    hs_status status = node < view->n_tree ? out_of_root(view, node, &links, err)
                                           : out_of_block(view, node, &first, err);
    if (status != HS_OK) {
        hs_links_fini(&links);
        return status;
    }
    *ret_n = node < view->n_tree ? links.n : first.n;
    *ret = links;
    return HS_OK;
}

hs_status hs_links_out(struct hs_view *view, hs_node node, struct hs_links *ret,
                       struct hs_error *err)
{
    uint64_t n;
    return hs_links_out_first(view, node, UINT64_MAX, ret, &n, err);
}

hs_status hs_links_between(struct hs_view *view, hs_node source, hs_node target,
                           struct hs_links *links, struct hs_error *err)
{
    struct hs_edge_row row;
    size_t before = links->n;
    HS_TRY(row_of(view, source, &row, err));
    for (uint64_t e = HS_FIRST_NOT(at, (uint64_t)0, row.n, row.target[at] < target);
         e < row.n && row.target[e] == target; e++)
        if (row.edge_class[e] <= HS_EDGE_EPHEMERON)
            HS_TRY(add(links, link_of_edge(source, &row, e), err));
    for (uint64_t e = 0; e < row.n_extra; e++)
        if (row.extra[e].target == target && row.extra[e].edge_class <= HS_EDGE_EPHEMERON)
            HS_TRY(add(links, link_of_extra(source, &row.extra[e]), err));
    if (links->n > before + 1)
        qsort(links->links + before, links->n - before, sizeof *links->links, by_offset);
    return HS_OK;
}

/* Adds all fields of `source` that hold `target`. */
static hs_status add_source(struct hs_view *view, hs_node source, hs_node target,
                            struct hs_links *links, struct hs_error *err)
{
    if (source < view->n_tree)
        return add(links, link_of_root(source, hs_snap_root(view->snap, source)), err);
    return hs_links_between(view, source, target, links, err);
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
            HS_TRY(add(links, link_of_root(leaf, root), err));
    }
    if (view->totals->n_extra_edges == 0)
        return HS_OK;
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_EXTRA, /* what= */ NULL);
    while (hs_chunk_pass_next(&pass, err))
        for (uint64_t e = 0; pass.status == HS_OK && e < pass.chunk.n_extra; e++) {
            const struct hs_extra_edge *edge = &pass.chunk.extra[e];
            if (edge->target == node && edge->edge_class > HS_EDGE_EPHEMERON)
                pass.status = add(links, link_of_extra(edge->source, edge), err);
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
    struct hs_link link = {target, HS_NO_OFFSET, HS_N_EDGE_CLASSES, HS_REASON_NONE};
    if (source < view->n_tree) {
        const struct hs_root *root = hs_snap_root(view->snap, source);
        *ret = (struct hs_link){target, HS_NO_OFFSET, root->edge_class, root->reason};
        return HS_OK;
    }
    struct hs_edge_row row;
    HS_TRY(row_of(view, source, &row, err));
    uint64_t first = HS_FIRST_NOT(e, (uint64_t)0, row.n, row.target[e] < target);
    unsigned least = HS_N_TIERS;
    for (uint64_t e = first; e < row.n && row.target[e] == target; e++) {
        unsigned tier = hs_edge_tier(row.edge_class[e]);
        if (tier < least) { /* offsets ascend, too */
            link = link_of_edge(target, &row, e);
            least = tier;
        }
    }
    for (uint64_t e = 0; e < row.n_extra; e++) {
        const struct hs_extra_edge *edge = &row.extra[e];
        if (edge->target == target && edge->edge_class == HS_EDGE_EPHEMERON &&
            (least != HS_TIER_FIRM || edge->offset_words < link.offset_words)) {
            link = link_of_extra(target, edge);
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
