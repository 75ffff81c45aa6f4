/* The lookups around one node. */
#include "analysis/surroundings.h"

#include "analysis/field_path.h"
#include "base/alloc.h"

/* Neighbours that are looked up at once. */
enum { LEAST_PIECE = 1 << 12, LARGEST_PIECE = 1 << 20 };

static hs_status find_children(struct hs_surroundings *around, struct hs_error *err)
{
    struct hs_index *index = around->view->index;
    around->n_children = hs_index_dominated(index, around->facts.node).n;
    uint64_t most = around->n_children < around->limit ? around->n_children : around->limit;
    return hs_index_largest(index, around->facts.node, most, &around->children, &around->n_shown,
                            err);
}

static hs_status find(struct hs_surroundings *around, hs_node node, struct hs_error *err)
{
    HS_TRY(hs_view_facts(around->view, node, &around->facts, err));
    HS_TRY(
        hs_links_out_first(around->view, node, around->limit, &around->out, &around->n_out, err));
    return find_children(around, err);
}

hs_status hs_surroundings_find(struct hs_view *view, hs_node node, uint64_t limit,
                               struct hs_surroundings *ret, struct hs_error *err)
{
    struct hs_surroundings around = {.view = view, .limit = limit};
    uint64_t room = hs_budget_left_bytes(view->session.budget) / 4 / sizeof(struct hs_node_facts);
    around.piece = room > LARGEST_PIECE ? LARGEST_PIECE : room < LEAST_PIECE ? LEAST_PIECE : room;
    hs_status status = find(&around, node, err);
    if (status == HS_OK)
        *ret = around;
    else
        hs_surroundings_fini(&around);
    return status;
}

void hs_surroundings_fini(struct hs_surroundings *around)
{
    hs_links_fini(&around->out);
    hs_links_fini(&around->in);
    hs_free(around->children);
    *around = (struct hs_surroundings){0};
}

hs_status hs_surroundings_place(const struct hs_surroundings *around, const struct hs_link *link,
                                bool is_out, char *text, struct hs_error *err)
{
    struct hs_node_facts holder = around->facts;
    text[0] = 0;
    if (link->offset_words == HS_NO_OFFSET || link->edge_class >= HS_N_EDGE_CLASSES)
        return HS_OK;
    if (!is_out)
        HS_TRY(hs_view_facts(around->view, link->other, &holder, err));
    if (!holder.is_root)
        hs_field_name(around->view, holder.type, link->offset_words, text, HS_FIELD_NAME_BYTES);
    return HS_OK;
}

hs_status hs_surroundings_keep_links(const struct hs_surroundings *around,
                                     const struct hs_links *links, size_t from,
                                     struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    size_t n = links->n - from < around->piece ? links->n - from : around->piece;
    if (from % around->piece != 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&nodes, n, err));
    for (size_t i = 0; i < n; i++)
        nodes[i] = links->links[from + i].other;
    return hs_view_keep_facts(around->view, nodes, n, err);
}

hs_status hs_surroundings_keep_children(const struct hs_surroundings *around, uint64_t from,
                                        struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    uint64_t left = around->n_shown - from, n = left < around->piece ? left : around->piece;
    if (from % around->piece != 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&nodes, n, err));
    for (size_t i = 0; i < n; i++)
        nodes[i] = around->children[from + i].node;
    return hs_view_keep_facts(around->view, nodes, n, err);
}
