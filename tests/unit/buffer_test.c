/* links: hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/load.h"

static void encodes_little_endian(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    static const uint8_t expected[] = {7, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1, 0xac, 0x02, 3, 'x'};

    assert_int_equal(hs_buffer_reserve(&b, 40, &err), HS_OK);
    hs_buffer_put_u8(&b, 7);
    hs_buffer_put_u32(&b, 0x01020304);
    hs_buffer_put_u64(&b, 0x0102030405060708);
    hs_buffer_put_varint(&b, 300);
    hs_buffer_put_zigzag(&b, -2);
    hs_buffer_put_bytes(&b, "x", 1);
    hs_buffer_put_bytes(&b, NULL, 0);
    assert_int_equal(b.n_bytes, sizeof expected);
    assert_memory_equal(b.bytes, expected, sizeof expected);
    hs_buffer_fini(&b);
    assert_null(b.bytes);
    hs_buffer_fini(&b);
    hs_buffer_fini(NULL);
}

static void grows_amortised(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    uint64_t before = hs_alloc_count();
    for (uint32_t i = 0; i < 100000; i++) {
        assert_int_equal(hs_buffer_reserve(&b, 4, &err), HS_OK);
        hs_buffer_put_u32(&b, i);
    }
    assert_int_equal(b.n_bytes, 400000);
    assert_true(hs_alloc_count() - before < 25);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t value = hs_load_u32(b.bytes + 4 * i);
        assert_int_equal(value, i);
    }
    hs_buffer_fini(&b);
}

static void refuses_and_keeps_what_it_has(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    assert_int_equal(hs_buffer_reserve(&b, 1, &err), HS_OK);
    hs_buffer_put_u8(&b, 42);
    assert_int_equal(hs_buffer_reserve(&b, SIZE_MAX, &err), HS_LIMIT);
    assert_int_equal(hs_buffer_reserve(&b, PTRDIFF_MAX, &err), HS_LIMIT);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_buffer_reserve(&b, 1 << 20, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(b.n_bytes, 1);
    assert_int_equal(b.bytes[0], 42);
    hs_buffer_fini(&b);
}

static void zigzag_keeps_small_numbers_small(void **state)
{
    const int64_t values[] = {0, -1, 1, -2, 2, INT64_MAX, INT64_MIN};
    const uint64_t codes[] = {0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX};
    for (int i = 0; i < 7; i++) {
        assert_true(hs_zigzag_encode(values[i]) == codes[i]);
        assert_true(hs_zigzag_decode(codes[i]) == values[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_little_endian),
        cmocka_unit_test(grows_amortised),
        cmocka_unit_test(refuses_and_keeps_what_it_has),
        cmocka_unit_test(zigzag_keeps_small_numbers_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
