/* links: hs_report hs_heaps hs_process hs_symbols hs_base */
/* The reader of APR's pools, on sound processes and on damaged ones. */
#include "unit.h"

#include "fail_each.h"
#include "fake_apr.h"
#include "fake_malloc_allocator.h"
#include "hostile_text.h"

enum { REF = 8, INDEX = 16, FIRST_AVAIL = 24, NODE_END = 32 };                /* apr_memnode_t */
enum { CHILD = 8, SIBLING = 16, POOL_REF = 24, SELF = 96, SELF_FIRST = 104 }; /* apr_pool_t */

static struct fake_apr fake;
static struct hs_heaps heaps;
static struct hs_error err = HS_ERROR_INIT;

static int set_up(void **state)
{
    fake_apr_make(&fake, 120);
    return 0;
}

static int tear_down(void **state)
{
    hs_heaps_close(&heaps);
    fake_apr_close(&fake);
    return 0;
}

/* Another one, in the place of one that may have been read. */
static void make_again(unsigned object_bytes)
{
    hs_heaps_close(&heaps);
    fake_apr_close(&fake);
    fake_apr_make(&fake, object_bytes);
}

static void read_fake(void)
{
    hs_heaps_close(&heaps);
    assert_int_equal(fake_apr_read(&fake, &heaps, &err), HS_OK);
}

/* ---- what is found */

static bool is_at(hs_addr begin, struct hs_heap_block *ret)
{
    return hs_heap_map_resolve(&heaps.map, begin, ret) == HS_POINTER_START &&
           ret->span->owner == HS_OWNER_apr;
}

static struct hs_heap_block block_at(hs_addr begin)
{
    struct hs_heap_block block;
    assert_true(is_at(begin, &block));
    return block;
}

static hs_addr owner_at(hs_addr begin)
{
    const struct hs_heap_block block = block_at(begin);
    return hs_heaps_owner(&heaps, &block);
}

static hs_addr at(uint32_t pool)
{
    return fake.pools[pool].at;
}

/* Its object is there, and all it gave out, by that name; the pool's object is `name`. */
static void is_read(uint32_t number, const char *name, const char *node_name)
{
    struct hs_heap_block block = block_at(at(number));
    struct hs_object_name said;

    assert_int_equal(block.n_bytes, fake.object_bytes);
    assert_true(hs_heaps_object_name(&heaps, &block, &said));
    assert_string_equal(hs_strtab_get(&fake.strings, said.name), name);
    for (uint32_t i = 0; i < fake.n_nodes; i++) {
        const struct fake_apr_node *node = &fake.nodes[i];
        if (node->pool != number || node->first == node->used)
            continue;
        block = block_at(node->first);
        assert_int_equal(block.n_bytes, node->used - node->first);
        assert_int_equal(hs_heaps_owner(&heaps, &block), at(number));
        assert_false(hs_heaps_object_name(&heaps, &block, &said));
        assert_string_equal(hs_strtab_get(&fake.strings, hs_heaps_pool_name(&heaps, block.span)),
                            node_name);
    }
}

/* All it says it owns says so, too. How many that is. */
static size_t n_owned(uint32_t number)
{
    const struct hs_heap_block owner = block_at(at(number));
    uint64_t cursor = 0;
    hs_addr begin, end;
    size_t n = 0;

    while (hs_heaps_owned(&heaps, &owner, &cursor, &begin, &end)) {
        if (begin < end)
            assert_int_equal(owner_at(begin), owner.begin);
        n++;
    }
    return n;
}

static uint64_t bytes_of(const char *owner, enum hs_memory_state state)
{
    for (size_t i = 0; i < heaps.ledger.n_rows; i++)
        if (heaps.ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&fake.strings, heaps.ledger.rows[i].owner), owner) == 0)
            return heaps.ledger.rows[i].n_bytes;
    return 0;
}

static void is_accounted_for(void)
{
    uint64_t n_resident, live = 0, unused = 0, waiting = 0;

    for (uint32_t i = 0; i < fake.n_nodes; i++) {
        const struct fake_apr_node *node = &fake.nodes[i];
        live += node->pool == FAKE_APR_NONE ? 0 : node->used - node->first;
        unused += node->pool == FAKE_APR_NONE ? 0 : node->end - node->used;
        waiting += node->pool == FAKE_APR_NONE ? node->end - node->begin : 0;
    }
    live += (uint64_t)fake.n_pools * fake.object_bytes;
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(bytes_of("apr", HS_MEMORY_LIVE), live);
    assert_int_equal(bytes_of("apr", HS_MEMORY_FREE), unused);
    assert_int_equal(bytes_of("apr", HS_MEMORY_CACHED), waiting);
    uint64_t headers = 0;
    for (uint32_t i = 0; i < fake.n_nodes; i++)
        headers += fake.nodes[i].pool == FAKE_APR_NONE ? 0 : FAKE_APR_HEADER;
    assert_int_equal(bytes_of("apr", HS_MEMORY_INTERNAL), headers);
    assert_int_equal(bytes_of("glibc", HS_MEMORY_LIVE),
                     fake.is_from_malloc ? fake.n_nodes * FAKE_MALLOC_SPARE : 0);
}

static void all_is_read(void)
{
    is_read(FAKE_APR_GLOBAL, "apr_pool_t apr_global_pool", "node of apr_global_pool");
    is_read(FAKE_APR_CONF, "apr_pool_t pconf", "node of pconf");
    is_read(FAKE_APR_PLAIN, "apr_pool_t below pconf", "node below pconf");
    is_read(FAKE_APR_UNDER, "apr_pool_t below pconf", "node below pconf");
    is_read(FAKE_APR_TRANS, "apr_pool_t ptrans", "node of ptrans");
    assert_int_equal(owner_at(at(FAKE_APR_GLOBAL)), FAKE_APR_VARIABLE);
    assert_int_equal(owner_at(at(FAKE_APR_CONF)), at(FAKE_APR_GLOBAL));
    assert_int_equal(owner_at(at(FAKE_APR_PLAIN)), at(FAKE_APR_CONF));
    assert_int_equal(owner_at(at(FAKE_APR_UNDER)), at(FAKE_APR_PLAIN));
    assert_int_equal(owner_at(at(FAKE_APR_TRANS)), at(FAKE_APR_GLOBAL));
    assert_int_equal(n_owned(FAKE_APR_GLOBAL), 1 + 2);
    assert_int_equal(n_owned(FAKE_APR_CONF), 4 + 1);
    assert_int_equal(n_owned(FAKE_APR_TRANS), 1);
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(fake.findings.n_notes, 0);
    assert_true(fake.findings.proofs[fake.findings.n_proofs - 1].holds);
    is_accounted_for();
}

static void reads_pools_of_all_releases(void **state)
{
    for (unsigned object_bytes = 112; object_bytes <= 136; object_bytes += 8) {
        make_again(object_bytes);
        read_fake();
        all_is_read();
    }
}

static void nodes_may_be_blocks_of_malloc(void **state)
{
    fake.is_from_malloc = true;
    read_fake();
    all_is_read();
}

static void the_variable_has_a_name(void **state)
{
    read_fake();
    const struct hs_known_variable known =
        hs_heaps_known_variable(&heaps, FAKE_APR_BASE, FAKE_APR_NODES);
    assert_string_equal(known.name, "global_pool");
    assert_int_equal(known.address, FAKE_APR_VARIABLE);
    assert_null(hs_heaps_known_variable(&heaps, FAKE_APR_BASE, FAKE_APR_VARIABLE).name);
    assert_null(hs_heaps_known_variable(&heaps, FAKE_APR_VARIABLE + 8, FAKE_APR_NODES).name);
}

static void nobody_has_a_tag(void **state)
{
    fake_apr_begin(&fake, 120);
    hs_addr allocator = fake_apr_allocator(&fake);
    (void)fake_apr_pool(&fake, FAKE_APR_NONE, allocator, NULL);
    (void)fake_apr_pool(&fake, 0, allocator, NULL);
    fake_apr_give(&fake, 1, 64);
    read_fake();
    is_read(0, "apr_pool_t (untagged)", "node of apr_pool_t");
    is_read(1, "apr_pool_t (untagged)", "node of apr_pool_t");
}

/* What a program made up itself may be anybody's data. */
static void a_tag_that_was_made(void **state)
{
    enum { TAG = 80 };
    const hs_addr made = fake.nodes[fake.n_nodes - 1].first;

    *fake_apr_word(&fake, made) = UINT64_C(0x74657263657300) >> 8; /* "secret" */
    *fake_apr_word(&fake, at(FAKE_APR_CONF) + TAG) = made;
    read_fake();
    is_read(FAKE_APR_CONF, "apr_pool_t below apr_global_pool", "node below apr_global_pool");
}

/* A binary may bring along what it likes: it is kept as it stands, and printed so that nothing of
 * it is taken for a terminal's. What is longer than a tag is none. */
static void a_tag_that_is_hostile(void **state)
{
    char text[100];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    fake_apr_begin(&fake, 120);
    hs_addr allocator = fake_apr_allocator(&fake);
    (void)fake_apr_pool(&fake, FAKE_APR_NONE, allocator, HOSTILE_TEXT);
    (void)fake_apr_pool(&fake, 0, allocator, text);
    fake_apr_give(&fake, 0, 64);
    fake_apr_give(&fake, 1, 64);
    read_fake();
    is_read(0, "apr_pool_t " HOSTILE_TEXT, "node of " HOSTILE_TEXT);
    is_read(1, "apr_pool_t below " HOSTILE_TEXT, "node below " HOSTILE_TEXT);
    is_printed_harmlessly("apr_pool_t " HOSTILE_TEXT);
    is_printed_harmlessly("node below " HOSTILE_TEXT);
}

/* ---- damage */

static void put(hs_addr where, uint64_t word)
{
    *fake_apr_word(&fake, where) = word;
}

static hs_addr node_of(uint32_t pool)
{
    return at(pool) - FAKE_APR_HEADER;
}

/* Nothing is believed; is it told why? */
static void is_none(bool is_told)
{
    struct hs_heap_block block;

    read_fake();
    assert_null(heaps.states[HS_OWNER_apr]);
    for (uint32_t i = 0; i < fake.n_pools; i++)
        assert_false(is_at(at(i), &block));
    assert_int_equal(fake.findings.n_notes, is_told);
}

/* One pool is not read, and is counted. Those below it hang on the one above. */
static void is_torn(uint32_t number)
{
    struct hs_heap_block block;

    read_fake();
    for (uint32_t i = 0; i < fake.n_pools; i++)
        assert_int_equal(is_at(at(i), &block), i != number);
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(fake.findings.n_notes, 1);
    assert_false(fake.findings.proofs[fake.findings.n_proofs - 1].holds);
    if (number == FAKE_APR_PLAIN) {
        assert_int_equal(owner_at(at(FAKE_APR_UNDER)), at(FAKE_APR_CONF));
        assert_int_equal(n_owned(FAKE_APR_CONF), 4 + 1);
    }
}

static void not_in_use_yet(void **state)
{
    put(FAKE_APR_VARIABLE, 0);
    is_none(false);
}

static void the_first_pool_is_damaged(void **state)
{
    put(node_of(FAKE_APR_GLOBAL), 0); /* its ring is open */
    is_none(true);
    assert_int_equal(fake.findings.n_torn, 1); /* so that another moment is tried */
    make_again(120);
    put(at(FAKE_APR_GLOBAL) + SELF, node_of(FAKE_APR_CONF)); /* it is no pool at all */
    is_none(false);
    make_again(120);
    put(at(FAKE_APR_GLOBAL) + SELF_FIRST, at(FAKE_APR_GLOBAL) + 104);
    is_none(false);
}

static void rings_that_do_not_close(void **state)
{
    static const hs_addr places[] = {0, REF, NODE_END, FIRST_AVAIL};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        make_again(120);
        put(node_of(FAKE_APR_PLAIN) + places[i], node_of(FAKE_APR_PLAIN) + 16);
        if (places[i] == NODE_END) { /* so it is no pool: what is below it is not met */
            read_fake();
            assert_int_equal(fake.findings.n_torn, 1);
            assert_int_equal(n_owned(FAKE_APR_CONF), 4);
            continue;
        }
        is_torn(FAKE_APR_PLAIN);
    }
}

/* Into the middle of another one's ring. */
static void a_ring_that_leads_elsewhere(void **state)
{
    put(node_of(FAKE_APR_TRANS), node_of(FAKE_APR_CONF));
    is_torn(FAKE_APR_TRANS);
}

static void a_child_that_is_its_parent(void **state)
{
    put(at(FAKE_APR_UNDER) + CHILD, at(FAKE_APR_CONF));
    read_fake();
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(n_owned(FAKE_APR_UNDER), 2);
    make_again(120);
    put(at(FAKE_APR_CONF) + SIBLING, at(FAKE_APR_CONF)); /* and a list that is a circle */
    read_fake();
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(n_owned(FAKE_APR_GLOBAL), 1 + 2);
}

static void nodes_that_overlap(void **state)
{
    uint32_t last = fake.n_nodes - 1;

    put(fake.nodes[last - 1].begin + INDEX, 1); /* of a list: a page more than it has */
    put(fake.nodes[last - 1].begin + NODE_END, fake.nodes[last - 1].end + FAKE_APR_PAGE);
    is_none(true);
}

static void nodes_that_leave_their_mapping(void **state)
{
    put(node_of(FAKE_APR_TRANS) + INDEX, 31);
    put(node_of(FAKE_APR_TRANS) + NODE_END, node_of(FAKE_APR_TRANS) + 32 * FAKE_APR_PAGE);
    read_fake(); /* it is no pool; the one beside it is behind it in the list */
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(n_owned(FAKE_APR_GLOBAL), 1);
}

/* Nothing of it is cached then; the others are. */
static void a_list_that_is_a_circle(void **state)
{
    uint64_t n_resident;
    uint32_t last = fake.n_nodes - 1; /* it leads to the second of own's list 1 */

    put(fake.nodes[last - 2].begin, fake.nodes[last].begin);
    read_fake();
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(bytes_of("apr", HS_MEMORY_CACHED), 3 * FAKE_APR_PAGE);
    is_read(FAKE_APR_TRANS, "apr_pool_t ptrans", "node of ptrans");
}

static void survives_without_memory(void **state)
{
    read_fake(); /* what a binary keeps of its symbols is read now */
    hs_heaps_close(&heaps);
    fake_apr_close(&fake);
    FAIL_EACH (f, .mode = FAIL_BOTH, .at_least = 10) {
        (void)FAIL_EACH_TRY(f, fake_apr_read(&fake, &heaps, &err));
        hs_heaps_close(&heaps);
        fake_apr_close(&fake);
    }
}

#define APR_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        APR_TEST(reads_pools_of_all_releases),
        APR_TEST(nodes_may_be_blocks_of_malloc),
        APR_TEST(the_variable_has_a_name),
        APR_TEST(nobody_has_a_tag),
        APR_TEST(a_tag_that_was_made),
        APR_TEST(a_tag_that_is_hostile),
        APR_TEST(not_in_use_yet),
        APR_TEST(the_first_pool_is_damaged),
        APR_TEST(rings_that_do_not_close),
        APR_TEST(a_ring_that_leads_elsewhere),
        APR_TEST(a_child_that_is_its_parent),
        APR_TEST(nodes_that_overlap),
        APR_TEST(nodes_that_leave_their_mapping),
        APR_TEST(a_list_that_is_a_circle),
        APR_TEST(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
