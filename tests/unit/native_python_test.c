/* links: hs_native */
/* Python's objects in the graph: links of lists give no edges, weak references weak ones, cyclic
 * garbage and what hangs on it are unsure, names keep what they reach. */

#include "base/load.h"

#include "unit.h"

#include "fail_each.h"
#include "native/firm.h"
#include "native/flow.h"
#include "native/garbage.h"
#include "native/roots.h"
#include "native/scan.h"
#include "native_world.h"

/* Word 3 of a block says that it is an object; of what type. */
enum {
    OBJECT = 0x1001,
    TRACKED = 0x1002,
    REFERENCE = 0x1003,
    LIST = 0x1004,
    TEXT = 0x1005, /* five words, then characters */
    AT_TYPE = 24
};

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;
static int interpreter; /* stands for the allocator's state */
static struct hs_bitmap named;

/* ---- what stands for the allocator of heaps/ */

static uint64_t kind_of(const void *state, const struct hs_heap_block *block)
{
    if (state == NULL || block->n_bytes < AT_TYPE + 8)
        return 0;
    uint64_t kind = hs_load_u64(block->bytes + AT_TYPE);
    return kind >= OBJECT && kind <= TEXT ? kind : 0;
}

static bool object_type_name(const void *state, const struct hs_heap_block *block, char *text,
                             size_t n_bytes)
{
    if (kind_of(state, block) == 0)
        return false;
    (void)snprintf(text, n_bytes, "object");
    return true;
}

static bool object_words(const void *state, const struct hs_heap_block *block,
                         struct hs_object_words *ret)
{
    uint64_t kind = kind_of(state, block);
    *ret = (struct hs_object_words){.n_owning = kind == TEXT ? 5 : UINT64_MAX};
    ret->is_tracked = kind >= TRACKED && kind != TEXT;
    ret->links = ret->is_tracked ? 3 : 0;
    if (ret->is_tracked)
        ret->n_references = hs_load_u64(block->bytes + AT_TYPE - 8);
    if (kind == REFERENCE)
        ret->weak = 1 << 4;
    return kind != 0;
}

static bool object_is_list_end(const void *state, const struct hs_heap_block *block, hs_addr slot,
                               uint64_t word)
{
    return slot == WORLD_STATIC;
}

static size_t object_parts(const void *state, const struct hs_heap_block *block,
                           struct hs_object_part ret[HS_OBJECT_PARTS])
{
    if (kind_of(state, block) != LIST)
        return 0;
    ret[0] = (struct hs_object_part){32, "list items"};
    ret[1] = (struct hs_object_part){40, "more items"};
    ret[2] = (struct hs_object_part){UINT32_MAX, "behind the block"};
    return 3;
}

static const struct hs_bitmap *object_named(const void *state)
{
    return named.n_bits == 0 ? NULL : &named;
}

/* An object begins with its head, of two words. */
static bool object_is_inside(const void *state, const struct hs_heap_block *block, uint64_t word)
{
    return kind_of(state, block) != 0 && word - block->begin > 16;
}

static const struct hs_object_model objects = {
    .type_name = object_type_name,
    .words = object_words,
    .is_list_end = object_is_list_end,
    .parts = object_parts,
    .named = object_named,
    .is_inside = object_is_inside,
};
const struct hs_allocator hs_allocator_cpython = {.name = "cpython", .objects = &objects};

/* ---- */

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    w->dump.heaps.states[HS_OWNER_cpython] = &interpreter;
    return 0;
}

static int tear_down(void **state)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    hs_bitmap_fini(&named);
    world_free(w);
    return 0;
}

static hs_addr object(uint64_t kind)
{
    hs_addr block = world_block(w, 64);
    *world_word(w, block + AT_TYPE) = kind;
    return block;
}

static uint64_t rank_of(hs_addr address)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, &block), HS_POINTER_START);
    return block.rank;
}

static bool is_reached(hs_addr address)
{
    return hs_bitmap_get(&scan.reached, rank_of(address));
}

/* The edges of a block into scan.edges; its states. */
static unsigned scanned(hs_addr address)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, &block), HS_POINTER_START);
    WORLD_OK(hs_scan_block(&scan, &block, &world_err));
    return scan.states;
}

static void is_edge(size_t number, hs_addr to, unsigned edge_class)
{
    assert_true(number < scan.n_edges);
    assert_int_equal(scan.edges[number].target, 1000 + rank_of(to));
    assert_int_equal(scan.edges[number].edge_class, edge_class);
}

static void run(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    WORLD_OK(hs_scan_mark_roots(&scan, &world_err));
    WORLD_OK(hs_scan_mark_below_names(&scan, &world_err));
    WORLD_OK(hs_garbage_mark(&scan, &world_err));
    WORLD_OK(hs_scan_end(&scan, &world_err));
    w->dump.n_tree = 1000;
}

/* A name of the program holds the first block that was made. */
static void name_first_block(void)
{
    WORLD_OK(hs_bitmap_init(&named, w->n_blocks, &world_err));
    hs_bitmap_set(&named, 0);
}

static void link_objects(hs_addr a, hs_addr b)
{
    *world_word(w, a) = b;
    *world_word(w, b + 8) = a;
}

static void links_own_nothing(void **state)
{
    hs_addr a = object(TRACKED), b = object(TRACKED), c = object(OBJECT), d = object(OBJECT);
    hs_addr reference = object(REFERENCE), plain = world_block(w, 64);
    link_objects(a, b);
    link_objects(b, reference);
    *world_word(w, a + 32) = c;
    *world_word(w, a + 40) = reference;
    *world_word(w, reference + 32) = d;
    *world_word(w, c) = plain; /* no link: it is not tracked */
    *world_word(w, plain + 8) = c;
    world_root(w, a, HS_EDGE_EXACT);
    run();
    assert_true(is_reached(a) && is_reached(c) && is_reached(reference) && is_reached(plain));
    assert_false(is_reached(b));
    assert_false(is_reached(d));
    assert_int_equal(scan.n_unreached, 1); /* d; b is garbage at most */
    assert_int_equal(scanned(a), 0);
    assert_int_equal(scan.n_edges, 2);
    is_edge(0, c, HS_EDGE_EXACT);
    is_edge(1, reference, HS_EDGE_EXACT);
    scanned(reference);
    assert_int_equal(scan.n_edges, 1);
    is_edge(0, d, HS_EDGE_WEAK);
    scanned(c);
    is_edge(0, plain, HS_EDGE_EXACT);
    assert_int_equal(scanned(d), 0);
    assert_int_equal(scanned(b), HS_BLOCK_UNSURE);
    assert_int_equal(scan.n_edges, 0);
}

static void garbage_is_unsure(void **state)
{
    hs_addr a = object(TRACKED), b = object(TRACKED), text = world_block(w, 64);
    hs_addr live = object(TRACKED), lost = world_block(w, 64), below = world_block(w, 64);
    *world_word(w, a + 32) = b;
    *world_word(w, b + 32) = a;
    *world_word(w, b + 40) = text;
    *world_word(w, text) = live;
    *world_word(w, lost) = below;
    memcpy((uint8_t *)w->heap + (live - WORLD_HEAP) + 33, &a, sizeof a); /* odd places */
    memcpy((uint8_t *)w->heap + (live - WORLD_HEAP) + 49, &lost, sizeof lost);
    world_root(w, live, HS_EDGE_EXACT);
    run();
    assert_int_equal(scan.n_unreached, 2);
    assert_int_equal(scanned(a), HS_BLOCK_UNSURE);
    assert_int_equal(scanned(b), HS_BLOCK_UNSURE);
    assert_int_equal(scan.n_edges, 2);
    assert_int_equal(scanned(text), HS_BLOCK_UNSURE);
    assert_int_equal(scanned(lost), 0);
    assert_int_equal(scanned(below), 0);
    assert_int_equal(scanned(live), 0);
    assert_int_equal(scan.n_edges, 1); /* what looks like a pointer to garbage is none */
    is_edge(0, lost, HS_EDGE_GUESSED);
}

static hs_addr counted(uint64_t kind, uint64_t n_references)
{
    hs_addr made = object(kind);
    *world_word(w, made + AT_TYPE - 8) = n_references;
    return made;
}

static void missing_references_are_a_leak(void **state)
{
    hs_addr alone = counted(TRACKED, 1), text = world_block(w, 64);
    hs_addr a = counted(TRACKED, 1), b = counted(TRACKED, 1);
    hs_addr kept = counted(TRACKED, 2), below = counted(TRACKED, 1);
    hs_addr weak = counted(REFERENCE, 0), seen = counted(TRACKED, 1);
    hs_addr holder = world_block(w, 64), held = counted(TRACKED, 1);
    hs_addr live = object(TRACKED);
    *world_word(w, alone + 32) = text;
    *world_word(w, a + 32) = b; /* a cycle as the collector will find it */
    *world_word(w, b + 32) = a;
    *world_word(w, a + 40) = alone; /* which does not free what somebody else refers to, too */
    *world_word(w, alone + AT_TYPE - 8) = 2;
    *world_word(w, kept + 32) = below; /* and one that somebody refers to */
    *world_word(w, below + 32) = kept;
    *world_word(w, weak + 32) = seen;
    *world_word(w, holder) = held;
    world_root(w, live, HS_EDGE_EXACT);
    run();
    assert_int_equal(scanned(alone), 0);
    assert_int_equal(scanned(text), 0);
    assert_int_equal(scanned(a), HS_BLOCK_UNSURE);
    assert_int_equal(scanned(b), HS_BLOCK_UNSURE);
    assert_int_equal(scanned(kept), 0);
    assert_int_equal(scanned(below), 0);
    assert_int_equal(scanned(seen), 0);
    assert_int_equal(scanned(weak), HS_BLOCK_UNSURE);
    assert_int_equal(scanned(held), HS_BLOCK_UNSURE);
    assert_int_equal(scanned(holder), 0);
}

/* With no room to count, nothing is a leak for certain, and the snapshot says so. */
static void what_cannot_be_counted_is_said(void **state)
{
    (void)state;
    struct hs_budget budget;
    hs_addr alone = counted(TRACKED, 1);
    hs_budget_init(1, NULL, 1, &budget);
    world_root(w, object(TRACKED), HS_EDGE_EXACT);
    w->dump.plan = (struct hs_dump_plan){.budget = &budget, .image = &w->dump.image};
    run();
    w->dump.plan = (struct hs_dump_plan){0};
    assert_int_equal(scanned(alone), HS_BLOCK_UNSURE);
    assert_int_equal(w->dump.findings.n_notes, 1);
    assert_true(w->dump.findings.notes[0].is_gap);
    assert_non_null(strstr(hs_strtab_get(&w->dump.strings, w->dump.findings.notes[0].text),
                           "no room to count references"));
}

static void characters_lead_nowhere(void **state)
{
    hs_addr text = object(TEXT), a = object(OBJECT), b = object(OBJECT);
    *world_word(w, text + 32) = a;
    *world_word(w, text + 40) = b;
    memcpy((uint8_t *)w->heap + (text - WORLD_HEAP) + 51, &b, sizeof b);
    world_root(w, text, HS_EDGE_EXACT);
    run();
    assert_true(is_reached(a));
    assert_false(is_reached(b));
    scanned(text);
    assert_int_equal(scan.n_edges, 1);
    is_edge(0, a, HS_EDGE_EXACT);
}

static void without_python_nothing_is_masked(void **state)
{
    hs_addr a = object(TRACKED), b = object(TRACKED);
    link_objects(a, b);
    world_root(w, a, HS_EDGE_EXACT);
    memset(w->dump.heaps.states, 0, sizeof w->dump.heaps.states);
    run();
    assert_true(is_reached(b));
    assert_int_equal(scanned(b), 0);
    assert_int_equal(scan.n_edges, 1);
}

static void parts_are_named(void **state)
{
    hs_addr list = object(LIST), other = object(LIST), items = world_block(w, 64);
    hs_addr shared = object(OBJECT);
    *world_word(w, list + 32) = items;
    *world_word(w, other + 32) = items + 8; /* the first that says it */
    *world_word(w, list + 40) = shared;     /* an object by itself */
    *world_word(w, other + 40) = other + 56;
    run();
    assert_string_equal(world_type_of(w, &flow, items), "list items");
    assert_string_equal(world_type_of(w, &flow, list), "object");
    assert_string_equal(world_type_of(w, &flow, other), "object");
    assert_string_equal(world_type_of(w, &flow, shared), "object");
    assert_int_equal(flow.n_by_interpreter, 3);
    assert_int_equal(flow.n_typed, 4);
}

/* holder > item > { data > deep, node > more }; memory of C and an object lead to some of them. */
static struct {
    hs_addr holder, item, data, deep, node, more, memory, stray, own, other;
} chain;

static void make_chain(void)
{
    enum { NODE = 1 };
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 32);
    world_slot(NODE, "to", 0, 0);
    chain.holder = object(OBJECT);
    chain.item = object(OBJECT);
    chain.data = world_block(w, 64);
    chain.deep = world_block(w, 64);
    chain.node = world_block(w, 32);
    chain.more = world_block(w, 64);
    chain.memory = world_block(w, 64);
    chain.stray = world_block(w, 32);
    chain.own = world_block(w, 64);
    chain.other = object(OBJECT);
    *world_word(w, chain.holder + 32) = chain.item;
    *world_word(w, chain.item + 32) = chain.data;
    *world_word(w, chain.item + 40) = chain.node;
    *world_word(w, chain.data) = chain.deep;
    *world_word(w, chain.node) = chain.more;
    const hs_addr words[] = {chain.item, chain.data, chain.node, 0,
                             chain.more, chain.own,  chain.deep};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *world_word(w, chain.memory + i * 8) = words[i];
    *world_word(w, chain.stray) = chain.data;
    *world_word(w, chain.other + 32) = chain.item;
    world_seed(w, chain.node, NODE);
    world_seed(w, chain.stray, NODE);
    world_root(w, chain.holder, HS_EDGE_EXACT);
    world_root(w, chain.memory, HS_EDGE_EXACT);
}

static void names_keep_what_they_reach(void **state)
{
    make_chain();
    w->native.is_interpreter = true;
    name_first_block();
    run();
    scanned(chain.memory);
    assert_int_equal(scan.n_edges, 6);
    is_edge(0, chain.item, HS_EDGE_GUESSED);
    is_edge(1, chain.data, HS_EDGE_GUESSED);
    is_edge(2, chain.node, HS_EDGE_GUESSED);
    is_edge(3, chain.more, HS_EDGE_GUESSED);
    is_edge(4, chain.own, HS_EDGE_EXACT);  /* what no name reaches */
    is_edge(5, chain.deep, HS_EDGE_EXACT); /* nor through what is known */
    scanned(chain.stray);                  /* of known type, but no name reaches it */
    is_edge(0, chain.data, HS_EDGE_GUESSED);
    scanned(chain.other); /* objects hold what they refer to wherever they are */
    is_edge(0, chain.item, HS_EDGE_EXACT);
    scanned(chain.holder);
    is_edge(0, chain.item, HS_EDGE_EXACT);
    scanned(chain.item);
    is_edge(0, chain.data, HS_EDGE_EXACT);
    is_edge(1, chain.node, HS_EDGE_EXACT);
    scanned(chain.node);
    is_edge(0, chain.more, HS_EDGE_EXACT);
}

/* In a program that has an interpreter in itself, or without names, memory of C is as good. */
static void names_of_others_keep_nothing_more(void **state)
{
    make_chain();
    name_first_block();
    run();
    assert_int_equal(scan.below_names.n_bits, 0);
    scanned(chain.memory);
    is_edge(0, chain.item, HS_EDGE_EXACT);
    is_edge(3, chain.more, HS_EDGE_EXACT);
    hs_scan_close(&scan);
    w->native.is_interpreter = true;
    hs_bitmap_fini(&named);
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    WORLD_OK(hs_scan_mark_below_names(&scan, &world_err));
    assert_int_equal(scan.below_names.n_bits, 0);
}

/* The tier of a root of this kind that leads to `word`. */
static unsigned tier_of(enum hs_root_kind kind, enum hs_tier tier, uint64_t word)
{
    struct hs_root_leaf leaf = {
        .root = {.kind = (uint8_t)kind, .tier = (uint8_t)tier, .address = WORLD_STATIC + 64}};
    WORLD_OK(hs_native_add_word(&w->native, word, &leaf, 0, &world_err));
    return w->native.roots.leaves[w->native.roots.n_leaves - 1].root.tier;
}

/* A word of a binary's table that leads into an object, not to its beginning, is a number. */
static void addresses_inside_are_doubtful(void **state)
{
    hs_addr a = object(OBJECT), plain = world_block(w, 64);
    world_seal(w);
    assert_int_equal(tier_of(HS_ROOT_GLOBAL, HS_TIER_FIRM, a), HS_TIER_FIRM);
    assert_int_equal(tier_of(HS_ROOT_GLOBAL, HS_TIER_FIRM, a + 16), HS_TIER_FIRM);
    assert_int_equal(tier_of(HS_ROOT_GLOBAL, HS_TIER_FIRM, a + 17), HS_TIER_DOUBTFUL);
    assert_int_equal(tier_of(HS_ROOT_GLOBAL, HS_TIER_RUNTIME, a + 40), HS_TIER_DOUBTFUL);
    assert_int_equal(w->native.roots.leaves[w->native.roots.n_leaves - 1].root.reason,
                     HS_REASON_PYTHON_PART);
    assert_int_equal(tier_of(HS_ROOT_GLOBAL, HS_TIER_FIRM, plain + 40), HS_TIER_FIRM);
    assert_int_equal(tier_of(HS_ROOT_TLS, HS_TIER_FIRM, a + 40), HS_TIER_FIRM);
}

static void every_allocation_fails(void **state)
{
    hs_addr a = object(TRACKED);
    w->native.is_interpreter = true;
    name_first_block();
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    FAIL_EACH (each, .at_least = 6) {
        fail_each_begin(&each);
        hs_status status = hs_scan_begin(&scan, &w->native, &flow, &world_err);
        if (status == HS_OK)
            status = hs_scan_mark_roots(&scan, &world_err);
        if (status == HS_OK)
            status = hs_scan_mark_below_names(&scan, &world_err);
        if (status == HS_OK)
            status = hs_garbage_mark(&scan, &world_err);
        if (status == HS_OK)
            status = hs_scan_end(&scan, &world_err);
        if (fail_each_end(&each, status) != HS_OK)
            hs_scan_close(&scan);
    }
    assert_int_equal(scanned(a), HS_BLOCK_UNSURE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(links_own_nothing),
        TEST(garbage_is_unsure),
        TEST(characters_lead_nowhere),
        TEST(without_python_nothing_is_masked),
        TEST(parts_are_named),
        TEST(every_allocation_fails),
        TEST(addresses_inside_are_doubtful),
        TEST(missing_references_are_a_leak),
        TEST(what_cannot_be_counted_is_said),
        TEST(names_keep_what_they_reach),
        TEST(names_of_others_keep_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
