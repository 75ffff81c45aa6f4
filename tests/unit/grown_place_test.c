/* links: hs_analysis */
/* The place of what grew, and its elements then and now: of a variable, of a block that stays where
 * it is; none where nothing says which container it was. */
#include "analysis/grown_place.h"

#include "unit.h"

#include "made_view.h"

/* shop -> App { orders: a map of n nodes in a row; log: an array } */
struct heap {
    struct made_view made;
    uint32_t app, first, array;
};

static void heap_open(struct heap *heap, uint32_t n, const char *root)
{
    struct hs_graph_builder *b = &heap->made.builder;
    *heap = (struct heap){0};
    heap->app = hs_graph_builder_block(b, 20, false);
    uint32_t of_app = b->blocks[heap->app].type =
        hs_graph_builder_type(b, "App", 0, HS_FORM_RECORD);
    uint32_t node = hs_graph_builder_type(b, "std::map<int, Order>::node", 0, HS_FORM_RECORD);
    heap->array = hs_graph_builder_block(b, 4 * n, false);
    b->blocks[heap->array].type = hs_graph_builder_type(b, "Line[]", 0, HS_FORM_RECORD);
    b->blocks[heap->array].is_counted = true;
    b->blocks[heap->array].entries = 2 * n;
    b->blocks[heap->array].room = 4 * n;
    heap->first = hs_graph_builder_block(b, 8, false);
    b->blocks[heap->first].type = node;
    b->blocks[heap->first].is_counted = true;
    b->blocks[heap->first].entries = n;
    b->blocks[heap->first].room = HS_NO_ROOM;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t next = hs_graph_builder_block(b, 8, false);
        b->blocks[next].type = node;
        hs_graph_builder_edge_at(b, i == 1 ? heap->first : next - 1, next, HS_EDGE_EXACT, 2);
    }
    hs_graph_builder_member(b, of_app, 8, "orders.root", "");
    hs_graph_builder_member(b, of_app, 16, "log", "");
    hs_graph_builder_edge_at(b, heap->app, heap->first, HS_EDGE_EXACT, 1);
    hs_graph_builder_edge_at(b, heap->app, heap->array, HS_EDGE_EXACT, 2);
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", root, heap->app);
    made_view_open(&heap->made);
}

static void of_members_of_a_block(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct heap then, now;
    struct hs_grown_place place;
    heap_open(&then, 10, "app");
    heap_open(&now, 25, "app");
    hs_node one = now.made.view.n_tree + now.first + 5, array = now.made.view.n_tree + now.array;
    assert_int_equal(hs_grown_place_find(&now.made.view, &then.made.view, one, 25, &place, &err),
                     HS_OK);
    assert_string_equal(place.place, "app->orders");
    assert_true(place.has_entries);
    assert_int_equal(place.then, 10);
    assert_int_equal(place.now, 25);
    hs_grown_place_fini(&place);
    assert_int_equal(hs_grown_place_find(&now.made.view, &then.made.view, array, 0, &place, &err),
                     HS_OK);
    assert_string_equal(place.place, "app->log");
    assert_true(place.has_entries && place.then == 20 && place.now == 50);
    hs_grown_place_fini(&place);
    assert_int_equal(hs_grown_place_find(&now.made.view, NULL, one, 25, &place, &err), HS_OK);
    assert_string_equal(place.place, "app->orders");
    assert_false(place.has_entries);
    hs_grown_place_fini(&place);
    made_view_close(&then.made);
    made_view_close(&now.made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_members_of_a_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
