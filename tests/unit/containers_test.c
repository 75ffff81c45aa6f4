/* links: hs_analysis */
/* Containers are told by their bodies: each once, by the place in its holder, with what the file
 * says of elements and room; a node of a tree is no holder of its neighbours. */
#include "analysis/containers.h"

#include "unit.h"

#include "made_view.h"

static uint32_t add_body(struct hs_graph_builder *b, const char *type, uint64_t entries,
                         uint64_t room)
{
    uint32_t block = hs_graph_builder_block(b, 40, false);
    b->blocks[block].type = hs_graph_builder_type(b, type, 0, HS_FORM_RECORD);
    b->blocks[block].is_counted = true;
    b->blocks[block].entries = entries;
    b->blocks[block].room = room;
    return block;
}

static void expect(const struct hs_container *found, const char *place, const char *name,
                   const char *element, const char *text)
{
    char said[HS_CONTAINER_TEXT_BYTES];
    hs_container_text(found, said);
    assert_string_equal(found->place, place);
    assert_string_equal(found->name, name);
    assert_string_equal(found->element, element);
    assert_string_equal(said, text);
}

static void next_is(const struct hs_surroundings *around, size_t *at, const char *place,
                    const char *name, const char *element, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_container found;
    bool is_one;
    assert_int_equal(hs_container_next(around, at, &found, &is_one, &err), HS_OK);
    assert_true(is_one);
    expect(&found, place, name, element, text);
}

static void holder_tells_each_once(void **state)
{
    (void)state;
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_surroundings around;
    struct hs_container found;
    bool is_one;
    size_t at = 0;
    uint32_t shop = hs_graph_builder_block(b, 20, false);
    uint32_t tree = add_body(b, "std::map<int, Pair<int, Order>>::node", 7, HS_NO_ROOM);
    uint32_t map = add_body(b, "Order *[]", 1, 8);
    uint32_t list = add_body(b, "std::list<long>::node", 2, HS_NO_ROOM);
    uint32_t left = hs_graph_builder_block(b, 40, false); /* a node that is no root */
    uint32_t of_shop = b->blocks[shop].type = hs_graph_builder_type(b, "Shop", 0, HS_FORM_RECORD);
    b->blocks[left].type = b->blocks[tree].type;
    hs_graph_builder_member(b, of_shop, 8, "orders.root", "");
    hs_graph_builder_member(b, of_shop, 16, "orders.first", "");
    hs_graph_builder_member(b, of_shop, 32, "queue.map", "");
    hs_graph_builder_member(b, of_shop, 40, "queue.begin.node", "");
    hs_graph_builder_member(b, of_shop, 48, "line.__end_.__next_", "");
    hs_graph_builder_edge_at(b, shop, tree, HS_EDGE_EXACT, 1);
    hs_graph_builder_edge_at(b, shop, left, HS_EDGE_EXACT, 2);
    hs_graph_builder_edge_at(b, shop, map, HS_EDGE_EXACT, 4);
    hs_graph_builder_edge_at(b, shop, map, HS_EDGE_INTERIOR, 5);
    hs_graph_builder_edge_at(b, shop, list, HS_EDGE_EXACT, 6);
    hs_graph_builder_edge_at(b, left, tree, HS_EDGE_EXACT, 1);
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "shop", shop);
    hs_node nodes[] = {0, 0, 0};
    made_view_open(&made);
    nodes[0] = made.view.n_tree + shop;
    nodes[1] = made.view.n_tree + left;
    nodes[2] = made.view.n_tree + tree;

    assert_int_equal(hs_surroundings_find(&made.view, nodes[0], 100, &around, &err), HS_OK);
    next_is(&around, &at, "orders", "std::map<int, Pair<int, Order>>", "Pair<int, Order>",
            "7 elements");
    next_is(&around, &at, "queue", "std::deque<Order>", "Order", "1 element, room for 8");
    next_is(&around, &at, "line", "std::list<long>", "long", "2 elements");
    assert_int_equal(hs_container_next(&around, &at, &found, &is_one, &err), HS_OK);
    assert_false(is_one);
    hs_surroundings_fini(&around);

    at = 0;
    assert_int_equal(hs_surroundings_find(&made.view, nodes[1], 100, &around, &err), HS_OK);
    assert_int_equal(hs_container_next(&around, &at, &found, &is_one, &err), HS_OK);
    assert_false(is_one);
    hs_surroundings_fini(&around);

    assert_int_equal(hs_container_of(&made.view, nodes[2], &found, &is_one, &err), HS_OK);
    assert_true(is_one);
    expect(&found, "", "std::map<int, Pair<int, Order>>", "Pair<int, Order>", "7 elements");
    assert_int_equal(hs_container_of(&made.view, nodes[0], &found, &is_one, &err), HS_OK);
    assert_false(is_one);
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(holder_tells_each_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
