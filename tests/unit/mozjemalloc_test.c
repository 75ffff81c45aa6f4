/* links: hs_heaps hs_process hs_base */
/* The reader of mozjemalloc, on a sound heap and on damaged ones: a chunk with a run of small
 * blocks and a large one, a block of more than a chunk, and a chunk that is to be used again. */
#include "unit.h"

#include "fail_each.h"
#include "heaps/allocator.h"

#define DATA UINT64_C(0x550000000000)
#define OWN UINT64_C(0x7f3100000000)
#define CHUNK UINT64_C(0x7f3000000000)
#define HUGE_AT (CHUNK + MIB)
#define SPARE (CHUNK + 3 * (hs_addr)MIB)
#define ARENA (OWN + 0x40)
#define BIN (ARENA + 0x300)
#define EXTENTS (OWN + 0x8000)
#define RUN (CHUNK + 3 * (hs_addr)PAGE)
#define LARGE (CHUNK + 4 * (hs_addr)PAGE)
#define BLOCK(n) (RUN + FIRST + (n) * (hs_addr)SMALL)
#define MAP(page) (CHUNK + 32 + (page)*24 + 16)

enum {
    PAGE = 4096,
    MIB = 1 << 20,
    SMALL = 48,
    N_SMALL = 80,
    FIRST = 256,
    N_FREE = 3, /* blocks 5, 6 and 79 */
    N_MAPPINGS = 5,
};

static uint8_t data[PAGE] __attribute__((aligned(8)));
static uint8_t own[16 * PAGE] __attribute__((aligned(8)));
static uint8_t chunk[MIB] __attribute__((aligned(8)));
static uint8_t huge[PAGE] __attribute__((aligned(8)));
static uint8_t spare[2 * PAGE] __attribute__((aligned(8)));
static const struct area {
    hs_addr begin;
    uint8_t *bytes;
    size_t n_bytes;
} areas[N_MAPPINGS] = {{DATA, data, sizeof data},
                       {CHUNK, chunk, sizeof chunk},
                       {HUGE_AT, huge, sizeof huge},
                       {SPARE, spare, sizeof spare},
                       {OWN, own, sizeof own}};

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

static void put_u32(hs_addr at, uint32_t number)
{
    memcpy(byte_at(at), &number, sizeof number);
}

/* Makes the run by the offsets in it that a version has. */
static void make_run(unsigned bin, unsigned n_free, unsigned mask)
{
    memset(byte_at(RUN), 0, FIRST);
    put(RUN + bin, BIN);
    put_u32(RUN + n_free, N_FREE);
    put_u32(RUN + mask, 3 << 5);
    put_u32(RUN + mask + 8, 1 << 15);
}

static void make_extent(unsigned n, hs_addr begin, uint64_t n_bytes, uint64_t of)
{
    put(EXTENTS + n * 64 + 32, begin);
    put(EXTENTS + n * 64 + 40, n_bytes);
    put(EXTENTS + n * 64 + 48, of);
}

static void make(void)
{
    for (size_t i = 0; i < N_MAPPINGS; i++)
        memset(areas[i].bytes, 0, areas[i].n_bytes);
    put(CHUNK, ARENA);
    put(MAP(2), 0x20);
    put(MAP(3), RUN | 1);
    put(MAP(4), 2 * PAGE | 3);
    put(MAP(5), 3);
    put(MAP(6), 249 * PAGE | 0x84);
    for (unsigned i = 7; i < 254; i++)
        put(MAP(i), 0x84);
    put(MAP(254), 249 * PAGE | 0x84);
    put(MAP(255), 0x20);
    put(BIN + 16, SMALL);
    put_u32(BIN + 24, N_SMALL);
    put_u32(BIN + 28, (N_SMALL + 31) / 32);
    put_u32(BIN + 32, FIRST);
    make_run(16, 28, 32);
    put(ARENA + 0x48, MIB);
    put(ARENA + 0x58, (N_SMALL - N_FREE) * SMALL);
    put(ARENA + 0x60, 2 * PAGE);
    memcpy(byte_at(SPARE), byte_at(CHUNK), 2 * PAGE);
    put(SPARE + 32 + 3 * 24 + 16, (SPARE + 3 * PAGE) | 1);
    make_extent(0, HUGE_AT, MIB + PAGE, ARENA);
    put(DATA + 0x100, EXTENTS);
    put(DATA + 0x108, MIB + PAGE);
    make_extent(1, SPARE, MIB, 2);
    put(DATA + 0x200, EXTENTS + 64);
    put(DATA + 0x208, MIB);
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
    void **state = &heaps.states[HS_OWNER_mozjemalloc];
    uint64_t n_refused;

    for (size_t i = 0; i < N_MAPPINGS; i++)
        mappings[i] = (struct hs_mapping){.begin = areas[i].begin,
                                          .end = areas[i].begin + areas[i].n_bytes,
                                          .readable = true,
                                          .writable = true};
    target = (struct hs_target){
        .pid = 1, .mappings = mappings, .n_mappings = N_MAPPINGS, .path_text = (char *)""};
    object = (struct hs_object){.begin = DATA, .end = DATA + sizeof data, .name = (char *)"fox"};
    objects = (struct hs_objects){.objects = &object, .n = 1};
    findings = (struct hs_findings){.strings = &strings};
    process = (struct hs_process_copy){&target, &image, &objects, &findings, NULL, NULL};
    for (size_t i = 0; i < N_MAPPINGS; i++)
        HS_TRY(hs_image_add(&image, areas[i].begin, areas[i].bytes, areas[i].n_bytes, &err));
    hs_heap_map_init(&heaps.map, &image);
    hs_ledger_init(&heaps.ledger, &strings, &image);
    HS_TRY(hs_allocator_mozjemalloc.open(&process, state, &err));
    if (*state != NULL)
        HS_TRY(hs_allocator_mozjemalloc.add_spans(*state, &heaps.map, &heaps.ledger, &err));
    hs_ledger_seal(&heaps.ledger);
    HS_TRY(hs_heap_map_seal(&heaps.map, &n_refused, &err));
    if (*state != NULL)
        HS_TRY(hs_allocator_mozjemalloc.mark(*state, &heaps.map, &heaps.ledger, &err));
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

#define RUNS "runs with as many"
#define ARENAS "arenas with as many"
#define TREES "trees of chunks"

static void reads_blocks(void **state)
{
    struct hs_heap_block block;

    assert_int_equal(read_all(), HS_OK);
    assert_non_null(heaps.states[HS_OWNER_mozjemalloc]);
    assert_int_equal(heaps.map.n_blocks, N_SMALL - N_FREE + 2);
    for (unsigned i = 0; i < N_SMALL; i++)
        assert_int_equal(hs_heap_map_is_set(&heaps.map, BLOCK(i)), i != 5 && i != 6 && i != 79);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, LARGE + 5000, &block), HS_POINTER_INTERIOR);
    assert_int_equal(block.n_bytes, 2 * PAGE);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, HUGE_AT, &block), HS_POINTER_START);
    assert_int_equal(block.n_bytes, MIB + PAGE);
    assert_true(holds(RUNS) && holds(ARENAS) && holds(TREES));
    assert_int_equal(findings.n_torn, 0);
}

static void reads_other_versions(void **state)
{
    static const unsigned layouts[][3] = {{0, 12, 16}, {8, 4, 20}, {24, 4, 36}};

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        make_run(layouts[i][0], layouts[i][1], layouts[i][2]);
        assert_int_equal(read_all(), HS_OK);
        assert_int_equal(heaps.map.n_blocks, N_SMALL - N_FREE + 2);
        assert_true(holds(RUNS) && holds(ARENAS));
        close_all();
        make();
    }
}

static void is_none(void)
{
    assert_int_equal(read_all(), HS_OK);
    assert_null(heaps.states[HS_OWNER_mozjemalloc]);
    assert_int_equal(findings.n_proofs, 0);
    close_all();
    make();
}

/* The chunk that is to be used again has such a map, too, but no run. */
static void chunks_that_are_none(void **state)
{
    put(CHUNK, ARENA + 4);
    is_none();
    put(CHUNK, 0x1234567890);
    is_none();
    put(MAP(0), 1);
    is_none();
    put(MAP(3), (RUN + PAGE) | 1); /* a run that begins elsewhere */
    is_none();
    put(MAP(4), 253 * PAGE | 3); /* a large block beyond the end */
    is_none();
    put(MAP(5), PAGE | 3);
    is_none();
    put(MAP(9), 0x204); /* no such flag */
    is_none();
    put(RUN + 16, OWN - 8); /* no bin */
    is_none();
    put_u32(RUN + 28, N_FREE + 1);
    is_none();
    put_u32(BIN + 28, 4);
    is_none();
    put_u32(BIN + 24, 200); /* more than there is room for */
    is_none();
}

/* A run that does not say what it has is left out, and its arena has less than it says. */
static void runs_that_are_torn(void **state)
{
    put(MAP(6), (CHUNK + 6 * PAGE) | 1);
    put(MAP(7), 248 * PAGE | 0x84);
    put(MAP(254), 248 * PAGE | 0x84);
    put(CHUNK + 6 * PAGE + 16, BIN);
    put_u32(CHUNK + 6 * PAGE + 28, 7);
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(heaps.map.n_blocks, N_SMALL - N_FREE + 2);
    assert_int_equal(findings.n_torn, 1);
    assert_false(holds(RUNS));
    assert_true(holds(ARENAS));
}

static void arenas_that_say_something_else(void **state)
{
    put(ARENA + 0x60, 3 * PAGE);
    assert_int_equal(read_all(), HS_OK);
    assert_false(holds(ARENAS));
    assert_int_equal(findings.n_torn, 1);
}

static void trees_that_are_none(void **state)
{
    put(DATA + 0x108, MIB);
    assert_int_equal(read_all(), HS_OK);
    assert_false(holds(TREES));
    close_all();
    make();
    put(EXTENTS + 24, EXTENTS | 1); /* below itself */
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(heaps.map.n_blocks, N_SMALL - N_FREE + 1);
    close_all();
    make();
    put(EXTENTS + 48, OWN); /* no arena */
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(heaps.map.n_blocks, N_SMALL - N_FREE + 1);
}

/* Damages words of its tables, again and again: what is read stays in the heap. */
static void survives_damage(void **state)
{
    const uint64_t words[] = {
        0, 1, 3, 4095, RUN | 1, RUN, OWN, EXTENTS, CHUNK, HS_USER_END - 8, UINT64_MAX};
    uint32_t seed = 7;

    for (unsigned round = 0; round < 2000; round++) {
        for (unsigned i = 0; i <= round % 3; i++) {
            seed = seed * 1664525 + 1013904223;
            const hs_addr begins[] = {MAP(0), RUN, BIN, EXTENTS};
            put(begins[(seed >> 8) % 4] + (seed >> 10) % 60 * 8, words[(seed >> 4) % 11]);
        }
        assert_int_equal(read_all(), HS_OK);
        for (size_t i = 0; i < heaps.map.n_spans; i++)
            assert_true(heaps.map.spans[i].owner == HS_OWNER_mozjemalloc);
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

#define MOZ_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MOZ_TEST(reads_blocks),
        MOZ_TEST(reads_other_versions),
        MOZ_TEST(chunks_that_are_none),
        MOZ_TEST(runs_that_are_torn),
        MOZ_TEST(arenas_that_say_something_else),
        MOZ_TEST(trees_that_are_none),
        MOZ_TEST(survives_damage),
        MOZ_TEST(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
