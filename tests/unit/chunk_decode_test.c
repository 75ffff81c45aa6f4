/* links: hs_format */
/* The hot varint reader agrees with the careful one, on every length and at every distance from the
 * end; the decoders see every cut and every single changed byte stays in range. */
#include "unit.h"

#include "base/cursor.h"
#include "format/chunk_codec.h"
#include "format/varint.h"

static uint64_t random_state = 0x2545f4914f6cdd1d;

static uint64_t test_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static void expect_same(const uint8_t *bytes, size_t n)
{
    uint8_t *exact = malloc(n == 0 ? 1 : n); /* a sanitizer sees a read beyond it */
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    struct hs_cursor c = hs_cursor_make(exact, n);
    uint64_t value = hs_cursor_varint(&c);
    struct hs_varint found = hs_varint_take(exact, exact + n);
    assert_int_equal(found.next == NULL, c.failed);
    if (!c.failed) {
        assert_int_equal(found.value, value);
        assert_ptr_equal(found.next, exact + c.at);
    }
    struct hs_varint any = hs_varint_take_any(exact, exact + n);
    assert_ptr_equal(any.next, found.next);
    assert_true(any.next == NULL || any.value == value);
    free(exact);
}

static void test_varints_of_every_length(void **state)
{
    for (unsigned bits = 0; bits <= 64; bits++) {
        for (int i = 0; i < 50; i++) {
            uint8_t room[32];
            struct hs_buffer b = {.bytes = room, .capacity = sizeof room};
            uint64_t value = bits == 0 ? 0 : test_random() >> (64 - bits);
            hs_buffer_put_varint(&b, value);
            struct hs_varint found = hs_varint_take(room, room + b.n_bytes);
            assert_int_equal(found.value, value);
            assert_ptr_equal(found.next, room + b.n_bytes);
            size_t n = b.n_bytes;
            for (size_t k = n; k < sizeof room; k++)
                room[k] = (uint8_t)test_random();
            for (size_t end = 0; end < sizeof room; end++)
                expect_same(room, end);
        }
    }
}

static void test_any_bytes(void **state)
{
    for (int i = 0; i < 100000; i++) {
        uint8_t bytes[12];
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)(test_random() >> 32 | (test_random() & 3 ? 0x80 : 0));
        expect_same(bytes, (size_t)(test_random() % (sizeof bytes + 1)));
    }
}

enum { N = 200, FIRST = 7, MAX_EDGES = 2 * N };

static uint64_t begin[N + 1];
static hs_node target[MAX_EDGES];
static const struct hs_chunk_limits limits = {.version = HS_FORMAT_VERSION,
                                              .word_bytes = 8,
                                              .n_tree = FIRST,
                                              .n_blocks = N,
                                              .n_types = 3,
                                              .max_state = HS_BLOCK_STATES};

static void encode_edges(struct hs_buffer *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk_encoder encoder = {.word_bytes = 8};
    assert_int_equal(hs_chunk_encoder_begin(&encoder, FIRST, HS_CHUNK_BLOCKS, &err), HS_OK);
    for (uint64_t i = 0; i < N; i++) {
        struct hs_block_record block = {.address = 16 * i, .words = 2};
        struct hs_edge edges[2] = {{.target = FIRST + test_random() % N},
                                   {.target = FIRST + N - 1}};
        assert_int_equal(hs_chunk_encoder_add(&encoder, &block, edges, i % 3, &err), HS_OK);
    }
    struct hs_section_parts parts;
    assert_int_equal(hs_chunk_encoder_column(&encoder, HS_SECTION_EDGES, ret, &parts, &err), HS_OK);
    hs_chunk_encoder_fini(&encoder);
}

static hs_status decode_edges(const uint8_t *bytes, size_t n, struct hs_error *err)
{
    struct hs_chunk chunk = {.first = FIRST, .n_blocks = N, .edge_begin = begin, .target = target};
    size_t used;
    HS_TRY(hs_degrees_decode(bytes, n, &chunk, &used, err));
    if (chunk.n_edges > MAX_EDGES)
        return hs_fail(err, HS_FORMAT, "too many for this test");
    HS_TRY(hs_targets_decode(bytes + used, n - used, &limits, &chunk, err));
    for (uint64_t e = 0; e < chunk.n_edges; e++)
        assert_in_range(target[e], FIRST, FIRST + N - 1);
    return HS_OK;
}

static void test_cut_columns(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer raw = {0};
    encode_edges(&raw);
    assert_int_equal(decode_edges(raw.bytes, raw.n_bytes, &err), HS_OK);
    for (size_t n = 0; n < raw.n_bytes; n++)
        assert_int_equal(decode_edges(raw.bytes, n, &err), HS_FORMAT);
    hs_buffer_fini(&raw);
}

static void test_changed_bytes_stay_in_range(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer raw = {0};
    size_t n_refused = 0;
    encode_edges(&raw);
    for (size_t at = 0; at < raw.n_bytes; at++) {
        uint8_t byte = raw.bytes[at];
        for (unsigned value = 0; value < 256; value += 5) {
            raw.bytes[at] = (uint8_t)value;
            n_refused += decode_edges(raw.bytes, raw.n_bytes, &err) != HS_OK;
        }
        raw.bytes[at] = byte;
    }
    assert_true(n_refused > raw.n_bytes * 20);
    hs_buffer_fini(&raw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_varints_of_every_length),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_cut_columns),
        cmocka_unit_test(test_changed_bytes_stay_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
