/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fail_each.h"
#include "fake_native.h"
#include "native/encoded.h"
#include "native/scan.h"

/* All blocks are lost but the first, and have 64 bytes. Words are of the program's data. */
enum { MANY = FAKE_N_BLOCKS, TENTH = MANY / 10 + 1 };

static struct hs_error err;
static struct fake_native *f;
static struct hs_flow flow;
static struct hs_scan scan;

static int set_up(void **state)
{
    f = fake_native_new();
    fake_native_symbol(f, "table", 0, FAKE_N_DATA_WORDS / 2, STB_GLOBAL);
    f->data[0] = fake_native_block(0);
    return 0;
}

/* Memory is gone over eight times, for 33 blocks each. */
static int set_up_in_ranges(void **state)
{
    set_up(state);
    f->options.order.region_bits = 12;
    return 0;
}

static void end(void)
{
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    flow = (struct hs_flow){0};
}

static int tear_down(void **state)
{
    end();
    fake_native_free(f);
    return 0;
}

static hs_status mark(void)
{
    HS_TRY(hs_native_flow(&f->native, &flow, &err));
    HS_TRY(hs_scan_begin(&scan, &f->native, &flow, &err));
    HS_TRY(hs_scan_mark_roots(&scan, &err));
    return hs_scan_mark_encoded(&scan, &err);
}

static void run(void)
{
    fake_native_seal(f);
    assert_int_equal(hs_native_collect_globals(&f->native, &err), HS_OK);
    assert_int_equal(mark(), HS_OK);
}

static hs_addr lost(size_t i)
{
    return fake_native_block(i + 1);
}

static bool is_unsure(size_t i)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&f->dump.heaps.map, lost(i), &block), HS_POINTER_START);
    return scan.has_unsure && hs_bitmap_get(&scan.unsure, block.rank);
}

static size_t n_unsure(void)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < MANY; i++)
        n += is_unsure(i);
    return n;
}

static uint32_t *half(size_t i)
{
    return (uint32_t *)f->data + i;
}

static void one_word_of_an_address_shifted_is_enough(void **state)
{
    f->data[10] = lost(7) << 3 | 5;
    f->blocks[8 * FAKE_N_BLOCK_WORDS + 1] = lost(9); /* hangs on it */
    run();
    assert_true(is_unsure(7) && is_unsure(9));
    assert_int_equal(n_unsure(), 2);
    assert_true(fake_native_notes(f, "addresses shifted left by 3 bits, such as at table+0x50, "
                                     "lead to 1 of 255 lost blocks of 64 bytes; what only it"));
}

static void one_word_of_an_address_cut_short_is_chance(void **state)
{
    f->data[10] = lost(7) << 18 | 77;
    f->data[11] = lost(8) << 20 | 0xabcde;
    f->data[12] = lost(9) << 23 | 0x2bcdef;
    run();
    assert_int_equal(n_unsure(), 0);
}

static void a_tenth_of_cut_addresses_stands_for_its_group(void **state)
{
    for (size_t i = 0; i < TENTH; i++)
        f->data[10 + i] = lost(i * 3) << 23 | i;
    run();
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "addresses shifted left by 23 bits"));
}

static void a_tenth_stands_for_its_group(void **state)
{
    for (size_t i = 0; i < TENTH; i++)
        f->data[10 + i] = __builtin_bswap64(lost(i * 3));
    run();
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "bytes in the other order"));
}

static void what_leads_beside_blocks_as_often_is_chance(void **state)
{
    f->data[10] = lost(7) << 3;
    f->data[11] = (lost(8) + 8) << 3;
    run();
    assert_int_equal(n_unsure(), 0);
}

static void each_encoding_alone(void **state)
{
    for (size_t i = 0; i < 16; i++)
        f->data[20 + i] = lost(i) << (i + 1);
    for (size_t i = 16; i < 20; i++)
        f->data[20 + i] = lost(i) >> (i - 15);
    f->data[60] = ~lost(20);
    uint64_t packed = lost(21) | UINT64_C(0x5aa5) << 48;
    memcpy((uint8_t *)(f->data + 70) + 3, &packed, sizeof packed);
    packed = lost(23) | UINT64_C(0x5aa5) << 48; /* its first byte is 0, as is all before it */
    assert_int_equal(packed & 0xff, 0);
    memcpy((uint8_t *)(f->data + 80) + 7, &packed, sizeof packed);
    run();
    for (size_t i = 0; i < 22; i++)
        assert_true(is_unsure(i));
    assert_true(is_unsure(23));
    assert_int_equal(n_unsure(), 23);
}

/* The upper byte of an address in the first bytes of a part: the address would begin before it. */
static void nothing_begins_before_a_part(void **state)
{
    for (unsigned at = 0; at < 5; at++)
        ((uint8_t *)f->data)[at] = (uint8_t)(lost(0) >> 40);
    run();
    assert_int_equal(n_unsure(), 0);
}

static void a_mask_is_a_constant_of_the_program(void **state)
{
    const uint64_t constant = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < 5; i++)
        f->data[10 + 2 * i] = lost(3 * i) ^ constant;
    run();
    assert_int_equal(n_unsure(), 0);
    f->data[700] = constant;
    end();
    assert_int_equal(mark(), HS_OK);
    assert_int_equal(n_unsure(), 5);
    assert_true(fake_native_notes(f, "exclusive or of addresses and a constant"));
}

/* One constant for all words, which stands in no data, and for the first and the last block. */
/* So many constants have one upper half that each word which may be under one asks for all. */
static void a_search_that_is_cut_leaves_nothing_certain(void **state)
{
    enum { N = 64 };
    const uint64_t upper = UINT64_C(0x5a6b7c8d) << 32;

    f->options.order.most_tries = N * N / 2;
    for (size_t i = 0; i < N; i++) {
        f->data[10 + i] = upper | (0x9abcd123 + 0x10107 * i);
        f->data[10 + N + i] = f->data[10 + i] ^ (lost(0) & ~(uint64_t)UINT32_MAX) ^ 0x1000;
    }
    run();
    assert_true(f->native.is_blind);
    assert_true(fake_native_notes(f, "disguise was cut"));
}

static void hide_by(uint64_t (*hide)(hs_addr), size_t n)
{
    for (size_t i = 0; i < n; i++) {
        f->data[100 + 3 * i] = hide(lost(i * (MANY - 2) / (n - 1)));
        f->data[101 + 3 * i] = i * UINT64_C(0x9e3779b97f4a7c15); /* and others between them */
    }
    run();
}

static uint64_t by_xor(hs_addr address)
{
    return address ^ UINT64_C(0xdeadbeefcafef00d);
}

static uint64_t by_addition(hs_addr address)
{
    return address + UINT64_C(0x123456789abcdef0);
}

static uint64_t by_subtraction(hs_addr address)
{
    return UINT64_C(0x123456789abcdef0) - address;
}

static void a_constant_that_is_not_known(void **state)
{
    hide_by(by_xor, 100);
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "exclusive or of addresses and a constant, such as at "
                                     "table+0x488, lead to 100 of 255 lost blocks of 64 bytes"));
}

static void a_constant_that_is_added(void **state)
{
    hide_by(by_addition, 80);
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "addresses added to or subtracted from a constant"));
}

static void a_constant_that_addresses_are_subtracted_from(void **state)
{
    hide_by(by_subtraction, 80);
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "addresses added to or subtracted from a constant"));
}

static void a_few_words_are_no_proof_of_a_constant(void **state)
{
    hide_by(by_xor, 30);
    assert_int_equal(n_unsure(), 0);
}

static uint64_t in_disorder(hs_addr address)
{
    return UINT64_C(0x123456785a000000) | (address * UINT64_C(0x9e3779b1) & 0x7c0);
}

static void numbers_of_one_upper_half_are_no_proof(void **state)
{
    hide_by(in_disorder, 200);
    assert_int_equal(n_unsure(), 0);
}

static void one_fraction_is_enough(void **state)
{
    double value = (double)lost(7);
    memcpy(&f->data[10], &value, sizeof value);
    run();
    assert_int_equal(n_unsure(), 1);
    assert_true(fake_native_notes(f, "addresses as fractions of 64 bits"));
}

static void compressed_pointers_need_many(void **state)
{
    for (size_t i = 0; i < 200; i++) /* of which a sample is looked for */
        *half(100 + 5 * i) = (uint32_t)((lost(i) - fake_native_block(0)) / 16);
    run();
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "32-bit distances from 0x7f3000000000 in units of "));
}

/* Distances from an address at which nothing begins and to which nothing leads, to `n` blocks in no
 * order; what stands between them is `between`. */
static void table_from(hs_addr base, size_t n, uint32_t between)
{
    for (size_t i = 0; i < n; i++) {
        *half(100 + 2 * i) = (uint32_t)(lost(i * 97 % (MANY - 1)) - base);
        *half(101 + 2 * i) = between * (uint32_t)i;
    }
    run();
}

static void a_table_of_distances_from_anywhere(void **state)
{
    table_from(fake_native_block(0) - 0x765430, 150, 3);
    assert_int_equal(n_unsure(), MANY - 1);
    assert_true(fake_native_notes(f, "32-bit distances from one address, such as at table"));
}

static void a_table_of_multiples_of_16(void **state)
{
    for (size_t i = 0; i < 150; i++)
        *half(100 + 2 * i) =
            (uint32_t)(i * i * 48 + 0x10000); /* as far from each other as others */
    run();
    assert_int_equal(n_unsure(), 0);
}

static void a_few_small_numbers_are_nothing(void **state)
{
    for (size_t i = 0; i < 20; i++)
        *half(100 + 5 * i) = (uint32_t)((lost(i) - fake_native_block(0)) / 16);
    run();
    assert_int_equal(n_unsure(), 0);
}

static void all_small_numbers_are_chance(void **state)
{
    for (uint32_t i = 0; i < 1200; i++)
        *half(100 + i) = i; /* in units of 8 and 16 each block is met, and what is beside it */
    run();
    assert_int_equal(n_unsure(), 0);
}

static void a_table_that_counts_from_one(void **state)
{
    for (size_t i = 0; i < 100; i++)
        f->data[100 + 8 * i] = lost(2 * i) - 8;
    end();
    fake_native_seal(f); /* no roots: an address before a block may lead to another one */
    f->native.roots.n_leaves = 0;
    assert_int_equal(mark(), HS_OK);
    assert_true(n_unsure() >= MANY - 2);
    assert_true(fake_native_notes(f, "before the block"));
}

static void every_allocation_may_fail(void **state)
{
    tear_down(state);
    FAIL_EACH (each, .at_least = 10) {
        set_up(state);
        f->data[10] = lost(7) << 3;
        for (size_t i = 0; i < 200; i++)
            *half(100 + 5 * i) = (uint32_t)((lost(i) - fake_native_block(0)) / 16);
        fake_native_seal(f);
        assert_int_equal(hs_native_collect_globals(&f->native, &err), HS_OK);
        (void)FAIL_EACH_TRY(each, mark());
        tear_down(state);
    }
    set_up(state);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TWICE(name) TEST(name), cmocka_unit_test_setup_teardown(name, set_up_in_ranges, tear_down)
    const struct CMUnitTest tests[] = {
        TWICE(one_word_of_an_address_shifted_is_enough),
        TWICE(one_word_of_an_address_cut_short_is_chance),
        TWICE(a_tenth_of_cut_addresses_stands_for_its_group),
        TWICE(a_tenth_stands_for_its_group),
        TWICE(what_leads_beside_blocks_as_often_is_chance),
        TWICE(each_encoding_alone),
        TWICE(nothing_begins_before_a_part),
        TWICE(a_mask_is_a_constant_of_the_program),
        TWICE(a_search_that_is_cut_leaves_nothing_certain),
        TWICE(a_constant_that_is_not_known),
        TWICE(a_constant_that_is_added),
        TWICE(a_constant_that_addresses_are_subtracted_from),
        TWICE(a_few_words_are_no_proof_of_a_constant),
        TWICE(numbers_of_one_upper_half_are_no_proof),
        TWICE(one_fraction_is_enough),
        TWICE(compressed_pointers_need_many),
        TWICE(a_table_of_distances_from_anywhere),
        TWICE(a_table_of_multiples_of_16),
        TWICE(a_few_small_numbers_are_nothing),
        TWICE(all_small_numbers_are_chance),
        TWICE(a_table_that_counts_from_one),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
