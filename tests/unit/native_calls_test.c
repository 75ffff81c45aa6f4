/* links: hs_native */
/* Whose memory is that several calls of a stack lead to. */
#include "unit.h"

#include "fail_each.h"
#include "native/calls.h"
#include "native/flow.h"
#include "native/visits.h"
#include "native_world.h"

enum { ONE = 11, TWO = 22 }; /* threads */

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

/* A variable of a call; frame 1 is the innermost. The number of its leaf. */
static size_t variable(uint32_t thread, uint32_t frame, hs_addr block)
{
    struct hs_root_leaf leaf = {.target = block,
                                .root = {.kind = HS_ROOT_STACK, .thread = thread, .frame = frame}};
    WORLD_OK(hs_roots_add(&w->native.roots, &leaf, &world_err));
    return w->native.roots.n_leaves - 1;
}

static struct hs_root *root_of(size_t leaf)
{
    return &w->native.roots.leaves[leaf].root;
}

static bool is_lent(size_t leaf)
{
    return root_of(leaf)->tier == HS_TIER_RUNTIME;
}

static void begin(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
}

static void run(void)
{
    begin();
    WORLD_OK(hs_calls_lend(&scan, NULL, &world_err));
    for (uint64_t i = 0; i < scan.reached.n_bits; i++)
        assert_false(hs_bitmap_get(&scan.reached, i)); /* they are for others */
}

/* A list of `n` blocks. */
static hs_addr list(size_t n)
{
    hs_addr first = 0;
    for (size_t i = 0; i < n; i++) {
        hs_addr block = world_block(w, 64);
        *world_word(w, block + 8) = first;
        first = block;
    }
    return first;
}

static void inner_calls_are_lent_what_the_largest_has(void **state)
{
    hs_addr tokens = list(40), table = world_block(w, 128), small = list(2);
    *world_word(w, table) = tokens;
    size_t inner = variable(ONE, 3, table), innermost = variable(ONE, 1, tokens);
    size_t second = variable(ONE, 3, small);
    size_t owner = variable(ONE, 5, tokens), further_out = variable(ONE, 9, list(1));
    root_of(innermost)->kind = HS_ROOT_REGISTER;
    run();
    assert_false(is_lent(owner) || is_lent(further_out));
    assert_true(is_lent(inner) && is_lent(innermost) && is_lent(second));
}

static void an_inner_call_that_has_most_keeps_it(void **state)
{
    size_t outer = variable(ONE, 7, list(1)), owner = variable(ONE, 4, list(24));
    size_t inner = variable(ONE, 2, list(2));
    run();
    assert_false(is_lent(outer) || is_lent(owner));
    assert_true(is_lent(inner));
}

/* An eighth of what the other one has is no little thing. */
static void who_has_much_is_lent_nothing(void **state)
{
    size_t owner = variable(ONE, 4, list(24)), second = variable(ONE, 2, list(3));
    size_t inner = variable(ONE, 1, list(2)), more = variable(ONE, 1, world_block(w, 48));
    run();
    assert_false(is_lent(owner) || is_lent(second));
    assert_true(is_lent(inner) && is_lent(more));
}

/* What a variable of the program leads to no call has. */
static void what_outlives_all_calls_goes_first(void **state)
{
    hs_addr tokens = list(20);
    world_root(w, tokens, HS_EDGE_EXACT);
    size_t outer = variable(ONE, 5, tokens), inner = variable(ONE, 2, list(1));
    size_t innermost = variable(ONE, 1, tokens);
    run();
    assert_false(is_lent(outer) || is_lent(inner));
    assert_true(is_lent(innermost));
}

static void run_own(void)
{
    begin();
    WORLD_OK(hs_bitmap_init(&scan.own, scan.reached.n_bits, &world_err));
    WORLD_OK(hs_calls_lend(&scan, &scan.own, &world_err));
}

static bool is_visitors(hs_addr at)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, at, &block), HS_POINTER_START);
    return hs_visits_has(&scan.visits, &block);
}

/* Who has little of its own is a visitor in what a variable of the program leads to: in its own
 * blocks, and by pointers that others may have as well. */
static void visitors(void **state)
{
    hs_addr sessions = list(40), request = list(8), more = list(2), all = list(20);
    *world_word(w, request + 16) = sessions;
    *world_word(w, more + 16) = sessions;
    *world_word(w, all + 16) = sessions;
    world_root(w, sessions, HS_EDGE_EXACT);
    size_t of_one = variable(ONE, 3, request), shared = variable(ONE, 3, sessions);
    size_t given = variable(TWO, 3, sessions), much = variable(TWO, 3, all);
    size_t owned = variable(ONE, 1, sessions), inner = variable(ONE, 1, more);
    w->native.roots.leaves[shared].may_share = w->native.roots.leaves[given].may_share = true;
    run_own();
    assert_true(is_visitors(request) && is_visitors(more));
    assert_false(is_visitors(sessions) || is_visitors(all)); /* that has more than half of it */
    assert_true(is_lent(shared));
    assert_false(is_lent(of_one) || is_lent(owned) || is_lent(given) || is_lent(much));
    assert_false(is_lent(inner)); /* an eighth of `request` and more */
}

/* main has what the program is about, even where that is less than half. */
static void main_is_seldom_a_visitor(void **state)
{
    hs_addr sessions = list(40), app = list(6);
    *world_word(w, app + 16) = sessions;
    world_root(w, sessions, HS_EDGE_EXACT);
    size_t of_main = variable(ONE, 9, app), shared = variable(ONE, 9, sessions);
    w->native.roots.leaves[of_main].is_mains = w->native.roots.leaves[shared].is_mains = true;
    w->native.roots.leaves[shared].may_share = true;
    run_own();
    assert_false(is_visitors(app) || is_lent(of_main) || is_lent(shared));
}

static void nobody_is_lent_what_nobody_has(void **state)
{
    hs_addr tokens = list(20);
    world_root(w, tokens, HS_EDGE_EXACT);
    size_t outer = variable(ONE, 5, tokens), inner = variable(ONE, 2, tokens);
    run();
    assert_false(is_lent(outer) || is_lent(inner));
}

/* Inner calls of one thread come after outer ones of another, whatever their numbers. */
static void stacks_side_by_side(void **state)
{
    hs_addr shared = list(20);
    size_t inner = variable(ONE, 1, shared), outer = variable(ONE, 2, list(2));
    size_t owner = variable(TWO, 1, shared); /* else the inner one would have most */
    run();
    assert_false(is_lent(outer) || is_lent(owner));
    assert_true(is_lent(inner));
}

/* One call on each stack: nothing is looked at. */
static void calls_without_others_inside(void **state)
{
    hs_addr shared = list(20);
    size_t one = variable(ONE, 1, shared), again = variable(ONE, 1, shared);
    size_t two = variable(TWO, 3, shared);
    run();
    assert_false(is_lent(one) || is_lent(again) || is_lent(two));
}

/* What was inlined has no frame of its own and is a call all the same. */
static void inlined_calls(void **state)
{
    hs_addr tokens = list(20);
    size_t innermost = variable(ONE, 3, tokens), inner = variable(ONE, 3, tokens);
    size_t owner = variable(ONE, 3, tokens), outer = variable(ONE, 4, list(1));
    w->native.roots.leaves[innermost].n_inlined = 2;
    w->native.roots.leaves[inner].n_inlined = 1;
    run();
    assert_false(is_lent(outer) || is_lent(owner));
    assert_true(is_lent(inner) && is_lent(innermost));
}

/* A stale word leads from the outer call to what the inner one has: it is no evidence. */
static void sure_words_alone(void **state)
{
    enum { NODE = 1 };
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 64);
    world_slot(NODE, "next", 0, NODE);
    hs_addr node = world_block(w, 64), tokens = list(20);
    *world_word(w, node + 32) = tokens; /* where its type has no pointer */
    world_seed(w, node, NODE);
    size_t outer = variable(ONE, 5, node), owner = variable(ONE, 4, tokens);
    size_t inner = variable(ONE, 2, tokens);
    run();
    assert_false(is_lent(outer) || is_lent(owner));
    assert_true(is_lent(inner));
}

static void doubtful_and_weak_ones_are_left(void **state)
{
    hs_addr tokens = list(20);
    size_t owner = variable(ONE, 5, tokens), doubtful = variable(ONE, 2, tokens);
    size_t weak = variable(ONE, 2, tokens), unknown = variable(ONE, 0, list(1));
    size_t inner = variable(ONE, 1, tokens);
    root_of(doubtful)->tier = HS_TIER_DOUBTFUL;
    root_of(weak)->weak = true;
    run();
    assert_false(is_lent(owner) || is_lent(weak) || is_lent(unknown));
    assert_int_equal(root_of(doubtful)->tier, HS_TIER_DOUBTFUL);
    assert_true(is_lent(inner));
}

static void every_allocation_fails(void **state)
{
    hs_addr tokens = list(20);
    size_t owner = variable(ONE, 5, tokens), inner = variable(ONE, 2, tokens);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    FAIL_EACH (each, .at_least = 4) {
        fail_each_begin(&each);
        hs_status status = hs_scan_begin(&scan, &w->native, &flow, &world_err);
        if (status == HS_OK)
            status = hs_calls_lend(&scan, NULL, &world_err);
        if (fail_each_end(&each, status) != HS_OK) {
            assert_false(is_lent(owner));
            root_of(inner)->tier = HS_TIER_FIRM;
            hs_scan_close(&scan);
        }
    }
    assert_true(is_lent(inner) && !is_lent(owner));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(inner_calls_are_lent_what_the_largest_has),
        TEST(an_inner_call_that_has_most_keeps_it),
        TEST(who_has_much_is_lent_nothing),
        TEST(what_outlives_all_calls_goes_first),
        TEST(visitors),
        TEST(main_is_seldom_a_visitor),
        TEST(nobody_is_lent_what_nobody_has),
        TEST(stacks_side_by_side),
        TEST(inlined_calls),
        TEST(calls_without_others_inside),
        TEST(sure_words_alone),
        TEST(doubtful_and_weak_ones_are_left),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
