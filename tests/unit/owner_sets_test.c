/* links: hs_dominator hs_graph */
#include "dominator/owner_sets.h"

#include "unit.h"

#include "base/alloc.h"
#include "dominator/reachable.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_owners.h"
#include "seeds.h"

static struct hs_error err;

struct world {
    struct hs_graph graph;
    struct hs_weights weights;
    struct hs_domtree tree;
    struct made_owners owners;
};

/* Takes the graph. */
static void world_init(struct world *w, struct hs_graph graph, uint64_t seed)
{
    uint64_t random = seed + 99;
    *w = (struct world){.graph = graph};
    assert_int_equal(hs_weights_init(graph.n_nodes, graph.n_tree, &w->weights, &err), HS_OK);
    for (uint32_t i = graph.n_tree; i < graph.n_nodes; i++)
        assert_int_equal(hs_weights_set(&w->weights, i, 1 + hs_random_below(&random, 9),
                                        hs_random_below(&random, 4) == 0, &err),
                         HS_OK);
    assert_int_equal(hs_domtree_build(&w->graph, NULL, &w->tree, &err), HS_OK);
    made_owners_init(&w->graph, seed, &w->owners);
}

static hs_status world_find(struct world *w)
{
    const struct hs_row_source source = {.graph = &w->graph};
    struct hs_sizes *found = NULL;
    hs_status status = hs_reachable_find(&(struct hs_reachable_task){.source = &source,
                                                                     .tree = &w->tree,
                                                                     .weights = &w->weights,
                                                                     .owners = &w->owners.request},
                                         NULL, &found, &err);
    assert_true((found != NULL) == (status == HS_OK));
    assert_true(status != HS_OK || w->owners.is_taken);
    hs_free(found);
    return status;
}

static void world_fini(struct world *w)
{
    if (w->owners.set_of != NULL)
        made_owners_fini(&w->owners);
    hs_domtree_fini(&w->tree);
    hs_weights_fini(&w->weights);
    hs_graph_fini(&w->graph);
}

/* ---- by brute force ---- */

enum { MOST_ROOTS = 64, MOST_NODES = 512 };

struct brute {
    const struct world *w;
    uint32_t roots[MOST_ROOTS], n_roots;
    uint64_t reached_by[MOST_NODES]; /* bits of roots */
    uint32_t idom[MOST_NODES];       /* HS_NONE */
    uint64_t sets[MOST_NODES];
    struct hs_owner_set found[MOST_NODES];
    uint32_t n_sets;
};

/* One search for each root. */
static void brute_search(struct brute *b, uint32_t root)
{
    const struct hs_graph *graph = &b->w->graph;
    uint64_t bit = (uint64_t)1 << root;
    uint32_t stack[MOST_NODES], n = 0;
    stack[n++] = b->roots[root];
    b->reached_by[b->roots[root]] |= bit;
    while (n != 0) {
        uint32_t degree;
        const uint32_t *row = hs_graph_row(graph, stack[--n], &degree);
        for (uint32_t i = 0; i < degree; i++) {
            if (b->reached_by[row[i]] & bit)
                continue;
            b->reached_by[row[i]] |= bit;
            stack[n++] = row[i];
        }
    }
}

/* Neither a root nor below one. */
static bool brute_is_group(const struct brute *b, uint32_t tree_node)
{
    for (; tree_node != HS_NONE; tree_node = b->idom[tree_node])
        if (hs_bitmap_get(&b->w->owners.roots.is_root, tree_node))
            return false;
    return true;
}

static bool brute_is_top(const struct brute *b, uint32_t node)
{
    return node >= b->w->graph.n_tree && b->idom[node] != HS_NONE &&
           b->idom[node] < b->w->graph.n_tree && brute_is_group(b, b->idom[node]);
}

static uint32_t brute_top(const struct brute *b, uint32_t node)
{
    while (node >= b->w->graph.n_tree && b->idom[node] >= b->w->graph.n_tree)
        node = b->idom[node];
    return node;
}

static uint32_t brute_set(struct brute *b, uint64_t roots)
{
    uint32_t set = 0;
    while (set < b->n_sets && b->sets[set] != roots)
        set++;
    if (set == b->n_sets)
        b->sets[b->n_sets++] = roots;
    return set;
}

static void brute_find(struct brute *b)
{
    const struct world *w = b->w;
    uint32_t *order;
    for (uint64_t i = hs_bitmap_next(&w->owners.roots.is_root, 0); i < w->graph.n_tree;
         i = hs_bitmap_next(&w->owners.roots.is_root, i + 1)) {
        assert_true(b->n_roots < MOST_ROOTS);
        b->roots[b->n_roots++] = (uint32_t)i;
    }
    for (uint32_t i = 0; i < b->n_roots; i++)
        brute_search(b, i);
    assert_int_equal(hs_domtree_order(&w->tree, &order, &err), HS_OK);
    for (uint32_t i = 0; i < w->graph.n_nodes; i++)
        b->idom[i] = w->tree.number[i] <= 1 ? HS_NONE : order[w->tree.idom[w->tree.number[i] - 1]];
    hs_pages_free(order, w->tree.n_nodes, sizeof *order);
    for (uint32_t i = w->graph.n_tree; i < w->graph.n_nodes; i++) {
        uint32_t top = b->idom[i] == HS_NONE ? 0 : brute_top(b, i);
        if (top < w->graph.n_tree || !brute_is_top(b, top))
            continue;
        struct hs_owner_set *set = &b->found[brute_set(b, b->reached_by[i])];
        struct hs_sizes sizes = hs_weights_of(&w->weights, i);
        hs_sizes_add(&set->retained, &sizes);
        set->n_roots = (uint64_t)__builtin_popcountll(b->reached_by[i]);
        assert_true(set->n_roots >= 2);
        if (top != i)
            continue;
        set->first_top = set->n_tops++ == 0 ? i : set->first_top;
    }
}

static bool ranks_before(const struct hs_owner_set *a, const struct hs_owner_set *b)
{
    if (a->retained.words != b->retained.words)
        return a->retained.words > b->retained.words;
    if (a->retained.objects != b->retained.objects)
        return a->retained.objects > b->retained.objects;
    return a->first_top < b->first_top;
}

static void check_list(const struct brute *b, const struct made_owners *owners, uint32_t set,
                       uint64_t roots)
{
    size_t at = owners->begin[set];
    for (uint32_t i = 0; i < b->n_roots; i++)
        if (roots >> i & 1)
            assert_int_equal(owners->listed[at++], b->roots[i]);
    assert_int_equal(at, owners->begin[set + 1]);
}

static uint64_t check_brute(const struct world *w)
{
    struct brute b = {.w = w};
    const struct made_owners *owners = &w->owners;
    brute_find(&b);
    assert_int_equal(owners->n_sets, b.n_sets);
    assert_int_equal(owners->n_others, 0);
    for (uint32_t i = 0; i < b.n_sets; i++) {
        uint32_t found = owners->set_of[b.found[i].first_top] - 1;
        assert_true(found < b.n_sets);
        assert_memory_equal(&owners->sets[found], &b.found[i], sizeof b.found[i]);
        check_list(&b, owners, found, b.sets[i]);
    }
    for (uint32_t i = 1; i < b.n_sets; i++)
        assert_true(ranks_before(&owners->sets[i - 1], &owners->sets[i]));
    for (uint32_t i = 0; i < w->graph.n_nodes; i++) {
        uint32_t set = owners->set_of[i];
        assert_int_equal(set != 0, brute_is_top(&b, i));
        if (set != 0)
            assert_int_equal(b.reached_by[i], b.reached_by[owners->sets[set - 1].first_top]);
    }
    return b.n_sets;
}

static void test_small(void **state)
{
    uint64_t n_sets = 0;
    for (uint64_t seed = 0; seed < HS_SEEDS(4000); seed++) {
        struct hs_random_shape shape = {
            .n_leaves = 1 + (uint32_t)(seed % 41),
            .n_blocks = 1 + (uint32_t)(seed % 97),
            .n_edges = (uint32_t)(seed % 131),
            .keep_duplicates = seed % 4 == 0,
            .local = seed % 2 == 0,
        };
        struct world w;
        world_init(&w, hs_random_graph(seed, &shape), seed);
        assert_int_equal(world_find(&w), HS_OK);
        n_sets += check_brute(&w);
        world_fini(&w);
    }
    assert_true(n_sets > HS_SEEDS(8000));
}

/* ---- what is known beforehand ---- */

/* Node 0 over groups of roots: tree nodes 1 .. n_groups, then the roots one after the other. */
struct made {
    struct hs_edge_list list;
    uint32_t n_tree, n_nodes;
};

static void made_tree_init(struct made *m, uint32_t n_roots, uint32_t n_blocks)
{
    *m = (struct made){.n_tree = n_roots + 2, .n_nodes = n_roots + 2 + n_blocks};
    hs_edge_list_add(&m->list, 0, 1);
    for (uint32_t i = 0; i < n_roots; i++)
        hs_edge_list_add(&m->list, 1, 2 + i);
}

static void made_find(struct made *m, struct world *w)
{
    world_init(w, hs_edge_list_graph(&m->list, m->n_nodes, m->n_tree, false), 3);
    hs_bitmap_clear(&w->owners.roots.is_root, 1);
    for (uint32_t i = 2; i < m->n_tree; i++)
        hs_bitmap_set(&w->owners.roots.is_root, i);
    hs_edge_list_fini(&m->list);
    assert_int_equal(world_find(w), HS_OK);
}

static void test_no_roots_and_one(void **state)
{
    for (uint32_t n_roots = 0; n_roots < 2; n_roots++) {
        struct made m;
        struct world w;
        made_tree_init(&m, n_roots, 3);
        for (uint32_t i = 0; i < n_roots; i++) {
            hs_edge_list_add(&m.list, 2 + i, m.n_tree);
            hs_edge_list_add(&m.list, m.n_tree, m.n_tree + 1);
        }
        made_find(&m, &w);
        assert_int_equal(w.owners.n_sets, 0);
        assert_int_equal(w.owners.n_others, 0);
        world_fini(&w);
    }
}

/* Each root leads to one block of a circle: there is one component, one set, and each is on top. */
static void test_all_in_one_component(void **state)
{
    enum { N = 700 };
    struct made m;
    struct world w;
    made_tree_init(&m, N, N);
    for (uint32_t i = 0; i < N; i++) {
        hs_edge_list_add(&m.list, 2 + i, m.n_tree + i);
        hs_edge_list_add(&m.list, m.n_tree + i, m.n_tree + (i + 1) % N);
    }
    made_find(&m, &w);
    assert_int_equal(w.owners.n_sets, 1);
    assert_int_equal(w.owners.sets[0].n_tops, N);
    assert_int_equal(w.owners.sets[0].n_roots, N);
    assert_int_equal(w.owners.sets[0].first_top, m.n_tree);
    assert_int_equal(w.owners.n_listed, N);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(w.owners.listed[i], 2 + i);
    world_fini(&w);
}

/* Every pair of roots and more has a block of its own: more sets than can be numbered. */
static void test_more_sets_than_numbers(void **state)
{
    enum { ROOTS = 17, BLOCKS = 1 << ROOTS };
    struct hs_sizes sum = {0}, all = {0};
    uint64_t n_others = 0;
    struct made m;
    struct world w;
    made_tree_init(&m, ROOTS, BLOCKS);
    for (uint32_t i = 0; i < BLOCKS; i++)
        for (uint32_t root = 0; root < ROOTS; root++)
            if (i >> root & 1)
                hs_edge_list_add(&m.list, 2 + root, m.n_tree + i);
    made_find(&m, &w);
    assert_int_equal(w.owners.n_sets, HS_OWNER_SETS_MAX);
    assert_int_equal(w.owners.n_others, BLOCKS - 1 - ROOTS - HS_OWNER_SETS_MAX);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t set = w.owners.set_of[m.n_tree + i];
        assert_int_equal(set != 0, __builtin_popcount(i) > 1);
        if (set == 0)
            continue;
        struct hs_sizes sizes = hs_weights_of(&w.weights, m.n_tree + i);
        hs_sizes_add(&all, &sizes);
        n_others += set == HS_SET_OTHERS;
        if (set == HS_SET_OTHERS)
            continue;
        assert_memory_equal(&w.owners.sets[set - 1].retained, &sizes, sizeof sizes);
        uint32_t roots = 0;
        for (size_t at = w.owners.begin[set - 1]; at < w.owners.begin[set]; at++)
            roots |= 1U << (w.owners.listed[at] - 2);
        assert_int_equal(roots, i);
    }
    for (uint32_t i = 0; i < w.owners.n_sets; i++) {
        hs_sizes_add(&sum, &w.owners.sets[i].retained);
        assert_true(i == 0 || ranks_before(&w.owners.sets[i - 1], &w.owners.sets[i]));
    }
    hs_sizes_add(&sum, &w.owners.others);
    assert_memory_equal(&sum, &all, sizeof all);
    assert_int_equal(n_others, w.owners.n_others);
    world_fini(&w);
}

/* A chain: all roots reach its first block, and each of the next has one more. The lists of the
 * first fill what can be listed; the last has two roots and a list again. */
static void test_more_roots_than_are_listed(void **state)
{
    enum { ROOTS = 1060000, CHAIN = 32, N = ROOTS + CHAIN + 2 };
    uint64_t left = MADE_MAX_LISTED, n_unlisted = 0;
    struct made m;
    struct world w;
    made_tree_init(&m, N, CHAIN + 1);
    for (uint32_t i = 0; i < ROOTS; i++)
        hs_edge_list_add(&m.list, 2 + i, m.n_tree);
    for (uint32_t i = 0; i < CHAIN; i++)
        hs_edge_list_add(&m.list, 2 + ROOTS + i, m.n_tree + i);
    for (uint32_t i = 1; i < CHAIN; i++)
        hs_edge_list_add(&m.list, m.n_tree + i - 1, m.n_tree + i);
    for (uint32_t i = N - 2; i < N; i++)
        hs_edge_list_add(&m.list, 2 + i, m.n_tree + CHAIN);
    made_find(&m, &w);
    assert_int_equal(w.owners.n_sets, CHAIN + 1);
    for (uint32_t i = 0; i <= CHAIN; i++) {
        const struct hs_owner_set *set = &w.owners.sets[i];
        uint64_t at = set->first_top - m.n_tree, n = w.owners.begin[i + 1] - w.owners.begin[i];
        assert_int_equal(set->n_roots, at == CHAIN ? 2 : ROOTS + 1 + at);
        assert_int_equal(n, set->n_roots <= left ? set->n_roots : 0);
        for (uint64_t k = 0; k < n; k++)
            if (w.owners.listed[w.owners.begin[i] + k] != (at == CHAIN ? N : 2) + k)
                fail();
        left -= n;
        n_unlisted += n == 0;
    }
    assert_int_equal(n_unlisted, 1);
    world_fini(&w);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 300, .n_blocks = 9000, .n_edges = 12000};
    struct world w;
    world_init(&w, hs_random_graph(8, &shape), 8);
    made_owners_fini(&w.owners);
    FAIL_EACH (each, .at_least = 25) {
        made_owners_init(&w.graph, 8, &w.owners);
        (void)FAIL_EACH_TRY(each, world_find(&w));
        made_owners_fini(&w.owners);
    }
    w.owners = (struct made_owners){0};
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_no_roots_and_one),
        cmocka_unit_test(test_all_in_one_component),
        cmocka_unit_test(test_more_sets_than_numbers),
        cmocka_unit_test(test_more_roots_than_are_listed),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
