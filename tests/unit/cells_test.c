/* links: hs_report hs_heaps hs_process hs_symbols hs_rules hs_base */
#include "unit.h"

#include "fail_each.h"
#include "heaps/allocator.h"
#include "rules/rules.h"

#define BASE UINT64_C(0x10000000)
#define MARKED \
    "block 256 first 32 class 1 header 16 size 8 next 0 magic 0 0xef0000ef mask 0xff0000ff"
#define COUNTED "block 192 cell 48 next 32 count 0"

enum { HEAP_BYTES = 0x2000, HEADER = 16, MOST_BLOCKS = 16 };

static _Alignas(4096) uint8_t place[HEAP_BYTES];
static hs_addr blocks[MOST_BLOCKS];
static size_t n_blocks;
static hs_addr heap_end; /* where the next block of malloc's begins */
static struct hs_mapping mapping;
static struct hs_target target;
static struct hs_object object;
static struct hs_objects objects;
static struct hs_image image;
static struct hs_strtab strings;
static struct hs_findings findings;
static struct hs_process_copy process;
static struct hs_rules rules;
static struct hs_heaps heaps;
static struct hs_error err = HS_ERROR_INIT;

static void put_u64(hs_addr at, uint64_t word)
{
    memcpy(place + (at - BASE), &word, sizeof word);
}

static void put_u32(hs_addr at, uint32_t word)
{
    memcpy(place + (at - BASE), &word, sizeof word);
}

/* A block of malloc's, with the header of its chunk and that of the next. */
static hs_addr block_of(uint64_t n_bytes)
{
    uint64_t chunk = (n_bytes + 8 + 15) / 16 * 16;
    hs_addr begin = heap_end;

    put_u64(begin - 8, chunk | 1);
    heap_end += chunk;
    put_u64(heap_end - 8, 0x21);
    blocks[n_blocks++] = begin;
    return begin;
}

/* A cell of 32 << class bytes in use: where what the program has begins. */
static hs_addr use(hs_addr slab, unsigned class, unsigned i, uint64_t n_bytes)
{
    hs_addr cell = slab + ((hs_addr)i * 32 << class);

    put_u32(cell, 0xef0000efU | class << 8);
    put_u32(cell + 4, 0x7f3a); /* of the address that was there while it was free */
    put_u64(cell + 8, n_bytes);
    return cell + HEADER;
}

static int set_up(void **state)
{
    (void)state;
    memset(place, 0, sizeof place);
    heap_end = BASE + 16;
    n_blocks = 0;
    static const char text[] =
        "heapsnap-rules 1\n"
        "cells \"house cell\" " MARKED " when library \"mad*\"\n"
        "cells \"House\" " COUNTED " when library \"mad*\"\n"
        "cells \"other\" block 512 cell 64 next 0 count 8 when library \"libother*\"\n";
    const struct hs_rule_source source = {
        .name = "house", .bytes = text, .n_bytes = sizeof text - 1, .is_enabled = true};
    assert_int_equal(hs_rules_add(&rules, &source, &err), HS_OK);
    return 0;
}

static void close_all(void)
{
    hs_heaps_close(&heaps);
    hs_image_fini(&image);
    hs_findings_fini(&findings);
    hs_strtab_fini(&strings);
}

static int tear_down(void **state)
{
    (void)state;
    close_all();
    hs_rules_fini(&rules);
    return 0;
}

static hs_status mark_all(struct hs_error *fault)
{
    const struct hs_allocator *reader = hs_allocators[HS_OWNER_cells];
    uint64_t n_refused;

    HS_TRY(reader->add_spans(heaps.states[HS_OWNER_cells], &heaps.map, &heaps.ledger, fault));
    hs_ledger_seal(&heaps.ledger);
    HS_TRY(hs_heap_map_seal(&heaps.map, &n_refused, fault));
    assert_int_equal(n_refused, 0);
    for (size_t i = 0; i < n_blocks; i++) {
        const struct hs_heap_span *span = hs_heap_map_span_at(&heaps.map, blocks[i]);
        if (span != NULL && span->owner == HS_OWNER_glibc)
            hs_heap_map_set(&heaps.map, blocks[i]);
    }
    HS_TRY(reader->mark(heaps.states[HS_OWNER_cells], &heaps.map, &heaps.ledger, fault));
    return hs_heap_map_index(&heaps.map, fault);
}

/* Reads the heap as a dump does: glibc's span first. */
static hs_status read_heap(struct hs_error *fault)
{
    const struct hs_heap_span span = {
        .begin = BASE + 16, .end = heap_end, .form = HS_SPAN_HEADERS, .owner = HS_OWNER_glibc};

    close_all();
    mapping = (struct hs_mapping){
        .begin = BASE, .end = BASE + HEAP_BYTES, .readable = true, .writable = true};
    target = (struct hs_target){.pid = 1, .mappings = &mapping, .n_mappings = 1};
    object = (struct hs_object){.name = (char *)"made"};
    objects = (struct hs_objects){.objects = &object, .n = 1};
    findings = (struct hs_findings){.strings = &strings};
    process = (struct hs_process_copy){&target, &image, &objects, &findings, NULL, &rules};
    HS_TRY(hs_image_add(&image, BASE, place, sizeof place, fault));
    hs_heap_map_init(&heaps.map, &image);
    hs_ledger_init(&heaps.ledger, &strings, &image);
    HS_TRY(hs_heap_map_add(&heaps.map, &span, fault));
    HS_TRY(
        hs_ledger_claim(&heaps.ledger, "glibc", HS_MEMORY_LIVE, BASE, BASE + HEAP_BYTES, 0, fault));
    HS_TRY(hs_allocators[HS_OWNER_cells]->open(&process, &heaps.states[HS_OWNER_cells], fault));
    return mark_all(fault);
}

static void expect_block(hs_addr at, uint64_t n_bytes)
{
    struct hs_heap_block block;

    assert_int_equal(hs_heap_map_resolve(&heaps.map, at, &block), HS_POINTER_START);
    assert_int_equal(block.n_bytes, n_bytes);
}

static void expect_none(hs_addr at)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&heaps.map, at, &block), HS_POINTER_NONE);
}

/* Slabs of two sizes: what is in use is a block of what was asked for, what is free is none. */
static void a_cell_in_use_tells_its_size(void **state)
{
    (void)state;
    hs_addr small = block_of(256), large = block_of(256), other = block_of(256);
    hs_addr first = use(small, 0, 0, 9), last = use(small, 0, 7, 16);
    for (unsigned i = 1; i < 6; i++)
        put_u64(small + i * 32, small + (i + 1) * 32);
    hs_addr only = use(large, 2, 1, 100);
    put_u64(other, 12345); /* leads nowhere, and is no cell in use */
    assert_int_equal(read_heap(&err), HS_OK);
    expect_block(first, 16);
    expect_block(last, 16);
    expect_block(only, 104);
    expect_block(other, 264); /* as malloc gave it */
    expect_none(small);
    expect_none(small + 3 * 32 + HEADER);
    expect_none(large + HEADER);
    assert_int_equal(heaps.map.n_blocks, 4);
}

/* A counted value without references is free if another free one leads to it: one that was just
 * taken is not lost. */
static void a_free_value_is_led_to(void **state)
{
    (void)state;
    hs_addr slab = block_of(192);
    put_u32(slab, 3);
    put_u64(slab + 48 + 32, slab + 2 * 48);
    assert_int_equal(read_heap(&err), HS_OK);
    expect_block(slab, 48);
    expect_block(slab + 48, 48);
    expect_none(slab + 2 * 48);
    expect_block(slab + 3 * 48, 48);
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&heaps.map, slab, &block), HS_POINTER_START);
    assert_string_equal(hs_strtab_get(&strings, hs_heaps_pool_name(&heaps, block.span)), "House");
}

/* A block of that size whose words lead to no cells is anybody's. */
static void other_blocks_stay(void **state)
{
    (void)state;
    hs_addr slab = block_of(192), table = block_of(192), elsewhere = block_of(64);
    put_u32(slab, 1);
    for (unsigned i = 0; i < 24; i++)
        put_u64(table + i * 8, elsewhere);
    assert_int_equal(read_heap(&err), HS_OK);
    expect_block(table, 200);
    expect_block(slab, 48);
}

/* Any bytes at all: no read leaves the copy, and the books hold. */
static void hostile_heaps_are_read(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (unsigned round = 0; round < 200; round++) {
        heap_end = BASE + 16;
        n_blocks = 0;
        for (unsigned i = 0; i < 12; i++)
            (void)block_of(i % 2 == 0 ? 256 : 192);
        for (unsigned i = 0; i < 200; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            hs_addr at = BASE + 16 + (random >> 33) % (heap_end - BASE - 32) / 8 * 8;
            put_u64(at, (random >> 20 & 1) != 0 ? BASE + (random >> 40) % HEAP_BYTES
                                                : 0xef0000efU | (random >> 50 & 7) << 8);
        }
        for (size_t i = 0; i < n_blocks; i++)
            put_u64(blocks[i] - 8, (i % 2 == 0 ? 272 : 208) | 1);
        assert_int_equal(read_heap(&err), HS_OK);
    }
}

static void without_memory(void **state)
{
    (void)state;
    hs_addr slab = block_of(192);
    put_u32(slab, 3);
    close_all();
    FAIL_EACH (f, .at_least = 8, .keeps = true) {
        if (FAIL_EACH_TRY(f, read_heap(&err)) == HS_OK)
            expect_block(slab, 48);
        close_all();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_cell_in_use_tells_its_size), TEST(a_free_value_is_led_to), TEST(other_blocks_stay),
        TEST(hostile_heaps_are_read),       TEST(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
