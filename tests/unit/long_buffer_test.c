/* links: hs_base */
#include "unit.h"

#include "base/long_buffer.h"

enum { MIB = 1 << 20, PIECE_BYTES = 4096 };

/* What is put: no two pieces are alike. */
static uint8_t byte_at(uint64_t at)
{
    return (uint8_t)(at * 7 + (at >> 12));
}

static void put(struct hs_long_buffer *b, struct hs_budget *budget, uint64_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    for (uint64_t at = 0; at < n_bytes; at += PIECE_BYTES) {
        assert_int_equal(hs_long_buffer_room(b, budget, PIECE_BYTES, &err), HS_OK);
        for (uint64_t i = at; i < at + PIECE_BYTES; i++)
            b->tail.bytes[b->tail.n_bytes++] = byte_at(i);
    }
    assert_int_equal(hs_long_buffer_bytes(b), n_bytes);
}

static hs_status check_piece(void *context, const uint8_t *bytes, size_t n_bytes,
                             struct hs_error *err)
{
    uint64_t *at = context;

    for (size_t i = 0; i < n_bytes; i++)
        assert_int_equal(bytes[i], byte_at(*at + i));
    *at += n_bytes;
    return HS_OK;
}

/* Reads all of it twice, as a section that is hashed and then written. */
static void assert_reads(struct hs_long_buffer *b, uint64_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    for (int i = 0; i < 2; i++) {
        uint64_t at = 0;
        const struct hs_bytes_sink sink = {.visit = check_piece, .context = &at};
        assert_int_equal(hs_long_buffer_read(b, &sink, &err), HS_OK);
        assert_int_equal(at, n_bytes);
    }
}

static void test_stays_in_memory_as_long_as_there_is_room(void **state)
{
    struct hs_long_buffer b = {0};
    struct hs_budget budget;

    hs_budget_init((uint64_t)64 * MIB, NULL, 1, &budget);
    put(&b, &budget, (uint64_t)12 * MIB);
    assert_false(b.spill.is_open);
    assert_reads(&b, (uint64_t)12 * MIB);
    hs_long_buffer_fini(&b, &budget);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

static void test_keeps_no_more_than_it_shall(void **state)
{
    struct hs_long_buffer b = {.kept_bytes = (size_t)4 * MIB};
    struct hs_budget budget;

    hs_budget_init((uint64_t)64 * MIB, NULL, 1, &budget);
    put(&b, &budget, (uint64_t)4 * MIB);
    assert_false(b.spill.is_open);
    hs_long_buffer_clear(&b, &budget);
    assert_int_equal(b.kept_bytes, 0);
    b.kept_bytes = (size_t)4 * MIB;
    put(&b, &budget, (uint64_t)12 * MIB);
    assert_true(b.spill.is_open);
    assert_true(b.tail.capacity <= (size_t)8 * MIB);
    assert_true(budget.peak_bytes <= HS_BUDGET_BASE_BYTES + (uint64_t)8 * MIB);
    assert_reads(&b, (uint64_t)12 * MIB);
    hs_long_buffer_fini(&b, &budget);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

static void test_keeps_all_where_no_file_can_be_made(void **state)
{
    struct hs_long_buffer b = {.kept_bytes = (size_t)4 * MIB};
    struct hs_budget budget;

    hs_budget_init((uint64_t)64 * MIB, "/nowhere", 1, &budget);
    put(&b, &budget, (uint64_t)12 * MIB);
    assert_false(b.spill.is_open);
    assert_reads(&b, (uint64_t)12 * MIB);
    hs_long_buffer_fini(&b, &budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays_in_memory_as_long_as_there_is_room),
        cmocka_unit_test(test_keeps_no_more_than_it_shall),
        cmocka_unit_test(test_keeps_all_where_no_file_can_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
