/* links: hs_analysis */
/* Cuts against all sets of up to HS_CUT_MOST vertices of small random heaps, and on known shapes.
 */
#include "analysis/cut.h"

#include "unit.h"

#include "analysis/neighbours.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"

enum { MAX_NODES = 64 };

/* ---- the plain way */

struct plain {
    uint32_t n_nodes, n_tree;
    uint32_t n_edges;
    struct {
        uint32_t from, to;
        uint64_t offset_words;
    } edges[1024];
    bool may_be_cut[MAX_NODES];
};

static void plain_edge(struct plain *plain, hs_node from, hs_node to, uint64_t offset_words)
{
    assert_true(plain->n_edges < 1024);
    plain->edges[plain->n_edges].from = (uint32_t)from;
    plain->edges[plain->n_edges].to = (uint32_t)to;
    plain->edges[plain->n_edges++].offset_words = offset_words;
}

static bool takes_part(struct hs_view *view, hs_node from, const struct hs_link *link)
{
    unsigned tier = hs_edge_tier(link->edge_class), own = hs_index_tier(view->index, from);
    return link->edge_class <= HS_EDGE_EPHEMERON && own != HS_TIER_NONE &&
           (tier > own ? tier : own) <= hs_index_tier(view->index, link->other);
}

static void plain_of(struct hs_view *view, struct plain *plain)
{
    struct hs_error err = HS_ERROR_INIT;
    *plain = (struct plain){.n_nodes = (uint32_t)view->n_nodes, .n_tree = (uint32_t)view->n_tree};
    assert_true(view->n_nodes <= MAX_NODES);
    for (hs_node node = 0; node < view->n_nodes; node++) {
        struct hs_links links;
        plain->may_be_cut[node] = node >= view->n_tree || hs_view_root_of(view, node) != HS_NO_NODE;
        if (node > 0 && node < view->n_tree)
            plain_edge(plain, hs_snap_root(view->snap, node)->parent, node, 0);
        assert_int_equal(hs_links_out(view, node, &links, &err), HS_OK);
        for (size_t i = 0; i < links.n; i++)
            if (takes_part(view, node, &links.links[i]))
                plain_edge(plain, node, links.links[i].other, links.links[i].offset_words);
        hs_links_fini(&links);
    }
}

/* All that node 0 reaches without the vertices of `without` and without the edge `but`. */
static uint64_t reached(const struct plain *plain, uint64_t without, uint32_t but)
{
    uint64_t seen = 1;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (uint32_t i = 0; i < plain->n_edges; i++) {
            uint64_t to = (uint64_t)1 << plain->edges[i].to;
            if (i == but || (seen >> plain->edges[i].from & 1) == 0 || ((seen | without) & to) != 0)
                continue;
            seen |= to;
            has_changed = true;
        }
    }
    return seen;
}

static bool frees(const struct plain *plain, uint64_t cut, uint64_t targets)
{
    return (reached(plain, cut, UINT32_MAX) & targets) == 0;
}

/* All live nodes that lead to the targets without passing the cut. */
static uint64_t behind(const struct plain *plain, uint64_t cut, uint64_t targets)
{
    uint64_t seen = targets, live = reached(plain, 0, UINT32_MAX);
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (uint32_t i = 0; i < plain->n_edges; i++) {
            uint64_t from = (uint64_t)1 << plain->edges[i].from;
            if ((seen >> plain->edges[i].to & 1) == 0 || ((seen | cut) & from) != 0 ||
                (live & from) == 0)
                continue;
            seen |= from;
            has_changed = true;
        }
    }
    return seen;
}

struct best {
    uint32_t size;              /* HS_CUT_MOST + 1: none */
    uint64_t smallest, largest; /* what lies behind all smallest cuts, and behind any */
};

static void try_sets(const struct plain *plain, uint64_t targets, uint64_t set, uint32_t from,
                     uint32_t left, struct best *best)
{
    if (left == 0) {
        if (!frees(plain, set, targets))
            return;
        uint64_t side = behind(plain, set, targets);
        best->smallest &= side;
        best->largest |= side;
        best->size = (uint32_t)__builtin_popcountll(set);
        return;
    }
    for (uint32_t node = from; node < plain->n_nodes; node++)
        if (plain->may_be_cut[node] && (targets >> node & 1) == 0)
            try_sets(plain, targets, set | (uint64_t)1 << node, node + 1, left - 1, best);
}

static struct best best_of(const struct plain *plain, uint64_t targets)
{
    struct best best = {.size = HS_CUT_MOST + 1};
    for (uint32_t size = 0; size <= HS_CUT_MOST && best.size > HS_CUT_MOST; size++) {
        best.smallest = UINT64_MAX;
        best.largest = 0;
        try_sets(plain, targets, 0, 1, size, &best);
    }
    return best;
}

static uint64_t set_of(const struct hs_cut_point *points, unsigned n)
{
    uint64_t set = 0;
    for (unsigned i = 0; i < n; i++)
        set |= (uint64_t)1 << points[i].node;
    assert_int_equal(__builtin_popcountll(set), n);
    return set;
}

/* A point is a field when there is one edge without which the targets are free, else a block. */
static void check_kinds(const struct plain *plain, const struct hs_cut *cut, uint64_t targets)
{
    uint64_t all = set_of(cut->near_object, cut->n);
    for (unsigned i = 0; i < cut->n; i++) {
        const struct hs_cut_point *point = &cut->near_object[i];
        uint64_t others = all & ~((uint64_t)1 << point->node);
        bool is_field = false;
        for (uint32_t e = 0; e < plain->n_edges && point->node >= plain->n_tree; e++) {
            if (plain->edges[e].from != point->node || (reached(plain, others, e) & targets) != 0)
                continue;
            is_field = true;
            assert_int_equal(point->offset_words, plain->edges[e].offset_words);
        }
        assert_int_equal(point->kind == HS_CUT_FIELD, is_field);
    }
}

static void check(struct hs_view *view, const struct plain *plain, const hs_node *nodes, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cut cut;
    uint64_t targets = 0;
    for (size_t i = 0; i < n; i++)
        targets |= (uint64_t)1 << nodes[i];
    struct best best = best_of(plain, targets);
    assert_int_equal(hs_cut_find(view, nodes, n, &cut, &err), HS_OK);
    assert_int_equal(cut.n, best.size);
    assert_int_equal(cut.is_reached, (reached(plain, 0, UINT32_MAX) & targets) != 0);
    if (cut.n > HS_CUT_MOST)
        return;
    uint64_t near_object = set_of(cut.near_object, cut.n);
    uint64_t near_roots = set_of(cut.near_roots, cut.n);
    assert_true(frees(plain, near_object, targets));
    assert_true(frees(plain, near_roots, targets));
    assert_true(behind(plain, near_object, targets) == best.smallest);
    assert_true(behind(plain, near_roots, targets) == best.largest);
    check_kinds(plain, &cut, targets);
}

static void make_random(struct hs_graph_builder *b, uint64_t seed)
{
    uint64_t random = seed * 7654321;
    uint32_t n = 2 + hs_random_below(&random, 9), dense = 1 + hs_random_below(&random, 3);
    hs_graph_builder_blocks(b, n, 12);
    for (uint32_t i = 0; i < n * dense; i++) {
        static const unsigned classes[] = {HS_EDGE_EXACT,     HS_EDGE_EXACT, HS_EDGE_INTERIOR,
                                           HS_EDGE_EPHEMERON, HS_EDGE_WEAK,  HS_EDGE_GUESSED,
                                           HS_EDGE_PAST_END};
        uint32_t from = hs_random_below(&random, n);
        if (b->n_blocks == n && from < n)
            hs_graph_builder_edge(b, from, hs_random_below(&random, n),
                                  classes[hs_random_below(&random, seed % 2 == 0 ? 5 : 7)]);
    }
    uint32_t n_leaves = hs_random_below(&random, 8);
    for (uint32_t i = 0; i < n_leaves; i++) {
        static const char *const variables[] = {NULL, NULL, "v", "w"};
        char name[8];
        (void)snprintf(name, sizeof name, "l%u", i);
        uint32_t leaf = hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", i % 2 == 0 ? "u" : "t",
                                              variables[hs_random_below(&random, 4)], name,
                                              hs_random_below(&random, n));
        b->leaves[leaf].weak = hs_random_below(&random, 12) == 0;
        if (seed % 2 != 0)
            b->leaves[leaf].tier = (uint8_t)hs_random_below(&random, HS_N_TIERS);
    }
}

static void all_sets(void **state)
{
    uint32_t by_size[HS_CUT_MOST + 2] = {0};
    for (uint64_t seed = 1; seed <= 250; seed++) {
        struct made_view made = {0};
        static struct plain plain;
        make_random(&made.builder, seed);
        made_view_open(&made);
        plain_of(&made.view, &plain);
        for (hs_node node = made.view.n_tree; node < made.view.n_nodes; node++) {
            struct hs_error err = HS_ERROR_INIT;
            struct hs_cut cut;
            check(&made.view, &plain, &node, 1);
            assert_int_equal(hs_cut_find(&made.view, &node, 1, &cut, &err), HS_OK);
            by_size[cut.n]++;
            assert_int_equal(cut.freed.words, hs_index_retained(made.view.index, node).words);
        }
        made_view_close(&made);
    }
    for (unsigned size = 0; size <= HS_CUT_MOST + 1; size++)
        assert_true(by_size[size] > 2); /* of each there were some */
}

/* Several at once: whatever stands right below the groups of roots. */
static void of_several(void **state)
{
    uint32_t n_tried = 0;
    for (uint64_t seed = 401; seed <= 600; seed++) {
        struct made_view made = {0};
        static struct plain plain;
        hs_node tops[MAX_NODES];
        size_t n = 0;
        make_random(&made.builder, seed);
        made_view_open(&made);
        plain_of(&made.view, &plain);
        for (hs_node node = made.view.n_tree; node < made.view.n_nodes; node++) {
            hs_node above = hs_index_idom(made.view.index, node);
            if (above < made.view.n_tree && hs_view_root_of(&made.view, above) == HS_NO_NODE)
                tops[n++] = node;
        }
        for (size_t few = 2; few <= n; few++)
            check(&made.view, &plain, tops, few);
        n_tried += n >= 2;
        made_view_close(&made);
    }
    assert_true(n_tried > 10);
}

/* A list of a million cells that two roots hold by both ends, and a block that hangs on it. */
static void a_long_list(void **state)
{
    enum { N = 1000000 };
    struct made_view made = {0};
    struct hs_budget budget = {.limit_bytes = (uint64_t)192 << 20};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, N, 3);
    for (uint32_t i = 0; i + 1 < N; i++)
        hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    uint32_t held = hs_graph_builder_block(b, 7, false);
    hs_graph_builder_edge(b, first + N - 1, held, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, first + N / 2, held, HS_EDGE_EXACT);
    uint32_t one = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    uint32_t two = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.y", first + N - 1);
    made_view_open(&made);
    made.view.session.budget = &budget;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cut cut;
    hs_node target = hs_graph_builder_node(b, held);
    assert_int_equal(hs_cut_find(&made.view, &target, 1, &cut, &err), HS_OK);
    assert_int_equal(cut.n, 2);
    assert_int_equal(cut.near_roots[0].node, hs_graph_builder_leaf_node(b, one));
    assert_int_equal(cut.near_roots[1].node, hs_graph_builder_leaf_node(b, two));
    assert_int_equal(cut.near_object[0].node, hs_graph_builder_node(b, first + N / 2));
    assert_int_equal(cut.near_object[0].kind, HS_CUT_FIELD);
    assert_int_equal(cut.near_object[0].offset_words, 1);
    assert_int_equal(cut.near_object[1].node, hs_graph_builder_node(b, first + N - 1));
    /* Decoded chunks stay with the view. */
    assert_int_equal(budget.used_bytes, made.view.n_chunks * HS_VIEW_CHUNK_BYTES);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

static void out_of_memory(void **state)
{
    struct made_view made = {0};
    make_random(&made.builder, 5);
    for (uint32_t i = 0; i < 4; i++)
        hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x", i % 2);
    made_view_open(&made);
    hs_node target = made.view.n_tree + 1;
    struct hs_error first = HS_ERROR_INIT;
    struct hs_cut whole; /* and the view has decoded what it keeps */
    assert_int_equal(hs_cut_find(&made.view, &target, 1, &whole, &first), HS_OK);
    FAIL_EACH (each, .at_least = 5) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_cut cut;
        (void)FAIL_EACH_TRY(each, hs_cut_find(&made.view, &target, 1, &cut, &err));
    }
    struct hs_budget budget = {.limit_bytes = 100};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cut cut;
    made.view.session.budget = &budget;
    assert_int_equal(hs_cut_find(&made.view, &target, 1, &cut, &err), HS_LIMIT);
    assert_int_equal(budget.used_bytes, 0);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_sets),
        cmocka_unit_test(of_several),
        cmocka_unit_test(a_long_list),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
