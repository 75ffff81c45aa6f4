#include "node_order.h"

#include "base/alloc.h"
#include "graph/pages.h"

#define BYTES_A_NODE (sizeof(uint32_t) + sizeof(uint32_t))

static uint64_t n_bits_words(const struct hs_view *view)
{
    return view->n_nodes / 64 + 1;
}

static bool has_bit(const uint64_t *bits, hs_node node)
{
    return (bits[node / 64] >> node % 64 & 1) != 0;
}

/* Takes pages from the budget; *ret stays NULL where less than `share` times as much is left. */
static hs_status take(const struct hs_view *view, uint64_t n, size_t bytes_each, unsigned share,
                      void **ret, struct hs_error *err)
{
    struct hs_budget *budget = view->session.budget;

    if (hs_budget_left_bytes(budget) / share < n * bytes_each)
        return HS_OK;
    HS_TRY(hs_budget_reserve(budget, n * bytes_each, "what nodes retain", err));
    hs_status status = hs_dense_pages(n, bytes_each, ret, err);
    if (status != HS_OK)
        hs_budget_release(budget, n * bytes_each);
    return status;
}

static void give_back(const struct hs_view *view, void *pages, uint64_t n, size_t bytes_each)
{
    if (pages == NULL)
        return;
    hs_pages_free(pages, n, bytes_each);
    hs_budget_release(view->session.budget, n * bytes_each);
}

static uint64_t n_in_run(const struct hs_view *view, hs_node first)
{
    uint64_t n = view->n_nodes - first;
    return n < HS_INDEX_RUN ? n : HS_INDEX_RUN;
}

static void read_retained(struct hs_node_order *order)
{
    const struct hs_view *view = order->view;
    uint64_t words[HS_INDEX_RUN];

    for (hs_node first = 0; first < view->n_nodes; first += HS_INDEX_RUN) {
        hs_index_run_words(view->index, first, words);
        for (uint64_t i = 0; i < n_in_run(view, first); i++)
            order->retained[first + i] = (uint32_t)(words[i] < UINT32_MAX ? words[i] : UINT32_MAX);
    }
}

static uint32_t row_of(uint64_t place, hs_node only)
{
    if (only != HS_NO_NODE)
        return (uint32_t)only;
    if (place == HS_INDEX_NO_ROW)
        return 0;
    return place < UINT32_MAX - HS_NODE_ORDER_PLACE ? (uint32_t)place | HS_NODE_ORDER_PLACE
                                                    : UINT32_MAX;
}

static void read_rows(struct hs_node_order *order)
{
    const struct hs_view *view = order->view;
    uint64_t places[HS_INDEX_RUN];
    hs_node only[HS_INDEX_RUN];

    for (hs_node first = 0; first < view->n_nodes; first += HS_INDEX_RUN) {
        hs_index_run_rows(view->index, first, places, only);
        for (uint64_t i = 0; i < n_in_run(view, first); i++) {
            order->dominates[(first + i) / 64] |= (uint64_t)(places[i] != HS_INDEX_NO_ROW)
                                                  << (first + i) % 64;
            if (order->rows != NULL)
                order->rows[first + i] = row_of(places[i], only[i]);
        }
    }
}

static void read_tiers(struct hs_node_order *order)
{
    const struct hs_view *view = order->view;
    uint8_t tiers[HS_INDEX_RUN];

    for (hs_node first = 0; first < view->n_nodes; first += HS_INDEX_RUN) {
        hs_index_run_tiers(view->index, first, tiers);
        for (uint64_t i = 0; i < n_in_run(view, first); i++)
            order->doubtful[(first + i) / 64] |= (uint64_t)(tiers[i] == HS_TIER_DOUBTFUL)
                                                 << (first + i) % 64;
    }
}

/* The bits first: they spare most, and cost least. */
static hs_status read_all(struct hs_node_order *order, bool with_tiers, struct hs_error *err)
{
    const struct hs_view *view = order->view;
    void *dominates = NULL, *doubtful = NULL, *rows = NULL, *retained = NULL;

    HS_TRY(hs_progress_tell(view->session.progress, "reading what nodes retain", 0, 0, err));
    HS_TRY(take(view, n_bits_words(view), sizeof *order->dominates, 4, &dominates, err));
    order->dominates = dominates;
    if (dominates == NULL)
        return HS_OK;
    if (with_tiers)
        HS_TRY(take(view, n_bits_words(view), sizeof *order->doubtful, 4, &doubtful, err));
    order->doubtful = doubtful;
    if (view->n_nodes < HS_NODE_ORDER_PLACE &&
        hs_budget_left_bytes(view->session.budget) / 4 >= view->n_nodes * BYTES_A_NODE) {
        HS_TRY(take(view, view->n_nodes, sizeof *order->rows, 1, &rows, err));
        order->rows = rows;
        HS_TRY(take(view, view->n_nodes, sizeof *order->retained, 1, &retained, err));
        order->retained = retained;
    }
    if (retained != NULL)
        read_retained(order);
    read_rows(order);
    if (doubtful != NULL)
        read_tiers(order);
    return HS_OK;
}

hs_status hs_node_order_init(const struct hs_view *view, bool with_tiers, struct hs_node_order *ret,
                             struct hs_error *err)
{
    struct hs_node_order order = {.view = view};
    hs_status status = read_all(&order, with_tiers, err);

    if (status == HS_OK)
        *ret = order;
    else
        hs_node_order_fini(&order);
    return status;
}

void hs_node_order_fini(struct hs_node_order *order)
{
    const struct hs_view *view = order->view;

    if (view != NULL) {
        give_back(view, order->dominates, n_bits_words(view), sizeof *order->dominates);
        give_back(view, order->doubtful, n_bits_words(view), sizeof *order->doubtful);
        give_back(view, order->rows, view->n_nodes, sizeof *order->rows);
        give_back(view, order->retained, view->n_nodes, sizeof *order->retained);
    }
    *order = (struct hs_node_order){0};
}

uint64_t hs_node_order_words(const struct hs_node_order *order, hs_node node)
{
    if (order->retained != NULL && order->retained[node] != UINT32_MAX)
        return order->retained[node];
    return hs_index_retained(order->view->index, node).words;
}

struct hs_row hs_node_order_row(const struct hs_node_order *order, hs_node node)
{
    if (order->dominates != NULL && !has_bit(order->dominates, node))
        return (struct hs_row){0};
    if (order->rows != NULL && order->rows[node] != UINT32_MAX &&
        order->rows[node] >= HS_NODE_ORDER_PLACE)
        return hs_index_dominated_at(order->view->index, node,
                                     order->rows[node] - HS_NODE_ORDER_PLACE);
    return hs_index_dominated(order->view->index, node);
}

bool hs_node_order_is_doubtful(const struct hs_node_order *order, hs_node node)
{
    if (order->doubtful != NULL)
        return has_bit(order->doubtful, node);
    return hs_index_tier(order->view->index, node) == HS_TIER_DOUBTFUL;
}
