/* links: hs_analysis */
#include "unit.h"

#include "analysis/leak_groups.h"
#include "analysis/leak_held.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

static const struct hs_suppressions none = {0};
static const struct hs_leak_query everything = {&none, 3, 0, UINT64_MAX};

struct found {
    struct hs_leak_set set;
    struct hs_leak_groups groups;
};

static struct found find(struct made_view *made, const struct hs_leak_query *query,
                         const struct hs_leak_holders *holders)
{
    struct hs_error err = HS_ERROR_INIT;
    struct found found = {0};
    assert_int_equal(hs_leak_set_find(&made->view, holders, &found.set, &err), HS_OK);
    assert_int_equal(hs_leak_groups_find(&made->view, &found.set, query, &found.groups, &err),
                     HS_OK);
    return found;
}

static void found_fini(struct found *found)
{
    hs_leak_groups_fini(&found->groups);
    hs_leak_set_fini(&found->set);
}

static const struct hs_leak_group *group_of(const struct made_view *made, const struct found *found,
                                            const char *type, unsigned certainty)
{
    for (size_t i = 0; i < found->groups.n_groups; i++) {
        const struct hs_leak_group *g = &found->groups.groups[i];
        const char *name =
            hs_view_string(&made->view, hs_snap_type(made->view.snap, g->type)->name);
        if (g->certainty == certainty && strcmp(name, type) == 0)
            return g;
    }
    return NULL;
}

enum { LIVE, LISTS, CYCLE, FAR, PAST, PACKED, BELOW, POOL, STATIC_BLOCK };

/*  root -> LIVE(2);  LISTS(3) -> LISTS(3) -> LIVE;  CYCLE(4) <-> CYCLE(4) -> FAR(9)
 *  LIVE -past end-> PAST(5);  LIVE -guessed-> PACKED(6) -> BELOW(7);  POOL(8), unsure
 *  a static block that nobody reaches */
static void fill(struct hs_graph_builder *b)
{
    static const struct {
        const char *name;
        uint64_t words;
    } kinds[] = {{"live", 2},   {"list", 3},  {"cycle", 4}, {"far", 9},   {"past", 5},
                 {"packed", 6}, {"below", 7}, {"pool", 8},  {"static", 1}};
    static const int blocks[] = {LIVE, LISTS,  LISTS, CYCLE, CYCLE,       FAR,
                                 PAST, PACKED, BELOW, POOL,  STATIC_BLOCK};
    uint32_t n[11], types[STATIC_BLOCK + 1];
    for (size_t i = 0; i <= STATIC_BLOCK; i++)
        types[i] = hs_graph_builder_type(b, kinds[i].name, 0, HS_FORM_RECORD);
    for (size_t i = 0; i < 11; i++) {
        n[i] = hs_graph_builder_block(b, kinds[blocks[i]].words, blocks[i] == STATIC_BLOCK);
        b->blocks[n[i]].type = types[blocks[i]];
    }
    b->blocks[n[9]].state |= HS_BLOCK_UNSURE;
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "demo", "main.c", "g_live", n[0]);
    hs_graph_builder_edge(b, n[1], n[2], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[2], n[0], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[3], n[4], HS_EDGE_INTERIOR);
    hs_graph_builder_edge(b, n[4], n[3], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[4], n[5], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[0], n[6], HS_EDGE_PAST_END);
    hs_graph_builder_edge(b, n[0], n[7], HS_EDGE_GUESSED);
    hs_graph_builder_edge(b, n[7], n[8], HS_EDGE_EXACT);
}

struct expected {
    const char *type;
    unsigned certainty;
    uint64_t count, heads, held_words;
    unsigned reasons;
};

static void check_group(const struct made_view *made, const struct found *found,
                        const struct expected *expected)
{
    const struct hs_leak_group *g = group_of(made, found, expected->type, expected->certainty);
    assert_non_null(g);
    assert_int_equal(g->count, expected->count);
    assert_int_equal(g->heads, expected->heads);
    assert_int_equal(g->held_words, expected->held_words);
    assert_int_equal(g->reasons, expected->reasons);
}

static void test_kinds(void **state)
{
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    struct found f = find(&made, &everything, NULL);
    static const struct expected expected[] = {
        {"list", HS_LEAK_CERTAIN, 2, 1, 6, 0},
        {"cycle", HS_LEAK_CERTAIN, 2, 1, 17, 0},
        {"far", HS_LEAK_CERTAIN, 1, 0, 0, 0},
        {"past", HS_LEAK_POSSIBLE, 1, 1, 5, HS_LEAK_PAST_END},
        {"packed", HS_LEAK_POSSIBLE, 1, 1, 13, HS_LEAK_GUESSED},
        {"below", HS_LEAK_POSSIBLE, 1, 0, 0, HS_LEAK_BELOW},
        {"pool", HS_LEAK_POSSIBLE, 1, 1, 8, HS_LEAK_UNSURE},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        check_group(&made, &f, &expected[i]);
    assert_int_equal(f.groups.n_groups, 7);
    assert_null(group_of(&made, &f, "live", HS_LEAK_POSSIBLE));
    assert_int_equal(f.groups.totals[HS_LEAK_CERTAIN].words, 2 * 3 + 2 * 4 + 9);
    assert_int_equal(f.groups.totals[HS_LEAK_POSSIBLE].words, 5 + 6 + 7 + 8);
    assert_int_equal(f.groups.groups[0].held_words, 17); /* certain first, most held first */
    found_fini(&f);
    made_view_close(&made);
}

static void test_limits(void **state)
{
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    struct hs_leak_query query = {&none, 1 << HS_LEAK_CERTAIN, 7, UINT64_MAX};
    struct found f = find(&made, &query, NULL);
    assert_int_equal(f.groups.n_groups, 2); /* cycle 8, far 9 */
    assert_int_equal(f.groups.n_others, 1);
    assert_int_equal(f.groups.others.words, 6);
    found_fini(&f);
    query = (struct hs_leak_query){&none, 3, 0, 2};
    f = find(&made, &query, NULL);
    assert_int_equal(f.groups.n_groups, 2);
    assert_int_equal(f.groups.n_others, 5);
    found_fini(&f);
    made_view_close(&made);
}

static void test_suppressions(void **state)
{
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    struct hs_suppression items[] = {{"^cyc", HS_SUPPRESS_TYPE}};
    struct hs_suppressions some = {.items = items, .n = 1};
    struct hs_leak_query query = {&some, 3, 0, UINT64_MAX};
    struct found f = find(&made, &query, NULL);
    assert_null(group_of(&made, &f, "cycle", HS_LEAK_CERTAIN));
    assert_null(group_of(&made, &f, "far", HS_LEAK_CERTAIN)); /* hangs on the cycle alone */
    assert_int_equal(f.groups.suppressed.count, 3);
    assert_int_equal(f.groups.suppressed.words, 17);
    assert_int_equal(f.groups.totals[HS_LEAK_CERTAIN].words, 6);
    found_fini(&f);
    made_view_close(&made);
}

/* Both searches find what the set was made of. */
static void check_held(struct made_view *made, const struct hs_leak_holders *holders,
                       const struct hs_leak_set *set)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_bitmap held[2], on_stack[2];
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(hs_bitmap_init(&held[i], made->view.n_nodes, &err) |
                             hs_bitmap_init(&on_stack[i], made->view.n_nodes, &err),
                         HS_OK);
    assert_int_equal(hs_leak_held_in_memory(&made->view, holders, &held[0], &on_stack[0], &err),
                     HS_OK);
    assert_int_equal(hs_leak_held_by_passes(&made->view, holders, &held[1], &on_stack[1], &err),
                     HS_OK);
    for (hs_node node = 0; node < made->view.n_nodes; node++) {
        assert_int_equal(hs_bitmap_get(&held[0], node), hs_bitmap_get(&held[1], node));
        assert_int_equal(hs_bitmap_get(&on_stack[0], node), hs_bitmap_get(&on_stack[1], node));
        if (hs_bitmap_get(&set->lost, node))
            assert_int_equal(hs_bitmap_get(&on_stack[0], node),
                             hs_bitmap_get(&set->on_stack, hs_leak_rank(set, node)));
        if (node >= made->view.n_tree)
            assert_int_equal(hs_bitmap_get(&held[0], node), !hs_bitmap_get(&set->lost, node));
    }
    for (unsigned i = 0; i < 2; i++) {
        hs_bitmap_fini(&held[i]);
        hs_bitmap_fini(&on_stack[i]);
    }
}

static bool holds_guessed(const void *context, const struct hs_root *root)
{
    return root->edge_class == HS_EDGE_GUESSED;
}

/* A doubtful root: possible, unless it is said to hold. */
static void test_doubtful_root(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t block = hs_graph_builder_block(b, 3, false);
    uint32_t below = hs_graph_builder_block(b, 2, false);
    hs_graph_builder_edge(b, block, below, HS_EDGE_EXACT);
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 1", "#1 f", "dead slot", block);
    b->leaves[leaf].edge_class = HS_EDGE_GUESSED;
    made_view_open(&made);
    struct found f = find(&made, &everything, NULL);
    assert_int_equal(f.groups.totals[HS_LEAK_POSSIBLE].words, 5);
    assert_int_equal(f.groups.totals[HS_LEAK_CERTAIN].words, 0);
    assert_int_equal(f.groups.groups[0].reasons, HS_LEAK_GUESSED);
    found_fini(&f);
    struct hs_leak_holders holders = {holds_guessed, NULL};
    f = find(&made, &everything, &holders);
    check_held(&made, &holders, &f.set);
    assert_int_equal(f.set.n_lost, 0);
    assert_int_equal(f.groups.n_groups, 0);
    found_fini(&f);
    made_view_close(&made);
}

/* Words as good as any, where nobody may read them again. What a runtime's table holds is alive. */
static void test_roots_by_tier(void **state)
{
    static const struct {
        const char *type;
        uint8_t kind, tier;
        uint64_t words;
        unsigned reasons; /* 0: alive */
    } cases[] = {{"global", HS_ROOT_GLOBAL, HS_TIER_FIRM, 1, 0},
                 {"runtime", HS_ROOT_GLOBAL, HS_TIER_RUNTIME, 2, 0},
                 {"live", HS_ROOT_STACK, HS_TIER_FIRM, 3, 0},
                 {"slot", HS_ROOT_STACK, HS_TIER_DOUBTFUL, 4, HS_LEAK_STACK},
                 {"register", HS_ROOT_REGISTER, HS_TIER_DOUBTFUL, 5, HS_LEAK_STACK},
                 {"mapping", HS_ROOT_UNCLAIMED, HS_TIER_DOUBTFUL, 6, HS_LEAK_MAPPING}};
    enum { N = sizeof cases / sizeof *cases };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t block[N];
    for (size_t i = 0; i < N; i++) {
        uint32_t type = hs_graph_builder_type(b, cases[i].type, 0, HS_FORM_RECORD);
        block[i] = hs_graph_builder_block(b, cases[i].words, false);
        b->blocks[block[i]].type = type;
        uint32_t leaf = hs_graph_builder_leaf(b, cases[i].kind, "m", "u", cases[i].type, block[i]);
        b->leaves[leaf].tier = cases[i].tier;
    }
    uint32_t below = hs_graph_builder_block(b, 7, false);
    b->blocks[below].type = hs_graph_builder_type(b, "below", 0, HS_FORM_RECORD);
    hs_graph_builder_edge(b, block[3], below, HS_EDGE_EXACT);
    made_view_open(&made);
    struct found f = find(&made, &everything, NULL);
    check_held(&made, NULL, &f.set);
    for (size_t i = 0; i < N; i++) {
        const struct hs_leak_group *g = group_of(&made, &f, cases[i].type, HS_LEAK_POSSIBLE);
        assert_int_equal(g != NULL, cases[i].reasons != 0);
        if (g != NULL)
            assert_int_equal(g->reasons, cases[i].reasons);
    }
    assert_int_equal(group_of(&made, &f, "below", HS_LEAK_POSSIBLE)->reasons, HS_LEAK_BELOW);
    assert_int_equal(f.groups.totals[HS_LEAK_POSSIBLE].words, 4 + 5 + 6 + 7);
    assert_int_equal(f.groups.totals[HS_LEAK_CERTAIN].words, 0);
    assert_int_equal(f.groups.on_stack.count, 3);
    assert_int_equal(f.groups.on_stack.words, 4 + 5 + 7);
    found_fini(&f);
    made_view_close(&made);
}

/* ---- against brute force */

enum { N_RANDOM = 40 };

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
    return (uint32_t)(*seed >> 33);
}

static void close_transitively(bool reach[N_RANDOM][N_RANDOM])
{
    for (int k = 0; k < N_RANDOM; k++)
        for (int i = 0; i < N_RANDOM; i++)
            for (int j = 0; j < N_RANDOM; j++)
                reach[i][j] |= reach[i][k] && reach[k][j];
}

static void check_bundles(const struct hs_leak_set *set, uint64_t n_tree,
                          bool reach[N_RANDOM][N_RANDOM], const bool *lost)
{
    uint32_t n_lost = 0;
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        assert_int_equal(hs_bitmap_get(&set->lost, n_tree + i), lost[i]);
        if (!lost[i])
            continue;
        n_lost++;
        uint64_t rank = hs_leak_rank(set, n_tree + i);
        assert_int_equal(hs_leak_node(set, rank), n_tree + i);
        uint64_t head = hs_leak_node(set, set->head[rank]) - n_tree;
        assert_true(lost[head] && (head == i || reach[head][i]));
        for (uint32_t j = 0; j < N_RANDOM; j++) /* what leads to a head is in its cycle */
            assert_true(!lost[j] || !reach[j][head] || reach[head][j]);
        if (head != i && reach[i][head]) /* one head to a cycle */
            assert_int_equal(set->head[set->head[rank]], set->head[rank]);
    }
    assert_int_equal(set->n_lost, n_lost);
}

static void random_case(uint64_t seed)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    bool reach[N_RANDOM][N_RANDOM] = {{false}}, lost[N_RANDOM];
    uint32_t density = 20 + next_random(&seed) % 60;
    for (int i = 0; i < N_RANDOM; i++)
        hs_graph_builder_block(b, 8, false);
    for (uint32_t e = 0; e < density; e++) {
        uint32_t from = next_random(&seed) % N_RANDOM, to = next_random(&seed) % N_RANDOM;
        unsigned edge_class = next_random(&seed) % 4;
        hs_graph_builder_edge(b, from, to, edge_class);
        reach[from][to] |= hs_edge_is_sure(edge_class);
    }
    uint32_t root = next_random(&seed) % N_RANDOM;
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "g", root);
    close_transitively(reach);
    for (uint32_t i = 0; i < N_RANDOM; i++)
        lost[i] = i != root && !reach[root][i];
    made_view_open(&made);
    struct found f = find(&made, &everything, NULL);
    check_bundles(&f.set, made.view.n_tree, reach, lost);
    check_held(&made, NULL, &f.set);
    uint64_t words = 0;
    for (size_t i = 0; i < f.groups.n_groups; i++)
        words += f.groups.groups[i].held_words;
    assert_int_equal(words, 8 * (uint64_t)f.set.n_lost); /* all that is lost hangs on some head */
    found_fini(&f);
    made_view_close(&made);
}

static void test_random(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        random_case(seed * 7919);
}

static void test_allocations(void **state)
{
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    FAIL_EACH (each, .at_least = 5) {
        struct hs_error err = HS_ERROR_INIT;
        struct found f = {0};
        fail_each_begin(&each);
        hs_status status = hs_leak_set_find(&made.view, NULL, &f.set, &err);
        if (status == HS_OK)
            status = hs_leak_groups_find(&made.view, &f.set, &everything, &f.groups, &err);
        (void)fail_each_end(&each, status);
        found_fini(&f);
    }
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),         cmocka_unit_test(test_limits),
        cmocka_unit_test(test_suppressions),  cmocka_unit_test(test_doubtful_root),
        cmocka_unit_test(test_roots_by_tier), cmocka_unit_test(test_random),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
