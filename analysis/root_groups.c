/* Spreads groups over the heads of shared blocks. */
#include "root_groups.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "nearest_dominator.h"

/* What a node belongs to: 1 + a row, `nobody`, or behind that a head; HS_NEAREST_NONE when no root
 * reaches it. */
struct groups {
    const struct hs_view *view;
    const uint32_t *row_of;
    uint64_t nobody;
    uint32_t *of_tree; /* owned: by node of the tree; 1 + a row, or nobody */
    struct head {
        hs_node node;
    } * heads; /* owned pages: blocks, ascending */
    uint64_t n_heads, max_heads;
    uint32_t *state;      /* owned pages: by head; 0, 1 + a row, or nobody */
    uint64_t *edge_begin; /* owned pages: by head, n_heads + 1 */
    uint32_t *edges;      /* owned pages: the heads that a head's blocks point to */
    uint64_t n_edges;
    uint32_t *queue; /* owned pages: heads whose state has changed */
    uint64_t n_queued;
    uint64_t reserved_bytes; /* of the budget */
    struct hs_nearest climb;
};

static void groups_fini(struct groups *g)
{
    hs_nearest_fini(&g->climb);
    hs_free(g->of_tree);
    hs_pages_free(g->heads, g->max_heads, sizeof *g->heads);
    hs_pages_free(g->state, g->n_heads, sizeof *g->state);
    hs_pages_free(g->edge_begin, g->n_heads + 1, sizeof *g->edge_begin);
    hs_pages_free(g->edges, g->n_edges, sizeof *g->edges);
    hs_pages_free(g->queue, 2 * g->n_heads, sizeof *g->queue);
    hs_budget_release(g->view->session.budget, g->reserved_bytes);
}

static hs_status take(struct groups *g, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(g->view->session.budget, n_bytes, "blocks that several roots share",
                             err));
    g->reserved_bytes += n_bytes;
    return HS_OK;
}

static int by_node(const void *left, const void *right)
{
    const struct head *a = left, *b = right;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The blocks right below nodes of the tree that are no part: counted, then kept. */
static hs_status find_heads(struct groups *g, struct hs_error *err)
{
    const struct hs_view *view = g->view;
    for (hs_node node = 0; node < view->n_tree; node++) {
        if (g->of_tree[node] != g->nobody)
            continue;
        hs_node below;
        struct hs_row row = hs_index_dominated(view->index, node);
        if (g->heads == NULL)
            g->max_heads += row.n;
        while (g->heads != NULL && hs_row_next(&row, &below))
            if (below >= view->n_tree && g->n_heads < g->max_heads)
                g->heads[g->n_heads++].node = below;
        if (g->heads != NULL)
            HS_TRY(hs_row_check(&row, err));
    }
    if (g->n_heads > 1)
        qsort(g->heads, g->n_heads, sizeof *g->heads, by_node);
    return HS_OK;
}

static uint64_t belonging(const void *context, hs_node tree_node, hs_node below)
{
    const struct groups *g = context;
    if (g->of_tree[tree_node] != g->nobody || below == HS_NO_NODE)
        return g->of_tree[tree_node];
    uint64_t head = HS_FIRST_FROM(g->heads, g->n_heads, node, below);
    bool is_there = head < g->n_heads && g->heads[head].node == below;
    return is_there ? g->nobody + 1 + head : g->nobody;
}

static void change(struct groups *g, uint64_t head, uint32_t state)
{
    uint32_t joined = g->state[head] == 0 || g->state[head] == state ? state : (uint32_t)g->nobody;
    if (state == 0 || joined == g->state[head])
        return;
    g->state[head] = joined;
    g->queue[g->n_queued++] = (uint32_t)head;
}

/* What one source of a head belongs to: an edge between heads, or a change of the head. */
static void look_at_source(struct groups *g, uint64_t head, uint64_t of)
{
    if (of == HS_NEAREST_NONE)
        return;
    if (of <= g->nobody) {
        if (g->edges == NULL)
            change(g, head, (uint32_t)of);
        return;
    }
    uint64_t other = of - g->nobody - 1;
    if (other == head)
        return;
    if (g->edges == NULL)
        g->edge_begin[other]++;
    else if (g->edge_begin[other] > 0) /* always, unless others write to the file meanwhile */
        g->edges[--g->edge_begin[other]] = (uint32_t)head;
}

/* Over the sources of all heads: counts the edges between heads, then (with edges) keeps them. */
static hs_status look_at_sources(struct groups *g, struct hs_error *err)
{
    enum { TELL_EVERY = 1 << 16 };
    for (uint64_t head = 0; head < g->n_heads; head++) {
        struct hs_row row = hs_index_predecessors(g->view->index, g->heads[head].node);
        hs_node source;
        while (hs_row_next(&row, &source)) {
            uint64_t of;
            HS_TRY(hs_nearest_find(&g->climb, source, &of, err));
            look_at_source(g, head, of);
        }
        HS_TRY(hs_row_check(&row, err));
        if (head % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(g->view->session.progress, "looking at shared blocks", head + 1,
                                    g->n_heads, err));
    }
    return HS_OK;
}

static hs_status groups_alloc(struct groups *g, struct hs_error *err)
{
    const struct hs_view *view = g->view;
    HS_TRY(HS_ALLOC(&g->of_tree, view->n_tree, err));
    for (hs_node node = 0; node < view->n_tree; node++) {
        hs_node parent = hs_snap_root(view->snap, node)->parent;
        uint32_t above = node == 0 ? (uint32_t)g->nobody : g->of_tree[parent];
        g->of_tree[node] = g->row_of[node] != 0 ? g->row_of[node] : above;
    }
    HS_TRY(find_heads(g, err));
    if (g->max_heads >= UINT32_MAX)
        return hs_fail(err, HS_LIMIT, "%lu blocks that several roots share are too many",
                       (unsigned long)g->max_heads);
    HS_TRY(take(g, g->max_heads * sizeof *g->heads, err));
    HS_TRY(HS_PAGES_ALLOC(&g->heads, g->max_heads, err));
    HS_TRY(find_heads(g, err));
    const uint64_t n = g->n_heads;
    HS_TRY(take(g, n * (3 * sizeof *g->state + sizeof *g->edge_begin), err));
    HS_TRY(HS_PAGES_ALLOC(&g->state, n, err));
    HS_TRY(HS_PAGES_ALLOC(&g->edge_begin, n + 1, err));
    HS_TRY(HS_PAGES_ALLOC(&g->queue, 2 * n, err));
    hs_nearest_init(view, belonging, g, &g->climb);
    return HS_OK;
}

static hs_status groups_init(struct groups *g, struct hs_error *err)
{
    HS_TRY(groups_alloc(g, err));
    HS_TRY(look_at_sources(g, err));
    for (uint64_t head = 0; head < g->n_heads; head++)
        g->n_edges += g->edge_begin[head], g->edge_begin[head] = g->n_edges;
    g->edge_begin[g->n_heads] = g->n_edges;
    if (g->n_edges == 0)
        return HS_OK;
    uint64_t n_edges = g->n_edges;
    g->n_edges = 0; /* until there are any */
    HS_TRY(take(g, n_edges * sizeof *g->edges, err));
    HS_TRY(HS_PAGES_ALLOC(&g->edges, n_edges, err));
    g->n_edges = n_edges;
    return look_at_sources(g, err);
}

static void spread(struct groups *g)
{
    for (uint64_t at = 0; at < g->n_queued && g->edges != NULL; at++) {
        uint32_t head = g->queue[at];
        for (uint64_t e = g->edge_begin[head]; e < g->edge_begin[head + 1]; e++)
            change(g, g->edges[e], g->state[head]);
    }
}

hs_status hs_root_groups_complete(const struct hs_view *view, const uint32_t *row_of,
                                  struct hs_root_rows *rows, uint64_t *ret_words,
                                  struct hs_error *err)
{
    struct groups g = {.view = view, .row_of = row_of, .nobody = rows->n_rows + 1};
    if (rows->n_rows >= UINT32_MAX - 2)
        return hs_fail(err, HS_LIMIT, "%zu groups of roots are too many", rows->n_rows);
    hs_status status = groups_init(&g, err);
    if (status == HS_OK) {
        spread(&g);
        uint64_t words = 0;
        for (uint64_t head = 0; head < g.n_heads; head++) {
            if (g.state[head] == 0 || g.state[head] == g.nobody)
                continue;
            struct hs_sizes sizes = hs_index_retained(view->index, g.heads[head].node);
            hs_sizes_add(&rows->rows[g.state[head] - 1].retained, &sizes);
            words += sizes.words;
        }
        *ret_words = words;
    }
    groups_fini(&g);
    return status;
}
