/* links: hs_native hs_heaps */
#include "unit.h"

#include "fail_each.h"
#include "native/firm.h"
#include "native/scan.h"
#include "native/verdict.h"
#include "native_world.h"
#include "postgres/contexts.h"

/* Two contexts of PostgreSQL's, the second below the first, as their reader leaves them. */
enum { TOP, CHILD, N_CONTEXTS, CONTEXT_BYTES = 80, CHUNK_BYTES = 32 };
#define VARIABLE WORLD_STATIC

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;
static struct postgres postgres;
static struct postgres_context contexts[N_CONTEXTS];
static struct postgres_block blocks[N_CONTEXTS];
static const struct postgres_form form = {.object_bytes = CONTEXT_BYTES};

static hs_addr owned_block(uint32_t context, bool is_object)
{
    w->owner = HS_OWNER_postgres;
    hs_addr begin = world_block(w, is_object ? CONTEXT_BYTES : CHUNK_BYTES);
    struct hs_heap_map *map = &w->dump.heaps.map;
    map->spans[map->n_spans - 1].tag = hs_postgres_tag(context, is_object);
    return begin;
}

/* A context's chunks lie in one block, one after the other. */
static hs_addr chunk(uint32_t context)
{
    hs_addr begin = owned_block(context, false);
    if (contexts[context].n_blocks++ == 0)
        blocks[context].first = begin;
    contexts[context].n_blocks = 1;
    blocks[context].used = begin + CHUNK_BYTES;
    return begin;
}

static hs_addr other_block(void)
{
    w->owner = HS_OWNER_registered;
    return world_block(w, CHUNK_BYTES);
}

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    postgres = (struct postgres){.variable = VARIABLE,
                                 .contexts = contexts,
                                 .n_contexts = N_CONTEXTS,
                                 .blocks = blocks,
                                 .n_blocks = N_CONTEXTS};
    for (uint32_t i = 0; i < N_CONTEXTS; i++)
        contexts[i] = (struct postgres_context){.form = &form,
                                                .parent = i == TOP ? POSTGRES_NONE : TOP,
                                                .first_child = i == TOP ? CHILD : POSTGRES_NONE,
                                                .next_child = POSTGRES_NONE,
                                                .first_block = i};
    w->dump.heaps.states[HS_OWNER_postgres] = &postgres;
    for (uint32_t i = 0; i < N_CONTEXTS; i++)
        contexts[i].address = owned_block(i, true);
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    w->dump.heaps.states[HS_OWNER_postgres] = NULL;
    world_free(w);
    return 0;
}

static hs_status scan_all(void)
{
    HS_TRY(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    HS_TRY(hs_scan_find_owned(&scan, &world_err));
    HS_TRY(hs_scan_mark_roots(&scan, &world_err));
    return hs_scan_end(&scan, &world_err);
}

static void run(void)
{
    world_root(w, contexts[TOP].address, HS_EDGE_EXACT);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(scan_all());
    w->dump.n_tree = 1000;
}

static void lead(hs_addr from, unsigned word, hs_addr to)
{
    *world_word(w, from + (hs_addr)word * 8) = to;
}

static void edges_of(hs_addr address)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, &block), HS_POINTER_START);
    assert_int_equal(hs_scan_block(&scan, &block, &world_err), HS_OK);
}

static void is_edge(size_t number, hs_addr to, unsigned edge_class)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, to, &block), HS_POINTER_START);
    assert_true(number < scan.n_edges);
    assert_int_equal(scan.edges[number].target, 1000 + block.rank);
    assert_int_equal(scan.edges[number].edge_class, edge_class);
}

static void owners_lead_to_what_nothing_else_of_theirs_does(void **state)
{
    hs_addr a = chunk(CHILD), b = chunk(CHILD), c = chunk(CHILD), alone = chunk(CHILD);
    hs_addr loop = chunk(CHILD), back = chunk(CHILD), self = chunk(CHILD), t = chunk(TOP);
    lead(a, 0, b);
    lead(b, 1, c + 8); /* into its middle */
    lead(loop, 0, back);
    lead(back, 0, loop);
    lead(self, 2, self);
    run();
    edges_of(contexts[CHILD].address);
    assert_int_equal(scan.n_edges, 4);
    is_edge(0, a, HS_EDGE_EXACT);
    is_edge(1, alone, HS_EDGE_EXACT);
    is_edge(2, loop, HS_EDGE_EXACT);
    is_edge(3, self, HS_EDGE_EXACT);
    edges_of(contexts[TOP].address);
    assert_int_equal(scan.n_edges, 2);
    is_edge(0, t, HS_EDGE_EXACT);
    is_edge(1, contexts[CHILD].address, HS_EDGE_EXACT);
    edges_of(a);
    assert_int_equal(scan.n_edges, 1);
    is_edge(0, b, HS_EDGE_EXACT);
    edges_of(b);
    is_edge(0, c, HS_EDGE_INTERIOR);
    assert_int_equal(scan.n_unreached, 0);
}

static void others_borrow(void **state)
{
    hs_addr a = chunk(CHILD), t = chunk(TOP), outside = other_block();
    lead(t, 0, a);                       /* of the parent */
    lead(a, 0, t);                       /* of the child */
    lead(a, 1, contexts[CHILD].address); /* of what it owns */
    lead(a, 2, outside);                 /* nobody's in particular */
    lead(outside, 0, a);                 /* of a stranger */
    lead(outside, 1, outside);           /* what has no owner is led to as ever */
    lead(contexts[CHILD].address, 3, contexts[TOP].address);
    run();
    edges_of(t);
    is_edge(0, a, HS_EDGE_GUESSED);
    edges_of(a);
    assert_int_equal(scan.n_edges, 3);
    is_edge(0, t, HS_EDGE_GUESSED);
    is_edge(1, contexts[CHILD].address, HS_EDGE_GUESSED);
    is_edge(2, outside, HS_EDGE_EXACT);
    scan.rules = hs_verdict_without(UINT64_C(1) << HS_REASON_OWNED_ELSEWHERE);
    edges_of(outside);
    is_edge(0, a, HS_EDGE_EXACT);
    scan.rules = HS_RULES_ALL;
    edges_of(outside);
    is_edge(0, a, HS_EDGE_GUESSED);
    is_edge(1, outside, HS_EDGE_EXACT);
    edges_of(contexts[CHILD].address);
    is_edge(0, contexts[TOP].address, HS_EDGE_GUESSED);
    is_edge(1, a, HS_EDGE_EXACT); /* though its parent's chunk leads there */
    assert_int_equal(scan.n_unreached, 0);
}

/* A block of somebody else's inside of the range is not handed out. */
static void strangers_in_the_range(void **state)
{
    hs_addr a = chunk(CHILD);
    hs_addr stranger = other_block(), cousin = owned_block(TOP, false), b = chunk(CHILD);
    blocks[TOP] = (struct postgres_block){.first = cousin, .used = cousin + CHUNK_BYTES};
    contexts[TOP].n_blocks = 1;
    run();
    edges_of(contexts[CHILD].address);
    assert_int_equal(scan.n_edges, 2);
    is_edge(0, a, HS_EDGE_EXACT);
    is_edge(1, b, HS_EDGE_EXACT);
    edges_of(contexts[TOP].address);
    is_edge(0, cousin, HS_EDGE_EXACT);
    edges_of(stranger);
    assert_int_equal(scan.n_edges, 0);
    assert_int_equal(scan.n_unreached, 1);
}

static void without_owners_nothing_is_kept(void **state)
{
    chunk(TOP);
    w->dump.heaps.states[HS_OWNER_postgres] = NULL;
    run();
    assert_int_equal(scan.entries.n_bits, 0);
    edges_of(contexts[TOP].address);
    assert_int_equal(scan.n_edges, 0);
}

/* What is firm goes from owners to their blocks, not over what is borrowed. */
static void firm_goes_by_owners(void **state)
{
    hs_addr a = chunk(CHILD), outside = other_block(), lent = other_block();
    struct hs_heap_block block;
    lead(a, 0, outside);
    lead(lent, 0, a);
    run();
    WORLD_OK(hs_scan_mark_firm(&scan, &world_err));
    for (hs_addr at = a;; at = outside) {
        assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, at, &block), HS_POINTER_START);
        assert_true(hs_bitmap_get(&scan.firm, block.rank));
        if (at == outside)
            break;
    }
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, lent, &block), HS_POINTER_START);
    assert_false(hs_bitmap_get(&scan.firm, block.rank));
}

static void every_allocation_may_fail(void **state)
{
    hs_addr a = chunk(CHILD), b = chunk(CHILD);
    lead(a, 0, b);
    world_root(w, contexts[TOP].address, HS_EDGE_EXACT);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    FAIL_EACH (each, .at_least = 6) {
        fail_each_begin(&each);
        if (fail_each_end(&each, scan_all()) != HS_OK)
            hs_scan_close(&scan);
    }
    assert_int_equal(scan.n_unreached, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(owners_lead_to_what_nothing_else_of_theirs_does),
        TEST(others_borrow),
        TEST(strangers_in_the_range),
        TEST(without_owners_nothing_is_kept),
        TEST(firm_goes_by_owners),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
