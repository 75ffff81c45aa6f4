/* links: hs_native */
/* What a program has itself, and what libraries hold of it. */
#include "unit.h"

#include "fail_each.h"
#include "native/flow.h"
#include "native/strangers.h"
#include "native/verdict.h"
#include "native_world.h"

enum { NODE = 1, SESSION = 2, NODE_BYTES = 64 };

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;
static struct hs_object object;
static struct hs_native_object of_object;

/* A node leads to a node, and to a session, which is described nowhere. */
static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, NODE_BYTES);
    world_slot(NODE, "next", 0, NODE);
    world_slot(NODE, "session", 8, SESSION);
    world_slot(NODE, "anything", 16, 0);
    world_types[SESSION].facts = (struct hs_ctype_facts){
        .name = "struct session", .kind = HS_CTYPE_RECORD, .is_declaration = true};
    of_object = (struct hs_native_object){.types = 1};
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    w->dump.objects.n = 0;
    world_free(w);
    return 0;
}

static size_t variable(hs_addr block, bool is_strangers, bool is_handle)
{
    struct hs_root_leaf leaf = {
        .target = block, .is_strangers = is_strangers, .is_handle = is_handle};
    WORLD_OK(hs_roots_add(&w->native.roots, &leaf, &world_err));
    return w->native.roots.n_leaves - 1;
}

static hs_addr node(hs_addr next)
{
    hs_addr block = world_block(w, NODE_BYTES);
    *world_word(w, block) = next;
    return block;
}

static hs_addr other(hs_addr leads_to)
{
    hs_addr block = world_block(w, 48);
    *world_word(w, block + 16) = leads_to;
    return block;
}

static void begin(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    w->dump.objects = (struct hs_objects){.objects = &object, .n = 1};
    w->native.of_object = &of_object;
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
}

static struct hs_heap_block block_at(hs_addr address)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, &block), HS_POINTER_START);
    return block;
}

static bool is_strangers(hs_addr from, hs_addr to)
{
    const struct hs_heap_block a = block_at(from), b = block_at(to);
    return hs_scan_is_strangers(&scan, &a, &b);
}

static uint8_t tier_of(size_t leaf)
{
    return w->native.roots.leaves[leaf].root.tier;
}

/* Why the last word of a block of glibc's is doubtful, as it leads to `to`; 0: it is not. */
static unsigned doubt_of_last(hs_addr from, hs_addr to)
{
    struct hs_heap_block block = block_at(from), target = block_at(to);
    struct hs_heap_span span = *block.span;
    struct hs_said said = {0};

    span.form = HS_SPAN_HEADERS;
    block.span = &span;
    assert_int_equal(*world_word(w, from + block.n_bytes - 8), to);
    hs_scan_said(&scan, hs_scan_type(&scan, &block), &block, HS_RULES_ALL, &said);
    return hs_verdict_of(&said, block.n_bytes - 8, HS_POINTER_START, &target).reason;
}

static hs_addr with_last(uint64_t n_bytes, hs_addr leads_to)
{
    hs_addr block = world_block(w, n_bytes);
    *world_word(w, block + n_bytes - 8) = leads_to;
    return block;
}

/* What an old word leads to in memory without a type is no reason against the last word of the only
 * block of its size. What a type or a variable leads to is; and in a library's memory any word. */
static void old_words_are_no_witnesses(void **state)
{
    hs_addr one = other(0), two = other(0), three = other(0), theirs = other(0);
    hs_addr stale = other(one), second = other(theirs);
    hs_addr beside_stale = with_last(72, one), beside_type = with_last(88, two);
    hs_addr beside_variable = with_last(104, three), of_library = with_last(120, theirs);
    hs_addr keeps[5], block = 0;

    for (int i = 0; i < 5; i++) { /* nodes, of which `anything` leads there */
        keeps[i] = node(block);
        block = keeps[i];
    }
    *world_word(w, keeps[0] + 16) = stale;
    *world_word(w, keeps[1] + 16) = beside_stale;
    *world_word(w, keeps[2] + 16) = beside_type;
    *world_word(w, keeps[3] + 16) = two;
    *world_word(w, keeps[4] + 16) = beside_variable;
    world_seed(w, block, NODE);
    (void)variable(block, false, false);
    (void)variable(three, false, false);
    (void)variable(second, true, false);
    (void)variable(of_library, true, false);
    begin();
    WORLD_OK(hs_scan_find_owners(&scan, &world_err));
    WORLD_OK(hs_scan_mark_roots(&scan, &world_err));
    assert_int_equal(doubt_of_last(beside_stale, one), 0);
    assert_int_equal(doubt_of_last(beside_type, two), HS_REASON_SLACK_WORD);
    assert_int_equal(doubt_of_last(beside_variable, three), HS_REASON_SLACK_WORD);
    assert_int_equal(doubt_of_last(of_library, theirs), HS_REASON_SLACK_WORD);
}

static void what_both_lead_to_is_the_programs(void **state)
{
    hs_addr last = node(0), first = node(last), given = other(last), taken = other(0);
    world_seed(w, first, NODE);
    size_t own = variable(first, false, false), theirs = variable(last, true, false);
    size_t table = variable(given, true, false), kept = variable(taken, true, false);
    begin();
    WORLD_OK(hs_scan_find_owners(&scan, &world_err));
    assert_int_equal(tier_of(own), HS_TIER_FIRM);
    assert_int_equal(tier_of(theirs), HS_TIER_RUNTIME);
    assert_int_equal(tier_of(table), HS_TIER_FIRM); /* of what it has itself */
    assert_int_equal(tier_of(kept), HS_TIER_FIRM);
    assert_true(is_strangers(given, last));
    assert_false(is_strangers(first, last) || is_strangers(given, taken));
}

/* What a handle leads to is a library's, but for what has a type all the same. */
static void handles(void **state)
{
    hs_addr last = node(0), first = node(last), session = other(last), known = node(last);
    *world_word(w, first + 8) = session;
    *world_word(w, last + 8) = known;
    world_seed(w, first, NODE);
    world_seed(w, known, NODE);
    (void)variable(first, false, false);
    (void)variable(other(first), false, true);
    begin();
    WORLD_OK(hs_scan_find_owners(&scan, &world_err));
    assert_true(is_strangers(session, last));
    assert_false(is_strangers(first, session));
    assert_false(is_strangers(known, last));
    assert_true(is_strangers(w->blocks[4], first));
}

/* Memory of the program's of which no type is known is its own. */
static void anything(void **state)
{
    hs_addr last = node(0), first = node(last), unknown = other(last);
    *world_word(w, first + 16) = unknown;
    world_seed(w, first, NODE);
    (void)variable(first, false, false);
    begin();
    WORLD_OK(hs_scan_find_owners(&scan, &world_err));
    assert_false(is_strangers(unknown, last));
}

static void where_nothing_is_known_of_the_program(void **state)
{
    hs_addr last = node(0), first = node(last), given = other(last);
    of_object.types = 0;
    (void)variable(first, false, false);
    size_t theirs = variable(last, true, false);
    (void)variable(given, true, false);
    begin();
    WORLD_OK(hs_scan_find_owners(&scan, &world_err));
    assert_int_equal(tier_of(theirs), HS_TIER_FIRM);
    assert_false(is_strangers(given, last));
}

static void every_allocation_fails(void **state)
{
    hs_addr last = node(0), first = node(last);
    world_seed(w, first, NODE);
    (void)variable(first, false, false);
    size_t theirs = variable(last, true, false);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    w->dump.objects = (struct hs_objects){.objects = &object, .n = 1};
    w->native.of_object = &of_object;
    FAIL_EACH (each, .at_least = 4) {
        fail_each_begin(&each);
        hs_status status = hs_scan_begin(&scan, &w->native, &flow, &world_err);
        if (status == HS_OK)
            status = hs_scan_find_owners(&scan, &world_err);
        if (fail_each_end(&each, status) != HS_OK) {
            assert_int_equal(tier_of(theirs), HS_TIER_FIRM);
            hs_scan_close(&scan);
        }
    }
    assert_int_equal(tier_of(theirs), HS_TIER_RUNTIME);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_both_lead_to_is_the_programs),
        TEST(handles),
        TEST(anything),
        TEST(old_words_are_no_witnesses),
        TEST(where_nothing_is_known_of_the_program),
        TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
