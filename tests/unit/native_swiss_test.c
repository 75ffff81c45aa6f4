/* links: hs_native */
#include "unit.h"

#include "native/swiss.h"

enum { ELEMENT = 24, GROUP = 16, MOST = 64, SLACK = 24, EMPTY = 0xff, DELETED = 0x80 };

static uint8_t bytes[MOST * ELEMENT + MOST + GROUP + SLACK];

/* A table of `n` buckets, in every third of which something is. */
static struct hs_heap_block table_of(uint64_t n)
{
    uint8_t *control = bytes + n * ELEMENT;
    memset(bytes, 0xaa, sizeof bytes); /* which is none of such bytes */
    memset(control, EMPTY, n + GROUP);
    for (uint64_t i = 0; i < n; i++)
        control[i] = i % 3 == 0 ? (uint8_t)(i % 0x80) : i % 3 == 1 ? EMPTY : DELETED;
    for (uint64_t i = 0; i < GROUP && i < n; i++)
        control[(n < GROUP ? GROUP : n) + i] = control[i];
    return (struct hs_heap_block){.bytes = bytes, .n_bytes = n * ELEMENT + n + GROUP};
}

static bool is_at(const struct hs_heap_block *block, uint64_t offset)
{
    struct hs_swiss_table table;
    return hs_swiss_table_at(block, ELEMENT, offset, &table);
}

static void tables_are_found_by_their_bytes(void **state)
{
    for (uint64_t n = 4; n <= MOST; n *= 2) {
        const struct hs_heap_block block = table_of(n);
        for (uint64_t offset = 0; offset <= block.n_bytes; offset++)
            assert_int_equal(is_at(&block, offset), offset == n * ELEMENT);
    }
}

static void what_is_in_a_bucket(void **state)
{
    for (uint64_t n = 4; n <= MOST; n *= 2)
        for (uint64_t slack = 0; slack <= SLACK; slack += 8) {
            struct hs_heap_block block = table_of(n);
            struct hs_swiss_table table;
            block.n_bytes += slack;
            assert_true(hs_swiss_table_of(&block, ELEMENT, &table));
            assert_int_equal(table.n_buckets, n);
            for (uint64_t i = 0; i < n; i++) /* bucket 0 is the last one */
                for (uint64_t at = 0; at < ELEMENT; at += 8)
                    assert_int_equal(hs_swiss_table_has(&table, (n - 1 - i) * ELEMENT + at),
                                     i % 3 == 0);
            assert_false(hs_swiss_table_has(&table, n * ELEMENT)); /* the bytes themselves */
            assert_false(hs_swiss_table_has(&table, UINT64_MAX));
        }
}

static void other_blocks_are_none(void **state)
{
    struct hs_heap_block block = table_of(8);
    uint8_t *control = bytes + 8 * ELEMENT;
    control[GROUP + 3] ^= 1; /* not what stands first */
    assert_false(is_at(&block, 8 * ELEMENT));
    block = table_of(8);
    control[1] = control[GROUP + 1] = DELETED + 1; /* no such byte */
    assert_false(is_at(&block, 8 * ELEMENT));
    block = table_of(8);
    block.n_bytes--;
    assert_false(is_at(&block, 8 * ELEMENT));
    for (uint64_t n_bytes = 0; n_bytes < 4 * ELEMENT + 4 + GROUP; n_bytes++) {
        struct hs_swiss_table table;
        block.n_bytes = n_bytes;
        assert_false(hs_swiss_table_of(&block, ELEMENT, &table));
    }
}

/* A table of abseil with `n` buckets of which every third has something, the first one at the
 * `align`ed place behind their bytes, which is *ret_at. */
static struct hs_heap_block flat_of(uint64_t n, uint64_t align, uint64_t *ret_at)
{
    uint64_t first_at = (n + GROUP + align - 1) / align * align;
    memset(bytes, 0xaa, sizeof bytes);
    memset(bytes, DELETED, n + GROUP); /* which is what an empty one has here */
    for (uint64_t i = 0; i < n; i++)
        bytes[i] = i % 3 == 0 ? (uint8_t)(i % 0x80) : i % 3 == 1 ? DELETED : 0xfe;
    bytes[n] = EMPTY; /* the end */
    for (uint64_t i = 0; i < GROUP - 1 && i < n; i++)
        bytes[n + 1 + i] = bytes[i];
    *ret_at = first_at;
    return (struct hs_heap_block){.bytes = bytes, .n_bytes = first_at + n * ELEMENT};
}

static void flat_tables_are_found_by_their_bytes(void **state)
{
    struct hs_swiss_table table;
    for (uint64_t n = 1; n < MOST; n = 2 * n + 1)
        for (uint64_t align = 1; align <= GROUP; align *= 2) {
            uint64_t at;
            struct hs_heap_block block = flat_of(n, align, &at);
            assert_true(hs_flat_table_at(&block, ELEMENT, at, &table));
            assert_int_equal(table.n_buckets, n);
            for (uint64_t i = 0; i < n; i++)
                assert_int_equal(hs_swiss_table_has(&table, at + i * ELEMENT + 8), i % 3 == 0);
            assert_false(hs_swiss_table_has(&table, at - 1));
            assert_false(hs_swiss_table_has(&table, at + n * ELEMENT));
            assert_false(hs_swiss_table_has(&table, UINT64_MAX));
            block.n_bytes--;
            assert_false(hs_flat_table_at(&block, ELEMENT, at, &table));
        }
}

static void other_blocks_are_no_flat_tables(void **state)
{
    static const struct {
        uint64_t at;
        uint8_t byte;
    } odd[] = {{3, DELETED + 1}, {8, 1}, {31, 0xfe}};
    struct hs_swiss_table table;
    uint64_t at;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const struct hs_heap_block block = flat_of(31, 8, &at);
        bytes[odd[i].at] = odd[i].byte;
        if (odd[i].at + 32 < 32 + GROUP - 1 && i == 0)
            bytes[odd[i].at + 32] = odd[i].byte;
        assert_false(hs_flat_table_at(&block, ELEMENT, at, &table));
    }
    const struct hs_heap_block block = flat_of(31, 8, &at), unread = {.n_bytes = 4096};
    for (uint64_t other = 0; other <= block.n_bytes; other++)
        if (other < at - 1 || other >= at + GROUP)
            assert_false(hs_flat_table_at(&block, ELEMENT, other, &table));
    assert_false(hs_flat_table_at(&block, UINT64_MAX, at, &table));
    assert_false(hs_flat_table_at(&block, 0, at, &table));
    assert_false(hs_flat_table_at(&block, ELEMENT, UINT64_MAX, &table));
    assert_false(hs_flat_table_at(&unread, ELEMENT, at, &table));
}

static void hugest_elements(void **state)
{
    struct hs_swiss_table table;
    const struct hs_heap_block block = table_of(4), unread = {.n_bytes = 4096};
    assert_false(hs_swiss_table_of(&block, UINT64_MAX, &table));
    assert_false(hs_swiss_table_of(&block, UINT64_C(1) << 62, &table));
    assert_false(hs_swiss_table_of(&unread, ELEMENT, &table));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_found_by_their_bytes),
        cmocka_unit_test(what_is_in_a_bucket),
        cmocka_unit_test(other_blocks_are_none),
        cmocka_unit_test(flat_tables_are_found_by_their_bytes),
        cmocka_unit_test(other_blocks_are_no_flat_tables),
        cmocka_unit_test(hugest_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
