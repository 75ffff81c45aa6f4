#include "short_way.h"

#include "analysis/neighbours.h"
#include "base/alloc.h"
#include "base/table.h"

enum { NO_BLOCK = HS_SHORT_WAY_MET };

/* A block that was met, and the one, by its place among these, that led to it. */
struct met {
    hs_node node;
    uint32_t from;
};

struct search {
    struct hs_view *view;
    hs_node to;
    struct met *met; /* owned: in the order of distance */
    size_t n;
    uint32_t last; /* the block that leads to the end; NO_BLOCK: not found yet */
    struct hs_table by_node;
};

static hs_status meet(struct search *s, hs_node node, uint32_t from, struct hs_error *err)
{
    uint64_t hash = hs_hash(node);
    if (node == s->to) {
        s->last = from;
        return HS_OK;
    }
    if (s->n == HS_SHORT_WAY_MET ||
        HS_TABLE_FIND(&s->by_node, hash, i, s->met[i].node == node) != HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(hs_table_add(&s->by_node, hash, s->n, err));
    s->met[s->n++] = (struct met){node, from};
    return HS_OK;
}

static hs_status go_on(struct search *s, uint32_t at, struct hs_error *err)
{
    struct hs_links links;
    hs_status status = HS_OK;
    uint64_t n;
    HS_TRY(hs_links_out_first(s->view, s->met[at].node, HS_SHORT_WAY_POINTERS, &links, &n, err));
    for (size_t i = 0; i < links.n && s->last == NO_BLOCK && status == HS_OK; i++) {
        const struct hs_link *link = &links.links[i];
        bool is_own = link->other == s->met[at].node; /* an empty list, a short text in it */
        if (link->edge_class == HS_EDGE_EXACT || (link->edge_class == HS_EDGE_INTERIOR && !is_own))
            status = meet(s, link->other, at, err);
    }
    hs_links_fini(&links);
    return status;
}

/* Writes the way that ends with s->to behind block `last`; 0: it is too long. */
static size_t way_back(const struct search *s, hs_node way[HS_SHORT_WAY_STEPS])
{
    size_t n = 1, at;
    for (uint32_t i = s->last; i != NO_BLOCK; i = s->met[i].from)
        n++;
    if (n > HS_SHORT_WAY_STEPS)
        return 0;
    at = n;
    way[--at] = s->to;
    for (uint32_t i = s->last; i != NO_BLOCK; i = s->met[i].from)
        way[--at] = s->met[i].node;
    return n;
}

static hs_status search_way(struct search *s, hs_node from, hs_node way[HS_SHORT_WAY_STEPS],
                            size_t *ret_n, struct hs_error *err)
{
    hs_status status = HS_OK;
    HS_TRY(HS_ALLOC(&s->met, HS_SHORT_WAY_MET, err));
    s->met[s->n++] = (struct met){from, NO_BLOCK};
    for (uint32_t at = 0; status == HS_OK && at < s->n && s->last == NO_BLOCK; at++)
        status = go_on(s, at, err);
    *ret_n = s->last == NO_BLOCK ? 0 : way_back(s, way);
    return status;
}

hs_status hs_short_way(struct hs_view *view, hs_node from, hs_node to,
                       hs_node way[HS_SHORT_WAY_STEPS], size_t *ret_n, struct hs_error *err)
{
    enum { BYTES_OF_ONE = sizeof(struct met) + 24 }; /* with its place in the table */
    struct search s = {.view = view, .to = to, .last = NO_BLOCK};
    HS_TRY(hs_budget_reserve(view->session.budget, HS_SHORT_WAY_MET * BYTES_OF_ONE,
                             "a way between two blocks", err));
    hs_status status = search_way(&s, from, way, ret_n, err);
    hs_free(s.met);
    hs_table_fini(&s.by_node);
    hs_budget_release(view->session.budget, HS_SHORT_WAY_MET * BYTES_OF_ONE);
    return status;
}
