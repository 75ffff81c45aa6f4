/* links: hs_analysis */
#include "unit.h"

#include "analysis/block_file.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

/* Two views of one snapshot: of the one that has a file of blocks nothing must differ. */
struct pair {
    struct made_view made;
    struct hs_view plain;
};

static void pair_open(struct pair *pair)
{
    struct hs_error err = HS_ERROR_INIT;
    bool has_more = true;
    made_view_open(&pair->made);
    assert_int_equal(
        hs_view_open(&pair->made.session, pair->made.path, HS_VIEW_INDEX, &pair->plain, &err),
        HS_OK);
    for (uint64_t left = pair->made.view.totals->n_chunks; has_more; left--) {
        assert_true(left > 0);
        assert_int_equal(hs_block_file_add(&pair->made.view, &has_more, &err), HS_OK);
    }
    assert_non_null(pair->made.view.blocks);
    assert_int_equal(hs_block_file_add(&pair->made.view, &has_more, &err), HS_OK);
    assert_false(has_more);
}

static void pair_close(struct pair *pair)
{
    hs_view_close(&pair->plain);
    made_view_close(&pair->made);
}

static void same_links(const struct hs_links *a, const struct hs_links *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_true(a->links[i].other == b->links[i].other);
        assert_true(a->links[i].offset_words == b->links[i].offset_words);
        assert_int_equal(a->links[i].edge_class, b->links[i].edge_class);
    }
}

static void same_node(struct pair *pair, hs_node node)
{
    struct hs_view *view = &pair->made.view, *plain = &pair->plain;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_node_facts a, b;
    struct hs_links out = {0}, out_plain = {0};
    struct hs_link link, link_plain;
    hs_node at, at_plain;
    assert_int_equal(hs_view_facts(view, node, &a, &err), HS_OK);
    assert_int_equal(hs_view_facts(plain, node, &b, &err), HS_OK);
    assert_true(a.address == b.address && a.words == b.words && a.type == b.type);
    assert_true(a.is_static == b.is_static && a.is_young == b.is_young);
    assert_string_equal(a.label, b.label);
    for (int by = -8; by <= 8; by += 8) {
        hs_addr address = a.address + (uint64_t)(int64_t)by;
        assert_int_equal(hs_view_find_address(view, address, &at, &err), HS_OK);
        assert_int_equal(hs_view_find_address(plain, address, &at_plain, &err), HS_OK);
        assert_true(at == at_plain);
    }
    assert_int_equal(hs_links_out(view, node, &out, &err), HS_OK);
    assert_int_equal(hs_links_out(plain, node, &out_plain, &err), HS_OK);
    same_links(&out, &out_plain);
    for (size_t i = 0; i < out.n && i < 5; i++) {
        if (out.links[i].edge_class > HS_EDGE_EPHEMERON)
            continue;
        assert_int_equal(hs_link_find(view, node, out.links[i].other, &link, &err), HS_OK);
        assert_int_equal(hs_link_find(plain, node, out.links[i].other, &link_plain, &err), HS_OK);
        assert_true(link.offset_words == link_plain.offset_words);
        assert_int_equal(link.edge_class, link_plain.edge_class);
    }
    hs_links_fini(&out);
    hs_links_fini(&out_plain);
}

/* Who points to a node, weak ones included, some at a time. */
static void same_sources(struct pair *pair, hs_node node)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_links in = {0}, in_plain = {0};
    struct hs_referrers all = hs_referrers_of(&pair->made.view, node, UINT64_MAX);
    struct hs_referrers all_plain = hs_referrers_of(&pair->plain, node, UINT64_MAX);
    do {
        assert_int_equal(hs_referrers_next(&all, 50, &in, &err), HS_OK);
        assert_int_equal(hs_referrers_next(&all_plain, 50, &in_plain, &err), HS_OK);
        same_links(&in, &in_plain);
    } while (in.n != 0);
    hs_links_fini(&in);
    hs_links_fini(&in_plain);
}

/* Three chunks: all kinds of edges, types and states, a row that is too long for its group. */
static void same_answers(void **state)
{
    enum { N = 2 * HS_CHUNK_BLOCKS + 100, HUB = HS_CHUNK_BLOCKS + 70 };
    struct pair pair = {0};
    struct hs_graph_builder *b = &pair.made.builder;
    uint32_t leaf, weak_leaf;
    hs_graph_builder_small(b, &leaf, &weak_leaf);
    uint32_t type = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    for (uint32_t i = 4; i < N; i++) {
        uint32_t block = hs_graph_builder_block(b, 1 + i % 11, i % 3 == 0);
        b->blocks[block].type = i % 5 ? type : 0;
    }
    for (uint32_t i = 0; i < N; i++)
        hs_graph_builder_edge(b, i, (uint32_t)((i * 7919ULL) % N),
                              i % 7 ? HS_EDGE_EXACT : HS_EDGE_WEAK);
    for (uint32_t i = 0; i < 20000; i++)
        hs_graph_builder_edge(b, HUB, 3 * i, HS_EDGE_EXACT);
    pair_open(&pair);
    for (hs_node node = 0; node < pair.made.view.n_nodes; node += node < 100 ? 1 : 997)
        same_node(&pair, node);
    same_node(&pair, hs_graph_builder_node(b, HUB));
    same_node(&pair, hs_graph_builder_node(b, HUB + 1));
    for (uint32_t i = 0; i < 12; i++)
        same_sources(&pair, hs_graph_builder_node(b, i));
    same_sources(&pair, hs_graph_builder_node(b, N - 1));
    pair_close(&pair);
}

/* Half way, what is there is read from the file and the rest from chunks. */
static void some_chunks(void **state)
{
    struct pair pair = {0};
    struct hs_error err = HS_ERROR_INIT;
    bool has_more;
    made_list(&pair.made.builder, HS_CHUNK_BLOCKS + 10);
    made_view_open(&pair.made);
    assert_int_equal(
        hs_view_open(&pair.made.session, pair.made.path, HS_VIEW_INDEX, &pair.plain, &err), HS_OK);
    assert_int_equal(hs_block_file_add(&pair.made.view, &has_more, &err), HS_OK);
    assert_true(has_more);
    for (hs_node node = 1; node < pair.made.view.n_nodes; node += 9973)
        same_node(&pair, node);
    same_node(&pair, pair.made.view.n_nodes - 1);
    same_sources(&pair, pair.made.view.n_nodes - 1);
    pair_close(&pair);
}

/* Without memory, and without a budget: the view stays as it was, and owes nothing. */
static void no_room(void **state)
{
    struct made_view made = {0};
    struct hs_budget budget = {.limit_bytes = (uint64_t)64 << 20};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_node_facts facts;
    bool has_more;
    made.session.budget = &budget;
    made_list(&made.builder, 100);
    made_view_open(&made);
    uint64_t before = budget.used_bytes;
    FAIL_EACH (f, .at_least = 4) {
        (void)FAIL_EACH_TRY(f, hs_block_file_add(&made.view, &has_more, &err));
        assert_true(f.status == HS_OK || made.view.blocks == NULL);
        hs_block_file_close(&made.view);
    }
    assert_int_equal(budget.used_bytes, before);
    budget.limit_bytes = before + 1000;
    assert_int_equal(hs_block_file_add(&made.view, &has_more, &err), HS_LIMIT);
    assert_false(has_more);
    assert_null(made.view.blocks);
    assert_int_equal(budget.used_bytes, before);
    budget.limit_bytes = (uint64_t)64 << 20;
    assert_int_equal(hs_view_facts(&made.view, made.view.n_tree, &facts, &err), HS_OK);
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_answers),
        cmocka_unit_test(some_chunks),
        cmocka_unit_test(no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
