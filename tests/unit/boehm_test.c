/* links: hs_heaps hs_process hs_base */
/* The reader of Boehm's collector, on a sound heap and on damaged ones: six pages of small objects
 * with and without pointers, a large one and free memory. */
#include "unit.h"

#include "fail_each.h"
#include "heaps/allocator.h"

#define DATA UINT64_C(0x550000000000)
#define OWN UINT64_C(0x7f3100000000)
#define HEAP UINT64_C(0x7f3000000000)
#define TOP (DATA + 0x1000)
#define LISTS (DATA + 0x6000)
#define BOTTOM (OWN + 0x3000)
#define HEADER(n) (OWN + 0x6000 + (n) * (hs_addr)HEADER_BYTES)
#define OBJECT(n) (HEAP + (n) * (hs_addr)SMALL)

enum {
    PAGE = 4096,
    HEADER_BYTES = 336,
    KEY = 8208, /* in a bottom index */
    SMALL = 48, /* the size of the first page's objects, of which two are free */
    ATOMIC = 112,
    LARGE = 8000,
    N_MAPPINGS = 3,
};

static uint8_t data[8 * PAGE] __attribute__((aligned(8)));
static uint8_t own[8 * PAGE] __attribute__((aligned(8)));
static uint8_t heap[6 * PAGE] __attribute__((aligned(8)));
static const struct area {
    hs_addr begin;
    uint8_t *bytes;
    size_t n_bytes;
} areas[N_MAPPINGS] = {
    {DATA, data, sizeof data}, {HEAP, heap, sizeof heap}, {OWN, own, sizeof own}};

static struct hs_mapping mappings[N_MAPPINGS];
static struct hs_target target;
static struct hs_object object;
static struct hs_objects objects;
static struct hs_image image;
static struct hs_strtab strings;
static struct hs_findings findings;
static struct hs_process_copy process;
static struct hs_heaps heaps;
static struct hs_error err = HS_ERROR_INIT;

static uint8_t *byte_at(hs_addr at)
{
    for (size_t i = 0; i < N_MAPPINGS; i++)
        if (at - areas[i].begin < areas[i].n_bytes)
            return areas[i].bytes + (at - areas[i].begin);
    fail_msg("no such address");
    return NULL;
}

static void put(hs_addr at, uint64_t word)
{
    memcpy(byte_at(at), &word, sizeof word);
}

/* Makes a header, with all marks of its objects and the one behind them, as bytes. */
static void make_header(unsigned n, unsigned page, unsigned n_bytes, bool is_atomic)
{
    const hs_addr header = HEADER(n), block = HEAP + page * (hs_addr)PAGE;
    const unsigned last = n_bytes > PAGE / 2 ? 256 : PAGE / n_bytes * n_bytes / 16;

    put(BOTTOM + page * 8, header);
    put(header + 16, block);
    put(header + 32, n_bytes);
    put(header + 40, is_atomic ? 0 : n_bytes);
    for (unsigned i = 0; i <= last; i += n_bytes > PAGE / 2 ? 256 : n_bytes / 16)
        *byte_at(header + 64 + i) = 1;
}

static void make(void)
{
    for (size_t i = 0; i < N_MAPPINGS; i++)
        memset(areas[i].bytes, areas[i].bytes == heap ? 0x55 : 0, areas[i].n_bytes);
    for (unsigned i = 0; i < 2048; i++)
        put(TOP + i * 8, OWN);
    put(TOP + (HEAP >> 22) % 2048 * 8, BOTTOM);
    put(BOTTOM + KEY, HEAP >> 22);
    put(BOTTOM + KEY + 8, OWN);
    make_header(0, 0, SMALL, false);
    make_header(1, 1, ATOMIC, true);
    make_header(2, 2, LARGE, false);
    put(BOTTOM + 3 * 8, 1); /* the block begins a page before */
    put(BOTTOM + 4 * 8, HEADER(3));
    *byte_at(HEADER(3) + 25) = 4; /* free, and never in use: it does not say which block it is of */
    put(HEADER(3) + 32, 2 * PAGE);
    put(LISTS + 3 * 8, OBJECT(3));
    memset(byte_at(OBJECT(3)), 0, SMALL);
    memset(byte_at(OBJECT(5)), 0, SMALL);
    put(OBJECT(3), OBJECT(5));
}

static void close_all(void)
{
    hs_heaps_close(&heaps);
    hs_findings_fini(&findings);
    hs_strtab_fini(&strings);
    hs_image_fini(&image);
}

static hs_status read_all(void)
{
    void **state = &heaps.states[HS_OWNER_boehm];
    uint64_t n_refused;

    for (size_t i = 0; i < N_MAPPINGS; i++)
        mappings[i] = (struct hs_mapping){.begin = areas[i].begin,
                                          .end = areas[i].begin + areas[i].n_bytes,
                                          .readable = true,
                                          .writable = true};
    target = (struct hs_target){
        .pid = 1, .mappings = mappings, .n_mappings = N_MAPPINGS, .path_text = (char *)""};
    object = (struct hs_object){.begin = DATA, .end = DATA + sizeof data, .name = (char *)"libgc"};
    objects = (struct hs_objects){.objects = &object, .n = 1};
    findings = (struct hs_findings){.strings = &strings};
    process = (struct hs_process_copy){&target, &image, &objects, &findings, NULL, NULL};
    for (size_t i = 0; i < N_MAPPINGS; i++)
        HS_TRY(hs_image_add(&image, areas[i].begin, areas[i].bytes, areas[i].n_bytes, &err));
    hs_heap_map_init(&heaps.map, &image);
    hs_ledger_init(&heaps.ledger, &strings, &image);
    HS_TRY(hs_allocator_boehm.open(&process, state, &err));
    if (*state != NULL)
        HS_TRY(hs_allocator_boehm.add_spans(*state, &heaps.map, &heaps.ledger, &err));
    hs_ledger_seal(&heaps.ledger);
    HS_TRY(hs_heap_map_seal(&heaps.map, &n_refused, &err));
    if (*state != NULL)
        HS_TRY(hs_allocator_boehm.mark(*state, &heaps.map, &heaps.ledger, &err));
    return hs_heap_map_index(&heaps.map, &err);
}

static int set_up(void **state)
{
    make();
    return 0;
}

static int tear_down(void **state)
{
    close_all();
    return 0;
}

static bool holds(const char *what)
{
    for (size_t i = 0; i < findings.n_proofs; i++)
        if (strstr(hs_strtab_get(&strings, findings.proofs[i].what), what) != NULL)
            return findings.proofs[i].holds;
    fail_msg("no proof of %s", what);
    return false;
}

#define HEADERS "blocks that their headers"
#define ENDS "lists of free objects"

static void reads_objects(void **state)
{
    struct hs_heap_block block;

    assert_int_equal(read_all(), HS_OK);
    assert_non_null(heaps.states[HS_OWNER_boehm]);
    assert_int_equal(heaps.map.n_blocks, PAGE / SMALL - 2 + PAGE / ATOMIC + 1);
    for (unsigned i = 0; i < PAGE / SMALL; i++)
        assert_int_equal(hs_heap_map_is_set(&heaps.map, OBJECT(i)), i != 3 && i != 5);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, HEAP + 2 * PAGE + 5000, &block),
                     HS_POINTER_INTERIOR);
    assert_int_equal(block.n_bytes, LARGE);
    assert_int_equal(block.span->states, HS_BLOCK_UNSURE);
    assert_int_equal(hs_heaps_finds(&heaps, &block), 0);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, HEAP + PAGE + ATOMIC, &block),
                     HS_POINTER_START);
    assert_true(hs_heaps_finds(&heaps, &block) == UINT64_MAX);
    assert_true(holds(HEADERS) && holds(ENDS));
    assert_int_equal(findings.n_torn, 0);
}

/* Marks are bits where the collector marks with one thread. */
static void reads_bits(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        memset(byte_at(HEADER(i) + 64), 0, 257);
        memset(byte_at(HEADER(i) + 64), 0xff, 40);
    }
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(heaps.map.n_blocks, PAGE / SMALL - 2 + PAGE / ATOMIC + 1);
}

static void is_none(void)
{
    assert_int_equal(read_all(), HS_OK);
    assert_null(heaps.states[HS_OWNER_boehm]);
    assert_int_equal(findings.n_proofs, 0);
    close_all();
    make();
}

static void tables_that_are_none(void **state)
{
    put(OWN + 8, 1); /* what empty words lead to is not empty */
    is_none();
    put(BOTTOM + KEY, (HEAP >> 22) + 1); /* it would stand at the next word */
    is_none();
    put(TOP + 8, OWN + 1);
    is_none();
    put(TOP + (HEAP >> 22) % 2048 * 8, OWN); /* no bottom index */
    is_none();
    for (unsigned i = 0; i < 3; i++)
        memset(byte_at(HEADER(i) + 64), 0, 264); /* no marks: of another version */
    is_none();
}

static void headers_that_are_none(void **state)
{
    static const struct {
        unsigned at;
        uint64_t word;
    } damage[] = {{16, HEAP}, {16, 0}, {32, 0}, {32, 49}, {32, HS_USER_END}, {32, UINT64_MAX - 15}};

    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        put(HEADER(1) + damage[i].at, damage[i].word);
        assert_int_equal(read_all(), HS_OK);
        assert_int_equal(heaps.map.n_blocks, PAGE / SMALL - 2 + 1);
        assert_int_equal(findings.n_torn, 1);
        assert_false(holds(HEADERS));
        close_all();
        make();
    }
}

static void blocks_that_overlap(void **state)
{
    put(HEADER(2) + 32, 3 * PAGE); /* into the free memory behind it */
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(findings.n_torn, 1);
    assert_int_equal(heaps.map.n_blocks, PAGE / SMALL - 2 + PAGE / ATOMIC + 1);
}

/* Pages that share a header of free memory are no more than the copy has room for headers. */
static void headers_that_are_shared(void **state)
{
    put(HEADER(3) + 32, PAGE);
    for (unsigned page = 4; page < 1024; page++)
        put(BOTTOM + page * 8, HEADER(3));
    assert_int_equal(read_all(), HS_OK);
    assert_true(findings.n_torn > 100);
    assert_int_equal(heaps.map.n_blocks, PAGE / SMALL - 2 + PAGE / ATOMIC + 1);
}

static void chains_without_end(void **state)
{
    put(BOTTOM + KEY + 8, BOTTOM);
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(findings.n_torn, 1);
    assert_int_equal(heaps.map.n_blocks, PAGE / SMALL - 2 + PAGE / ATOMIC + 1);
}

static void lists_that_do_not_end(void **state)
{
    put(OBJECT(5), OBJECT(3));
    assert_int_equal(read_all(), HS_OK);
    assert_false(holds(ENDS));
    assert_false(hs_heap_map_is_set(&heaps.map, OBJECT(5)));
}

/* A variable that leads to an object is the head of no list: beside it stand other addresses. */
static void variables_that_are_no_heads(void **state)
{
    put(LISTS + 4 * 8, OBJECT(7));
    assert_int_equal(read_all(), HS_OK);
    assert_true(hs_heap_map_is_set(&heaps.map, OBJECT(3)));
    assert_true(hs_heap_map_is_set(&heaps.map, OBJECT(7)));
}

/* Damages a word of its tables, again and again: what is read stays in the heap. */
static void survives_damage(void **state)
{
    const uint64_t words[] = {
        0, 1, 4095, HEAP, HEAP + 1, OWN, BOTTOM, HEADER(1), HS_USER_END - 8, UINT64_MAX};
    uint32_t seed = 7;

    for (unsigned round = 0; round < 2000; round++) {
        for (unsigned i = 0; i <= round % 3; i++) {
            seed = seed * 1664525 + 1013904223;
            const hs_addr begin = (seed >> 8) % 4 == 0 ? TOP : OWN;
            put(begin + (seed >> 10) % 3500 * 8, words[(seed >> 4) % 10]);
        }
        assert_int_equal(read_all(), HS_OK);
        for (size_t i = 0; i < heaps.map.n_spans; i++)
            assert_true(heaps.map.spans[i].owner == HS_OWNER_boehm);
        close_all();
        if (round % 8 == 0)
            make();
    }
}

static void survives_without_memory(void **state)
{
    FAIL_EACH (f, .mode = FAIL_BOTH, .at_least = 5) {
        (void)FAIL_EACH_TRY(f, read_all());
        close_all();
    }
}

#define BOEHM_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOEHM_TEST(reads_objects),
        BOEHM_TEST(reads_bits),
        BOEHM_TEST(tables_that_are_none),
        BOEHM_TEST(headers_that_are_none),
        BOEHM_TEST(blocks_that_overlap),
        BOEHM_TEST(chains_without_end),
        BOEHM_TEST(headers_that_are_shared),
        BOEHM_TEST(lists_that_do_not_end),
        BOEHM_TEST(variables_that_are_no_heads),
        BOEHM_TEST(survives_damage),
        BOEHM_TEST(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
