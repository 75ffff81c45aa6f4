/* links: hs_native */
/* When pointers of unions are there, learnt from all of them. */
#include "unit.h"

#include "fail_each.h"
#include "native/flow.h"
#include "native/roots.h"
#include "native/scan.h"
#include "native/unions.h"
#include "native_world.h"

enum { NODE = 1, VALUE = 2, BARE = 3, NODE_BYTES = 64, VALUE_BYTES = 24 };
enum { LIST = 1, NUMBER = 2, LEFT = 3 };

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;

/* A value: a pointer to the next one, a tag, a union. Of a bare one nothing is beside it. */
static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, NODE_BYTES);
    world_slot(NODE, "next", 0, NODE);
    world_type(VALUE, "struct value", HS_CTYPE_RECORD, VALUE_BYTES);
    world_slot(VALUE, "next", 0, VALUE);
    world_slot(VALUE, "list", 16, NODE);
    world_types[VALUE].slots[1].is_untold = world_types[VALUE].slots[1].may_be_pointer_only = true;
    world_types[VALUE].slots[1].first_choice = VALUE;
    world_type(BARE, "struct bare", HS_CTYPE_RECORD, NODE_BYTES);
    world_slot(BARE, "any", 0, NODE);
    world_types[BARE].slots[0].is_untold = world_types[BARE].slots[0].may_be_pointer_only = true;
    world_types[BARE].slots[0].first_choice = BARE;
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

static hs_addr node(hs_addr next)
{
    hs_addr block = world_block(w, NODE_BYTES);
    *world_word(w, block) = next;
    return block;
}

static hs_addr value(hs_addr next, uint64_t tag, uint64_t word)
{
    hs_addr block = world_block(w, VALUE_BYTES);
    *world_word(w, block) = next;
    *world_word(w, block + 8) = tag;
    *world_word(w, block + 16) = word;
    return block;
}

static void root(hs_addr block, hs_ctype type)
{
    world_seed(w, block, type);
    world_root(w, block, HS_EDGE_EXACT);
}

static void learn(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    WORLD_OK(hs_unions_learn(&scan, &world_err));
}

/* By the edge that is written: is the word of the union in that block sure? */
static bool is_sure(hs_addr address, uint64_t at)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, &block), HS_POINTER_START);
    WORLD_OK(hs_scan_block(&scan, &block, &world_err));
    for (size_t i = 0; i < scan.n_edges; i++)
        if (scan.edges[i].offset_words == at / 8)
            return hs_edge_tier(scan.edges[i].edge_class) == HS_TIER_FIRM;
    fail_msg("no edge");
    return false;
}

/* Values that have a list, that have a number, and of which another has taken the list. */
static void the_tag_tells(void **state)
{
    hs_addr all = 0, of_list = 0, of_left = 0, taken = node(0);
    for (uint64_t i = 0; i < 12; i++) {
        all = of_list = value(all, LIST, node(0));
        all = value(all, NUMBER, 1000 + i);
        all = of_left = value(all, LEFT, taken = node(taken));
    }
    hs_addr stale = value(all, NUMBER, taken), rare = value(stale, 77, taken);
    hs_addr alone = value(rare, 78, node(0));
    root(alone, VALUE);
    root(taken, NODE);
    learn();
    assert_true(is_sure(of_list, 16));
    assert_false(is_sure(of_left, 16));
    assert_false(is_sure(stale, 16));
    assert_false(is_sure(rare, 16));
    assert_true(is_sure(alone, 16)); /* nothing surer leads there */
    assert_true(is_sure(all, 0));
}

/* Where all that unions lead to is led to by others as well, as in an interpreter that has a list
 * of all its objects, nothing tells what was left: but the tag 0. */
static void where_others_lead_to_all(void **state)
{
    hs_addr all = 0, nodes = node(0), of_list = 0, of_none = 0;
    for (uint64_t i = 0; i < 12; i++) {
        nodes = node(nodes);
        all = of_list = value(all, LIST, nodes);
        all = of_none = value(all, 0, nodes);
        all = value(all, NUMBER, 1000 + i);
    }
    root(all, VALUE);
    root(nodes, NODE);
    learn();
    assert_true(is_sure(of_list, 16));
    assert_false(is_sure(of_none, 16));
}

/* What is always an address, if there are some of it. */
static void without_a_tag(void **state)
{
    hs_addr bare[6];
    for (size_t i = 0; i < 6; i++) {
        bare[i] = world_block(w, NODE_BYTES);
        *world_word(w, bare[i]) = node(0);
        root(bare[i], BARE);
    }
    hs_addr owned = node(0), lone = value(0, LIST, owned);
    root(owned, NODE);
    root(lone, VALUE);
    learn();
    for (size_t i = 0; i < 6; i++)
        assert_true(is_sure(bare[i], 0));
    assert_false(is_sure(lone, 16));
}

static void every_allocation_fails(void **state)
{
    hs_addr all = 0;
    for (size_t i = 0; i < 6; i++)
        all = value(all, LIST, node(0));
    root(all, VALUE);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    FAIL_EACH (each, .at_least = 6) {
        fail_each_begin(&each);
        hs_status status = hs_scan_begin(&scan, &w->native, &flow, &world_err);
        if (status == HS_OK)
            status = hs_unions_learn(&scan, &world_err);
        if (status != HS_OK) {
            hs_scan_close(&scan);
            hs_unions_fini(&w->native.unions);
        }
        (void)fail_each_end(&each, status);
    }
    assert_true(is_sure(all, 16));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_tag_tells),
        TEST(where_others_lead_to_all),
        TEST(without_a_tag),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
