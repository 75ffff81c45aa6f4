/* links: hs_index hs_passes hs_dominator hs_graph hs_format */
/* Tiers against a relaxation over all edges until nothing changes, and the index of each policy
 * against removing one node after the other from the edges that take part; both engines. */
#include "index/tiers.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "graph_builder.h"
#include "index/index_build.h"
#include "index/index_engine.h"
#include "index/index_passes.h"
#include "index/index_private.h"
#include "seeds.h"

enum { NODES_MAX = 512, EDGES_MAX = 4096, NAMED_TYPE = 1 };

static struct hs_error err;

/* ---- what is in the file, read without the code under test ---- */

struct arrow {
    uint32_t from, to;
    unsigned tier;
    bool is_strong;
};

struct world {
    struct hs_graph_builder builder;
    struct hs_snap *snap;
    uint32_t n_nodes, n_tree, n_arrows;
    struct arrow arrows[EDGES_MAX];
    unsigned tier[NODES_MAX]; /* HS_TIER_NONE: not reached */
    uint64_t words[NODES_MAX];
};

static void arrow_add(struct world *w, hs_node from, hs_node to, unsigned tier, bool is_strong)
{
    assert_true(w->n_arrows < EDGES_MAX);
    w->arrows[w->n_arrows++] = (struct arrow){(uint32_t)from, (uint32_t)to, tier, is_strong};
}

static void read_tree(struct world *w)
{
    for (uint32_t i = 0; i < w->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(w->snap, i);
        if (i != 0)
            arrow_add(w, root->parent, i, root->tier, true);
        if (root->target != HS_NO_NODE && !root->weak)
            arrow_add(w, i, root->target, root->edge_class >= HS_EDGE_PAST_END ? 2 : 0, true);
    }
}

static void read_chunk(struct world *w, const struct hs_chunk *chunk, bool named_holds)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        bool is_static = chunk->state[i] & HS_BLOCK_STATIC;
        w->words[chunk->first + i] = is_static ? 0 : chunk->words[i];
        bool holds = named_holds && chunk->type[i] == NAMED_TYPE;
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++) {
            bool doubtful = !holds && chunk->edge_class[e] >= HS_EDGE_PAST_END;
            arrow_add(w, chunk->first + i, chunk->target[e], doubtful ? 2 : 0, true);
        }
    }
    for (uint64_t i = 0; i < chunk->n_extra; i++)
        if (chunk->extra[i].edge_class == HS_EDGE_EPHEMERON)
            arrow_add(w, chunk->extra[i].source, chunk->extra[i].target, 0, false);
}

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static void relax(struct world *w)
{
    for (uint32_t i = 0; i < w->n_nodes; i++)
        w->tier[i] = i == 0 ? 0 : HS_TIER_NONE;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < w->n_arrows; i++) {
            const struct arrow *a = &w->arrows[i];
            unsigned tier = larger(w->tier[a->from], a->tier);
            if (w->tier[a->from] == HS_TIER_NONE || tier >= w->tier[a->to])
                continue;
            w->tier[a->to] = tier;
            changed = true;
        }
    }
}

static void world_read(struct world *w, bool named_holds)
{
    struct hs_chunk chunk = {0};
    w->n_tree = (uint32_t)hs_snap_totals(w->snap)->n_tree;
    w->n_nodes = w->n_tree + (uint32_t)hs_snap_totals(w->snap)->n_blocks;
    w->n_arrows = 0;
    assert_true(w->n_nodes <= NODES_MAX);
    read_tree(w);
    for (uint64_t at = 0; at < hs_snap_totals(w->snap)->n_chunks; at++) {
        assert_int_equal(hs_snap_load_chunk(w->snap, at, HS_COL_ALL, &chunk, &err), HS_OK);
        read_chunk(w, &chunk, named_holds);
    }
    hs_chunk_fini(&chunk);
    relax(w);
}

/* ---- random worlds ---- */

static unsigned some_class(uint64_t *random, unsigned doubt)
{
    static const unsigned sure[] = {HS_EDGE_EXACT, HS_EDGE_INTERIOR};
    static const unsigned doubtful[] = {HS_EDGE_PAST_END, HS_EDGE_GUESSED};
    bool is_doubtful = hs_random_below(random, 8) < doubt;
    return is_doubtful ? doubtful[hs_random_below(random, 2)] : sure[hs_random_below(random, 2)];
}

static void world_make(struct world *w, uint64_t seed)
{
    struct hs_graph_builder *b = &w->builder;
    uint64_t random = seed * 2 + 1;
    uint32_t n = 1 + hs_random_below(&random, seed % 7 == 0 ? 200 : 40);
    uint32_t n_edges = hs_random_below(&random, 3 * n), n_roots = hs_random_below(&random, 12);
    unsigned doubt = hs_random_below(&random, 8);

    memset(w, 0, sizeof *w);
    (void)hs_graph_builder_type(b, "struct user", 0, HS_FORM_RECORD);
    uint32_t named = hs_graph_builder_type(b, "char [64]", 0, HS_FORM_SCALAR);
    assert_int_equal(named, NAMED_TYPE);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t block = hs_graph_builder_block(b, 1 + hs_random_below(&random, 9), i % 17 == 3);
        b->blocks[block].type = hs_random_below(&random, 3) == 0 ? NAMED_TYPE : 0;
    }
    for (uint32_t i = 0; i < n_edges; i++) {
        unsigned edge_class = some_class(&random, doubt);
        if (seed % 3 == 0 && hs_random_below(&random, 9) == 0)
            edge_class = HS_EDGE_EPHEMERON;
        hs_graph_builder_edge(b, hs_random_below(&random, n), hs_random_below(&random, n),
                              edge_class);
    }
    for (uint32_t i = 0; i < n_roots; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "U.v%u", i);
        unsigned kind = hs_random_below(&random, 2) ? HS_ROOT_GLOBAL : HS_ROOT_REGISTER;
        uint32_t leaf = hs_graph_builder_leaf(b, kind, i % 2 ? "m" : "n", "U", name,
                                              hs_random_below(&random, n));
        b->leaves[leaf].edge_class = (uint8_t)some_class(&random, doubt);
        b->leaves[leaf].tier = (uint8_t)hs_random_below(&random, 3); /* kept from version 3 on */
        b->leaves[leaf].weak = hs_random_below(&random, 9) == 0;
    }
    w->snap = hs_graph_builder_open(b);
}

static void world_fini(struct world *w)
{
    hs_snap_close(w->snap);
    hs_graph_builder_fini(&w->builder);
}

/* ---- tiers ---- */

static void check_tiers(const struct world *w, const struct hs_bitmap *types, bool in_memory)
{
    const struct hs_tier_search search = {
        .snap = w->snap, .pointers_in = types, .in_memory = in_memory};
    struct hs_tiers tiers;
    assert_int_equal(hs_tiers_find(&search, &tiers, &err), HS_OK);
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        unsigned expected = w->tier[i] == HS_TIER_NONE ? HS_TIER_DOUBTFUL : w->tier[i];
        assert_int_equal(hs_tiers_of(&tiers, i), expected);
    }
    hs_tiers_fini(&tiers, NULL);
}

static void test_tiers(void **state)
{
    static struct world w;
    for (uint64_t seed = 0; seed < HS_SEEDS(2000); seed++) {
        world_make(&w, seed);
        struct hs_bitmap types;
        assert_int_equal(hs_bitmap_init(&types, hs_snap_totals(w.snap)->n_types, &err), HS_OK);
        hs_bitmap_set(&types, NAMED_TYPE);
        for (int named = 0; named < 2; named++) {
            world_read(&w, named);
            check_tiers(&w, named ? &types : NULL, true);
            if (seed % 16 == 0)
                check_tiers(&w, named ? &types : NULL, false);
        }
        hs_bitmap_fini(&types);
        world_fini(&w);
    }
}

/* ---- the index by each policy ---- */

static bool takes_part(const struct world *w, const struct arrow *a, bool by_tiers)
{
    return !by_tiers || (w->tier[a->from] != HS_TIER_NONE &&
                         larger(w->tier[a->from], a->tier) <= w->tier[a->to]);
}

/* Marks what is reached from `from` without `removed`, returns its words. */
static uint64_t walk(const struct world *w, uint32_t from, uint32_t removed, bool by_tiers,
                     bool strong_only, bool *seen)
{
    uint64_t words = 0;
    memset(seen, 0, NODES_MAX * sizeof *seen);
    seen[from] = from != removed;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < w->n_arrows; i++) {
            const struct arrow *a = &w->arrows[i];
            if (!seen[a->from] || seen[a->to] || a->to == removed || !takes_part(w, a, by_tiers) ||
                (strong_only && !a->is_strong))
                continue;
            seen[a->to] = changed = true;
        }
    }
    for (uint32_t i = 0; i < w->n_nodes; i++)
        words += seen[i] ? w->words[i] : 0;
    return words;
}

static void check_index(const struct world *w, struct hs_index *index, bool by_tiers)
{
    static bool all[NODES_MAX], seen[NODES_MAX];
    uint64_t reached = walk(w, 0, HS_NONE, by_tiers, false, all);

    assert_int_equal(hs_index_reached_total(index).words, reached);
    for (uint32_t v = 0; v < w->n_nodes; v++) {
        assert_int_equal(hs_index_is_reached(index, v), all[v]);
        assert_int_equal(all[v], w->tier[v] != HS_TIER_NONE); /* nothing is lost by a policy */
        uint64_t expected = all[v] ? reached - walk(w, 0, v, by_tiers, false, seen) : 0;
        assert_int_equal(hs_index_retained(index, v).words, expected);
    }
    for (uint32_t t = 0; t < w->n_tree; t++)
        assert_int_equal(hs_index_reachable(index, t).words,
                         walk(w, t, HS_NONE, by_tiers, true, seen));
    assert_int_equal(hs_index_check_all(index, NULL, &err), HS_OK);
}

static void run_engine(const struct hs_snap *snap, const struct index_policy *policy,
                       bool by_passes, struct index_output *ret)
{
    const struct index_work work = {.snap = snap, .policy = policy};
    struct index_writer writer;
    assert_int_equal(index_output_open_memory(index_engine_file_bytes_max(snap), NULL, ret, &err),
                     HS_OK);
    assert_int_equal(index_write_init(ret, snap, policy->key, NULL, &writer, &err), HS_OK);
    assert_int_equal(by_passes ? index_passes_build(&work, &writer, &err)
                               : index_build_run(&work, &writer, &err),
                     HS_OK);
    assert_int_equal(index_write_finish(&writer, &err), HS_OK);
    index_write_fini(&writer);
}

static void check_same_bytes(const struct world *w, const struct hs_policy *policy)
{
    struct index_output first, second;
    struct index_policy found;
    assert_int_equal(index_policy_init(w->snap, policy, &found, &err), HS_OK);
    run_engine(w->snap, &found, false, &first);
    run_engine(w->snap, &found, true, &second);
    assert_int_equal(first.n_bytes, second.n_bytes);
    assert_memory_equal(first.memory, second.memory, first.n_bytes);
    index_output_close(&first, false);
    index_output_close(&second, false);
    index_policy_fini(&found);
}

static const char *const named_types[] = {"char [64]"};
static const struct hs_policy policies[] = {
    {.kind = HS_POLICY_FIRM},
    {.kind = HS_POLICY_CONSERVATIVE},
    {.pointers_in = named_types, .n_pointers_in = 1},
};

static void test_policies(void **state)
{
    static struct world w;
    for (uint64_t seed = 0; seed < HS_SEEDS(240); seed++) {
        world_make(&w, seed);
        for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
            const struct hs_index_options options = {.policy = policies[i]};
            struct hs_index *index;
            world_read(&w, policies[i].n_pointers_in != 0);
            assert_int_equal(hs_index_open(w.snap, &options, &index, &err), HS_OK);
            assert_int_equal(hs_index_policy(index), policies[i].kind);
            check_index(&w, index, policies[i].kind == HS_POLICY_FIRM);
            hs_index_close(index);
            if (seed % 6 == 0)
                check_same_bytes(&w, &policies[i]);
        }
        world_fini(&w);
    }
}

/* A cycle that only doubt enters is kept by doubt, and by nothing else. */
static void test_doubtful_cycle(void **state)
{
    static struct world w;
    memset(&w, 0, sizeof w);
    uint32_t first = hs_graph_builder_blocks(&w.builder, 4, 2);
    uint32_t global = hs_graph_builder_leaf(&w.builder, HS_ROOT_GLOBAL, "m", "U", "g", first);
    (void)hs_graph_builder_leaf(&w.builder, HS_ROOT_REGISTER, "m", "U", "r13", first + 1);
    hs_graph_builder_edge(&w.builder, first + 1, first + 2, HS_EDGE_EXACT);
    hs_graph_builder_edge(&w.builder, first + 2, first + 1, HS_EDGE_EXACT);
    hs_graph_builder_edge(&w.builder, first + 2, first, HS_EDGE_EXACT);
    hs_graph_builder_edge(&w.builder, first, first + 3, HS_EDGE_GUESSED);
    w.builder.leaves[1].tier = HS_TIER_DOUBTFUL;
    w.snap = hs_graph_builder_open(&w.builder);
    world_read(&w, false);

    struct hs_index *index;
    assert_int_equal(hs_index_open(w.snap, &(struct hs_index_options){0}, &index, &err), HS_OK);
    hs_node variable = hs_graph_builder_leaf_node(&w.builder, global);
    hs_node block = hs_graph_builder_node(&w.builder, first);
    assert_int_equal(hs_index_idom(index, block), variable); /* not shared with r13 */
    assert_int_equal(hs_index_retained(index, variable).words, 4);
    assert_int_equal(hs_index_idom(index, hs_graph_builder_node(&w.builder, first + 3)), block);
    hs_index_close(index);
    world_fini(&w);
}

static void test_unknown_type(void **state)
{
    static struct world w;
    static const char *const names[] = {"struct nowhere"};
    const struct hs_index_options options = {.policy = {.pointers_in = names, .n_pointers_in = 1}};
    struct hs_index *index;
    world_make(&w, 1);
    assert_int_equal(hs_index_open(w.snap, &options, &index, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "no type 'struct nowhere'"));
    world_fini(&w);
}

static void test_out_of_memory(void **state)
{
    static struct world w;
    world_make(&w, 21);
    for (int in_memory = 0; in_memory < 2; in_memory++)
        FAIL_EACH (each) {
            const struct hs_tier_search search = {.snap = w.snap, .in_memory = in_memory};
            struct hs_tiers tiers = {0};
            (void)FAIL_EACH_TRY(each, hs_tiers_find(&search, &tiers, &err));
            hs_tiers_fini(&tiers, NULL);
        }
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiers),          cmocka_unit_test(test_policies),
        cmocka_unit_test(test_doubtful_cycle), cmocka_unit_test(test_unknown_type),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
