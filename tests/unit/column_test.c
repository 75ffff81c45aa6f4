/* links: hs_format */
/* The table codec: what a column stores, and what it must refuse. */
#include "unit.h"

#include "base/alloc.h"
#include "format/column.h"

struct record {
    uint64_t wide;
    uint64_t link;
    uint32_t name;
    uint32_t field;
    uint16_t tag;
    uint8_t form;
    uint64_t hash;
};

static const struct hs_column columns[] = {
    HS_COLUMN(record, wide, HS_COLUMN_DELTA, UINT64_MAX),
    HS_COLUMN(record, link, HS_COLUMN_DELTA | HS_COLUMN_NONE, UINT64_MAX),
    HS_COLUMN(record, name, HS_COLUMN_STRING | HS_COLUMN_DELTA, 0),
    HS_COLUMN(record, field, HS_COLUMN_NONE, UINT64_MAX),
    HS_COLUMN(record, tag, 0, UINT64_MAX),
    HS_COLUMN(record, form, 0, 3),
    HS_COLUMN(record, hash, HS_COLUMN_FIXED, UINT64_MAX),
};
static const struct hs_column_limits nine = {.version = 2, .n_strings = 9};
static const struct hs_column_limits four = {.version = 2, .n_strings = 4};
static const struct hs_column_limits three = {.version = 2, .n_strings = 3};
static const struct hs_schema schema = {"record", columns, 7, sizeof(struct record)};

static void test_extremes_round_trip(void **state)
{
    struct record records[4] = {
        {0, 0, 0, 0, 0, 0, 0},
        {UINT64_MAX, UINT64_MAX, 9, UINT32_MAX, UINT16_MAX, 3, UINT64_MAX},
        {1, UINT64_MAX - 1, 1, UINT32_MAX - 1, 1, 1, 1},
        {UINT64_MAX / 2, 5, 9, 7, 300, 2, 0x0123456789abcdef},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    struct record *found = NULL;
    size_t n;
    assert_int_equal(hs_schema_encode_list(&schema, records, 4, &nine, &b, &err), HS_OK);
    struct hs_cursor c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode_list(&schema, &c, &nine, &found, &n, &err), HS_OK);
    assert_int_equal(n, 4);
    assert_int_equal(hs_cursor_left(&c), 0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(found[i].wide, records[i].wide);
        assert_int_equal(found[i].link, records[i].link);
        assert_int_equal(found[i].name, records[i].name);
        assert_int_equal(found[i].field, records[i].field);
        assert_int_equal(found[i].tag, records[i].tag);
        assert_int_equal(found[i].form, records[i].form);
        assert_int_equal(found[i].hash, records[i].hash);
    }
    hs_free(found);

    /* Every cut is seen, and nothing is left allocated (a sanitizer watches). */
    for (size_t cut = 0; cut < b.n_bytes; cut++) {
        c = hs_cursor_make(b.bytes, cut);
        assert_int_equal(hs_schema_decode_list(&schema, &c, &nine, &found, &n, &err), HS_FORMAT);
    }
    hs_buffer_fini(&b);
}

static void test_limits_hold_in_both_directions(void **state)
{
    struct record record = {.form = 3, .name = 4};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    assert_int_equal(hs_schema_encode(&schema, &record, 1, &four, &b, &err), HS_OK);
    struct hs_cursor c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode(&schema, &c, &record, 1, &four, &err), HS_OK);
    c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode(&schema, &c, &record, 1, &three, &err), HS_FORMAT);
    assert_string_equal(err.message, "record 0: column 2 holds 4, over its limit 3");
    assert_int_equal(hs_schema_encode(&schema, &record, 1, &three, &b, &err), HS_BUG);
    record.form = 4;
    assert_int_equal(hs_schema_encode(&schema, &record, 1, &four, &b, &err), HS_BUG);
    assert_string_equal(err.message, "record 0: column 5 would hold 4, over its limit 3");
    hs_buffer_fini(&b);
}

/* A count that the bytes cannot hold is refused before the allocation. */
static void test_count_is_not_believed(void **state)
{
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0};
    struct hs_error err = HS_ERROR_INIT;
    struct record *found = NULL;
    size_t n;
    struct hs_cursor c = hs_cursor_make(huge, sizeof huge);
    uint64_t before = hs_alloc_count();
    assert_int_equal(hs_schema_decode_list(&schema, &c, &nine, &found, &n, &err), HS_FORMAT);
    assert_int_equal(hs_alloc_count(), before);
    assert_null(found);
}

struct grown {
    uint8_t level, young;
};

static const struct hs_column grown_columns[] = {
    HS_COLUMN_GREW(grown, level, 0, 5, 4),
    HS_COLUMN_SINCE(grown, young, 0, 3, 2),
};
static const struct hs_schema grown_schema = {"grown", grown_columns, 2, sizeof(struct grown)};

/* A younger column is not in an older file; a limit that grew is the older one there. */
static void test_each_version_has_its_columns(void **state)
{
    const struct hs_column_limits first = {.version = 1}, second = {.version = 2};
    struct grown records[2] = {{4, 1}, {3, 2}};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    struct grown *found = NULL;
    size_t n;
    assert_int_equal(hs_schema_encode_list(&grown_schema, records, 2, &first, &b, &err), HS_OK);
    assert_int_equal(b.n_bytes, 3);
    struct hs_cursor c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode_list(&grown_schema, &c, &first, &found, &n, &err), HS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(found[0].level, 4);
    assert_int_equal(found[0].young, 0);
    hs_free(found);
    /* Two records of one byte each are none of two bytes each. */
    c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode_list(&grown_schema, &c, &second, &found, &n, &err),
                     HS_FORMAT);
    b.n_bytes = 0;
    records[0].level = 5;
    assert_int_equal(hs_schema_encode_list(&grown_schema, records, 2, &first, &b, &err), HS_BUG);
    b.n_bytes = 0;
    assert_int_equal(hs_schema_encode_list(&grown_schema, records, 2, &second, &b, &err), HS_OK);
    c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode_list(&grown_schema, &c, &second, &found, &n, &err), HS_OK);
    assert_memory_equal(found, records, sizeof records);
    hs_free(found);
    c = hs_cursor_make(b.bytes, b.n_bytes);
    assert_int_equal(hs_schema_decode_list(&grown_schema, &c, &first, &found, &n, &err), HS_FORMAT);
    hs_buffer_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_extremes_round_trip),
        cmocka_unit_test(test_limits_hold_in_both_directions),
        cmocka_unit_test(test_count_is_not_believed),
        cmocka_unit_test(test_each_version_has_its_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
