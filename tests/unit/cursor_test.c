/* links: hs_base */
#include "unit.h"

#include "base/buffer.h"
#include "base/cursor.h"

static const uint8_t nine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void reads_little_endian(void **state)
{
    struct hs_cursor c = hs_cursor_make(nine, sizeof nine);
    assert_int_equal(hs_cursor_u8(&c), 1);
    assert_int_equal(hs_cursor_u16(&c), 0x0302);
    assert_int_equal(hs_cursor_u32(&c), 0x07060504);
    assert_int_equal(hs_cursor_left(&c), 2);
    hs_cursor_seek(&c, 1);
    assert_true(hs_cursor_u64(&c) == 0x0908070605040302U);
    assert_false(c.failed);
    assert_int_equal(hs_cursor_left(&c), 0);
}

/* Every way to fail, on a cursor at byte 2 of 9. */
enum { WAYS = 9 };

static void fail_way(struct hs_cursor *c, int way)
{
    switch (way) {
    case 0:
        hs_cursor_seek(c, 9);
        assert_int_equal(hs_cursor_u8(c), 0);
        break;
    case 1:
        hs_cursor_seek(c, 8);
        assert_int_equal(hs_cursor_u16(c), 0);
        break;
    case 2:
        hs_cursor_seek(c, 6);
        assert_int_equal(hs_cursor_u32(c), 0);
        break;
    case 3:
        hs_cursor_seek(c, 2);
        assert_int_equal(hs_cursor_u64(c), 0);
        break;
    case 4:
        assert_null(hs_cursor_bytes(c, 8));
        break;
    case 5:
        hs_cursor_skip(c, SIZE_MAX);
        break;
    case 6:
        hs_cursor_seek(c, 10);
        break;
    case 7:
        hs_cursor_seek(c, 9);
        hs_cursor_align(c, 16);
        break;
    default:
        assert_null(hs_cursor_string(c));
        break;
    }
}

static void assert_all_reads_are_nothing(struct hs_cursor *c)
{
    size_t at = c->at;
    assert_int_equal(hs_cursor_left(c), 0);
    assert_int_equal(hs_cursor_u8(c), 0);
    assert_int_equal(hs_cursor_u16(c), 0);
    assert_int_equal(hs_cursor_u32(c), 0);
    assert_int_equal(hs_cursor_u64(c), 0);
    assert_int_equal(hs_cursor_varint(c), 0);
    assert_int_equal(hs_cursor_zigzag(c), 0);
    assert_null(hs_cursor_bytes(c, 0));
    assert_null(hs_cursor_string(c));
    hs_cursor_skip(c, 0);
    hs_cursor_seek(c, 0);
    hs_cursor_align(c, 1);
    assert_true(c->failed);
    assert_int_equal(c->at, at);
}

static void every_failure_is_sticky(void **state)
{
    for (int way = 0; way < WAYS; way++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_cursor c = hs_cursor_make(nine, sizeof nine);
        hs_cursor_skip(&c, 2);
        assert_int_equal(hs_cursor_check(&c, "the head", &err), HS_OK);
        fail_way(&c, way);
        assert_true(c.failed);
        assert_all_reads_are_nothing(&c);
        assert_int_equal(hs_cursor_check(&c, "the head", &err), HS_FORMAT);
    }
}

static void tells_where_it_ended(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cursor c = hs_cursor_make(nine, sizeof nine);
    hs_cursor_skip(&c, 7);
    (void)hs_cursor_u32(&c);
    assert_int_equal(hs_cursor_check(&c, "the trailer", &err), HS_FORMAT);
    assert_string_equal(err.message, "the trailer ends early at byte 7");
}

static void nothing_can_be_read_from_nothing(void **state)
{
    struct hs_cursor c = hs_cursor_make(NULL, 0);
    assert_non_null(hs_cursor_bytes(&c, 0));
    hs_cursor_seek(&c, 0);
    hs_cursor_align(&c, 4096);
    assert_false(c.failed);
    assert_null(hs_cursor_string(&c));
    assert_true(c.failed);
    c = hs_cursor_make(NULL, 0);
    assert_int_equal(hs_cursor_varint(&c), 0);
    assert_true(c.failed);
}

static void varints_round_trip(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    const uint64_t deltas[] = {0, 1, UINT64_MAX};
    assert_int_equal(hs_buffer_reserve(&b, 64 * 3 * 2 * HS_VARINT_MAX_BYTES, &err), HS_OK);
    for (int bit = 0; bit < 64; bit++)
        for (int d = 0; d < 3; d++) {
            hs_buffer_put_varint(&b, ((uint64_t)1 << bit) + deltas[d]);
            hs_buffer_put_zigzag(&b, (int64_t) - (((uint64_t)1 << bit) + deltas[d]));
        }
    struct hs_cursor c = hs_cursor_make(b.bytes, b.n_bytes);
    for (int bit = 0; bit < 64; bit++)
        for (int d = 0; d < 3; d++) {
            uint64_t value = ((uint64_t)1 << bit) + deltas[d];
            assert_true(hs_cursor_varint(&c) == value);
            assert_true(hs_cursor_zigzag(&c) == (int64_t)-value);
        }
    assert_int_equal(hs_cursor_left(&c), 0);
    assert_false(c.failed);
    hs_buffer_fini(&b);
}

static uint64_t varint_of(const char *bytes, size_t n, bool *ret_failed, size_t *ret_at)
{
    struct hs_cursor c = hs_cursor_make(bytes, n);
    uint64_t value = hs_cursor_varint(&c);
    *ret_failed = c.failed;
    *ret_at = c.at;
    return value;
}

static void malformed_varints_fail(void **state)
{
    bool failed;
    size_t at;
    /* The largest number: nine full groups and one bit. */
    assert_true(varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, &failed, &at) ==
                UINT64_MAX);
    assert_false(failed);
    assert_int_equal(at, 10);
    /* A bit beyond the 64th. */
    assert_int_equal(varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, &failed, &at), 0);
    assert_true(failed);
    assert_int_equal(at, 0);
    /* Eleven bytes, even of zeros. */
    (void)varint_of("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, &failed, &at);
    assert_true(failed);
    /* Cut in the middle, at each length. */
    for (size_t n = 0; n < 10; n++) {
        assert_int_equal(varint_of("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", n, &failed, &at), 0);
        assert_true(failed);
    }
    /* Padding with zero groups is legal LEB128. */
    assert_int_equal(varint_of("\x85\x80\x00", 3, &failed, &at), 5);
    assert_false(failed);
}

static void aligns_to_the_next_multiple(void **state)
{
    uint8_t bytes[32] = {0};
    for (size_t start = 0; start <= 32; start++)
        for (size_t to = 1; to <= 32; to *= 2) {
            struct hs_cursor c = hs_cursor_make(bytes, sizeof bytes);
            hs_cursor_seek(&c, start);
            hs_cursor_align(&c, to);
            assert_false(c.failed);
            assert_int_equal(c.at, (start + to - 1) / to * to);
        }
}

static void strings_end_inside(void **state)
{
    struct hs_cursor c = hs_cursor_make("ab\0\0cd", 6);
    assert_string_equal(hs_cursor_string(&c), "ab");
    assert_string_equal(hs_cursor_string(&c), "");
    assert_int_equal(c.at, 4);
    assert_null(hs_cursor_string(&c)); /* no NUL in the six bytes */
    assert_int_equal(c.at, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_little_endian),
        cmocka_unit_test(every_failure_is_sticky),
        cmocka_unit_test(tells_where_it_ended),
        cmocka_unit_test(nothing_can_be_read_from_nothing),
        cmocka_unit_test(varints_round_trip),
        cmocka_unit_test(malformed_varints_fail),
        cmocka_unit_test(aligns_to_the_next_multiple),
        cmocka_unit_test(strings_end_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
