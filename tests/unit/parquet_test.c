/* links: hs_parquet */
#include "unit.h"

#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "parquet/pack.h"
#include "parquet/thrift.h"
#include "parquet/writer.h"

/* ---- encodings, read back by the plainest reader */

static uint64_t bits_at(const uint8_t *bytes, size_t at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++)
        value |= (uint64_t)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    return value;
}

static uint64_t varint(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

/* As the specification of DELTA_BINARY_PACKED tells it; where the encoding ends. */
static const uint8_t *unpack(const uint8_t *at, int64_t *values, size_t n)
{
    uint64_t block = varint(&at), groups = varint(&at);
    assert_int_equal(varint(&at), n);
    uint64_t last = (uint64_t)hs_zigzag_decode(varint(&at));
    if (n > 0)
        values[0] = (int64_t)last;
    for (size_t i = 1; i < n;) {
        uint64_t least = (uint64_t)hs_zigzag_decode(varint(&at));
        const uint8_t *width = at;
        at += groups;
        for (uint64_t g = 0; g < groups && i < n; g++) {
            for (uint64_t k = 0; k < block / groups && i < n; k++, i++) {
                last += least + bits_at(at, k * width[g], width[g]);
                values[i] = (int64_t)last;
            }
            at += block / groups * width[g] / 8;
        }
    }
    return at;
}

static void deltas_are_read_back(const int64_t *values, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    int64_t *back = calloc(n + 1, sizeof *back);
    assert_int_equal(pack_deltas(values, n, &b, &err), HS_OK);
    assert_ptr_equal(unpack(b.bytes, back, n), b.bytes + b.n_bytes);
    if (n != 0)
        assert_memory_equal(values, back, n * sizeof *values);
    free(back);
    hs_buffer_fini(&b);
}

static void deltas(void **state)
{
    static const int64_t extremes[] = {0, INT64_MAX, INT64_MIN, -1, INT64_MIN, INT64_MAX, 1, 1};
    int64_t values[1000];
    deltas_are_read_back(extremes, 8);
    for (unsigned width = 0; width < 64; width++) {
        uint64_t random = width + 1;
        for (size_t i = 0; i < 1000; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            values[i] = (int64_t)(random >> (63 - width)) - (i % 3 == 0 ? 77 : 0);
        }
        deltas_are_read_back(values, 1000 - width);
    }
    for (size_t n = 0; n < 300; n++)
        deltas_are_read_back(values, n);
}

static void what_rises_evenly_is_small(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    int64_t values[12800];
    for (int64_t i = 0; i < 12800; i++)
        values[i] = 1000000 + 16 * i;
    assert_int_equal(pack_deltas(values, 12800, &b, &err), HS_OK);
    assert_true(b.n_bytes < 100 * 6 + 20); /* a block: its least difference and four widths */
    hs_buffer_fini(&b);
}

static void indices(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    for (size_t n = 0; n < 40; n++) {
        struct hs_buffer b = {0};
        uint64_t values[40];
        for (size_t i = 0; i < n; i++)
            values[i] = i * 7 % 19;
        assert_int_equal(pack_indices(values, n, 5, &b, &err), HS_OK);
        const uint8_t *at = b.bytes;
        assert_int_equal(*at++, 5);
        uint64_t head = varint(&at);
        assert_int_equal(head & 1, 1);
        assert_int_equal(head >> 1, (n + 7) / 8);
        assert_ptr_equal(at + (head >> 1) * 5, b.bytes + b.n_bytes);
        for (size_t i = 0; i < n; i++)
            assert_int_equal(bits_at(at, 5 * i, 5), values[i]);
        hs_buffer_fini(&b);
    }
}

static void compact_protocol(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    struct thrift t = thrift_begin(&b, &err);
    thrift_i32(&t, 1, -1);
    thrift_i64(&t, 40, 150);
    thrift_open(&t, 41);
    thrift_text(&t, 2, "ab");
    thrift_true(&t, 3);
    thrift_close(&t);
    thrift_list(&t, 42, 15, THRIFT_I32);
    for (int i = 0; i < 15; i++)
        thrift_item_i32(&t, 0);
    assert_int_equal(thrift_end(&t), HS_OK);
    static const uint8_t expected[] = {0x15, 1, 0x06, 80,   0xac, 0x02, 0x1c, 0x28, 2, 'a', 'b',
                                       0x11, 0, 0x19, 0xf5, 15,   0,    0,    0,    0, 0,   0,
                                       0,    0, 0,    0,    0,    0,    0,    0,    0, 0};
    assert_int_equal(b.n_bytes, sizeof expected);
    assert_memory_equal(b.bytes, expected, sizeof expected);
    hs_buffer_fini(&b);
}

/* ---- files */

static const struct hs_parquet_column columns[] = {
    {"id", HS_PARQUET_ORDERED},      {"address", HS_PARQUET_ADDRESS}, {"words", HS_PARQUET_NUMBER},
    {"is_static", HS_PARQUET_TRUTH}, {"taken", HS_PARQUET_TIME},      {"type", HS_PARQUET_TEXT},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static hs_status write_rows(struct hs_out *out, uint64_t n_rows, struct hs_budget *budget,
                            struct hs_error *err)
{
    char text[32];
    hs_auto(hs_parquet) *writer = NULL;
    HS_TRY(hs_parquet_open(out, "heapsnap.test/1", columns, N_COLUMNS, budget, &writer, err));
    for (uint64_t i = 0; i < n_rows; i++) {
        (void)snprintf(text, sizeof text, "type %u", (unsigned)(i * i % 1000));
        struct hs_parquet_value row[N_COLUMNS] = {
            {.number = (int64_t)i},
            {.address = i << 40},
            {.number = (int64_t)(i * 0x9e3779b97f4a7c15)},
            {.number = i % 2},
            {.number = 1},
            {.text = text},
        };
        HS_TRY(hs_parquet_row(writer, row, err));
    }
    return hs_parquet_finish(writer, err);
}

struct file {
    char path[64];
    struct hs_map map;
};

static struct file make_file(uint64_t n_rows)
{
    struct hs_error err = HS_ERROR_INIT;
    struct file file = {.path = "/tmp/heapsnap-test.XXXXXX"};
    struct hs_out out;
    int fd = mkstemp(file.path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(hs_out_open_path(file.path, &out, &err), HS_OK);
    assert_int_equal(write_rows(&out, n_rows, NULL, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    assert_int_equal(hs_map_open(file.path, &file.map, &err), HS_OK);
    return file;
}

static void remove_file(struct file *file)
{
    hs_map_close(&file->map);
    (void)unlink(file->path);
}

static void same_bytes(void **state)
{
    static const uint64_t sizes[] = {0, 1, 7, 100000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct file a = make_file(sizes[i]), b = make_file(sizes[i]);
        assert_int_equal(a.map.n_bytes, b.map.n_bytes);
        assert_memory_equal(a.map.bytes, b.map.bytes, a.map.n_bytes);
        assert_memory_equal(a.map.bytes, "PAR1", 4);
        assert_memory_equal(a.map.bytes + a.map.n_bytes - 4, "PAR1", 4);
        remove_file(&a);
        remove_file(&b);
    }
}

static void texts_without_end_are_bounded(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    static const struct hs_parquet_column names[] = {{"name", HS_PARQUET_TEXT}};
    struct hs_budget budget = {.limit_bytes = (uint64_t)32 << 20};
    struct hs_parquet *writer = NULL;
    struct hs_out out;
    const size_t n = 1 << 20;
    char *text = malloc(n + 1);
    memset(text, 'x', n);
    text[n] = 0;
    assert_int_equal(hs_out_open_path("/dev/null", &out, &err), HS_OK);
    assert_int_equal(hs_parquet_open(&out, "heapsnap.test/1", names, 1, &budget, &writer, &err),
                     HS_OK);
    for (unsigned i = 0; i < 40; i++) { /* 40 MB of names */
        (void)snprintf(text, 16, "%u", i);
        text[strlen(text)] = 'x';
        struct hs_parquet_value row = {.text = text};
        assert_int_equal(hs_parquet_row(writer, &row, &err), HS_OK);
    }
    assert_int_equal(hs_parquet_finish(writer, &err), HS_OK);
    hs_parquet_close(writer);
    assert_int_equal(budget.used_bytes, 0);
    hs_out_close(&out);
    free(text);
}

static void limits(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out;
    struct hs_budget budget = {.limit_bytes = 1 << 20};
    assert_int_equal(hs_out_open_path("/dev/null", &out, &err), HS_OK);
    assert_int_equal(write_rows(&out, 1, &budget, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "no memory for the table that is written"));
    assert_int_equal(budget.used_bytes, 0);
    hs_out_close(&out);
    assert_int_equal(hs_out_open_path("/dev/full", &out, &err), HS_OK);
    assert_int_equal(write_rows(&out, 100000, NULL, &err), HS_IO);
    hs_out_close(&out);
}

static void failing_allocations(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out;
    assert_int_equal(hs_out_open_path("/dev/null", &out, &err), HS_OK);
    FAIL_EACH (f, .at_least = 10) {
        hs_status status = FAIL_EACH_TRY(f, write_rows(&out, 3000, NULL, &err));
        assert_true(status == HS_OK || status == HS_LIMIT);
    }
    hs_out_close(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas),     cmocka_unit_test(what_rises_evenly_is_small),
        cmocka_unit_test(indices),    cmocka_unit_test(compact_protocol),
        cmocka_unit_test(same_bytes), cmocka_unit_test(texts_without_end_are_bounded),
        cmocka_unit_test(limits),     cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
