/* links: hs_graph hs_format */
/* What was written comes back, from cells, rows and sweeps; what was damaged is found. */
#include "fail_each.h"
#include "graph/packed.h"

#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "seeds.h"

enum { MAX_NODES = 200000 };

static struct hs_error err;

/* Rows that a seed makes again each time. */
struct made {
    uint64_t seed, n_nodes;
    uint64_t n_edges;
    hs_node long_node; /* has a row of every third node */
};

static uint64_t made_row(const struct made *made, hs_node node, hs_node *row)
{
    uint64_t random = (made->seed + 1) * (node * 2 + 1), n = 0;
    if (node == made->long_node) {
        for (hs_node v = node % 3; v < made->n_nodes; v += 3)
            row[n++] = v;
        return n;
    }
    uint64_t wanted = hs_random_below(&random, 5);
    hs_node v = hs_random_below(&random, (uint32_t)made->n_nodes);
    for (; n < wanted && v < made->n_nodes; n++) {
        row[n] = v;
        v += 1 + hs_random_below(&random, n % 2 == 0 ? 3 : (uint32_t)made->n_nodes);
    }
    return n;
}

static hs_status to_buffer(void *context, const void *bytes, size_t n_bytes, struct hs_error *e)
{
    struct hs_buffer *buffer = context;
    HS_TRY(hs_buffer_reserve(buffer, n_bytes, e));
    hs_buffer_put_bytes(buffer, bytes, n_bytes);
    return HS_OK;
}

static hs_status write_rows(struct hs_packed_writer *writer, struct made *made, hs_node *row)
{
    made->n_edges = 0;
    for (hs_node node = 0; node < made->n_nodes; node++) {
        uint64_t n = made_row(made, node, row), half = n / 3;
        made->n_edges += n;
        if (node % 2 == 0) {
            HS_TRY(hs_packed_row(writer, row, n, &err));
            continue;
        }
        HS_TRY(hs_packed_row_begin(writer, n, &err));
        HS_TRY(hs_packed_row_more(writer, row, half, &err));
        HS_TRY(hs_packed_row_more(writer, row + half, n - half, &err));
    }
    return hs_packed_finish(writer, &err);
}

static hs_status write_made(struct made *made, struct hs_buffer *ret)
{
    static hs_node row[MAX_NODES];
    const struct hs_packed_sink sink = {to_buffer, ret};
    struct hs_packed_writer writer = {0};
    hs_status status = hs_packed_writer_init(&sink, made->n_nodes, &writer, &err);
    if (status == HS_OK)
        status = write_rows(&writer, made, row);
    assert_true(status != HS_OK || writer.n_bytes == ret->n_bytes);
    hs_packed_writer_fini(&writer);
    return status;
}

/* One row, all of it in order and in range. HS_OK only when it ends as it should. */
static hs_status read_values(const struct hs_packed *packed, struct hs_row row, hs_node *values,
                             uint64_t *ret_n)
{
    uint64_t n = 0;
    assert_true(row.n <= packed->n_nodes);
    for (hs_node value; hs_row_next(&row, &value); n++) {
        assert_true(value < packed->n_nodes && (n == 0 || value > values[n - 1]));
        values[n] = value;
    }
    HS_TRY(hs_row_check(&row, &err));
    assert_int_equal(n, row.n);
    *ret_n = n;
    return HS_OK;
}

static hs_status read_row(struct hs_packed *packed, hs_node node, hs_node *values, uint64_t *ret_n)
{
    struct hs_row row;
    HS_TRY(hs_packed_row_of(packed, node, &row, &err));
    return read_values(packed, row, values, ret_n);
}

static void check_values(const struct hs_packed *packed, const struct hs_row *row,
                         const struct made *made, hs_node node)
{
    static hs_node values[MAX_NODES], expected[MAX_NODES];
    uint64_t n, n_expected = made_row(made, node, expected);
    assert_int_equal(read_values(packed, *row, values, &n), HS_OK);
    assert_int_equal(n, n_expected);
    assert_memory_equal(values, expected, n * sizeof *values);
}

static void check_row(struct hs_packed *packed, const struct made *made, hs_node node)
{
    struct hs_row row;
    assert_int_equal(hs_packed_row_of(packed, node, &row, &err), HS_OK);
    check_values(packed, &row, made, node);
}

struct seen {
    const struct made *made;
    hs_node next;
    uint64_t n_of_row; /* of a row in parts, so far */
    uint64_t n_edges;
};

static void take_part(struct seen *seen, const struct hs_piece *piece, const hs_node *row,
                      uint64_t n)
{
    assert_int_equal(piece->n, 1);
    assert_int_equal(piece->of_row, n);
    assert_memory_equal(piece->target, row + seen->n_of_row, piece->begin[1] * sizeof *row);
    seen->n_of_row += piece->begin[1];
    if (seen->n_of_row == n)
        seen->next++;
}

static hs_status take_piece(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    static hs_node row[MAX_NODES];
    struct seen *seen = context;
    assert_int_equal(piece->begin[0], 0);
    assert_int_equal(piece->first, seen->next);
    seen->n_edges += piece->begin[piece->n];
    if (piece->of_row != 0) {
        take_part(seen, piece, row, made_row(seen->made, piece->first, row));
        return HS_OK;
    }
    for (uint32_t i = 0; i < piece->n; i++) {
        uint64_t n = made_row(seen->made, seen->next++, row);
        assert_int_equal(n, piece->begin[i + 1] - piece->begin[i]);
        assert_memory_equal(piece->target + piece->begin[i], row, n * sizeof *row);
    }
    return HS_OK;
}

static void check_sweep(struct hs_packed *packed, const struct made *made)
{
    struct seen seen = {.made = made};
    const struct hs_packed_rows rows = {.packed = packed, .n_tree = 1, .max_edges = made->n_edges};
    const struct hs_piece_sink sink = {take_piece, &seen};
    struct hs_sweep sweep = hs_sweep_of_packed(&rows);
    assert_int_equal(sweep.n_nodes, made->n_nodes);
    assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_OK);
    assert_int_equal(seen.next, made->n_nodes);
    assert_int_equal(seen.n_edges, made->n_edges);
    const struct hs_packed_rows fewer = {.packed = packed, .max_edges = made->n_edges - 1};
    sweep = hs_sweep_of_packed(&fewer);
    seen = (struct seen){.made = made};
    if (made->n_edges != 0)
        assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_FORMAT);
}

static void test_round_trip(void **state)
{
    static const uint64_t sizes[] = {0, 1, 2, 127, 128, 129, 500, 3072, 3075, 5000, MAX_NODES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct made made = {.seed = i, .n_nodes = sizes[i], .long_node = sizes[i] / 2};
        struct hs_buffer bytes = {0};
        struct hs_packed packed;
        uint64_t random = i + 1;
        assert_int_equal(write_made(&made, &bytes), HS_OK);
        assert_int_equal(
            hs_packed_open(bytes.bytes, bytes.n_bytes, sizes[i], hs_packed_skip_row, &packed, &err),
            HS_OK);
        for (hs_node node = 0; node < sizes[i] && node < 6000; node++)
            check_row(&packed, &made, node);
        for (unsigned k = 0; k < 1000 && sizes[i] != 0; k++)
            check_row(&packed, &made, hs_random_below(&random, (uint32_t)sizes[i]));
        check_sweep(&packed, &made);
        assert_int_equal(hs_packed_verify(&packed, &err), HS_OK);
        hs_packed_close(&packed);
        hs_buffer_fini(&bytes);
    }
}

/* Rows are found again where they began; from the middle of another one, or behind the page, what
 * is read is wrong or refused, and never from outside. */
static void test_places(void **state)
{
    static uint64_t places[5000];
    struct made made = {.seed = 3, .n_nodes = 5000, .long_node = 2500};
    struct hs_buffer bytes = {0};
    struct hs_packed packed;
    struct hs_row row;
    uint64_t random = 9;
    assert_int_equal(write_made(&made, &bytes), HS_OK);
    assert_int_equal(
        hs_packed_open(bytes.bytes, bytes.n_bytes, made.n_nodes, hs_packed_skip_row, &packed, &err),
        HS_OK);
    for (hs_node node = 0; node < made.n_nodes; node++) {
        assert_int_equal(hs_packed_row_of(&packed, node, &row, &err), HS_OK);
        places[node] = hs_packed_place(&packed);
    }
    for (unsigned k = 0; k < 5000; k++) {
        hs_node node = hs_random_below(&random, 5000);
        assert_int_equal(hs_packed_row_in(&packed, node, places[node], &row, &err), HS_OK);
        check_values(&packed, &row, &made, node);
        check_row(&packed, &made, made.n_nodes - 1 - k); /* which goes on from where it was */
    }
    /* A place is believed. */
    assert_int_equal(hs_packed_row_in(&packed, 77, places[76], &row, &err), HS_OK);
    assert_int_equal(hs_packed_row_in(&packed, 77, 1 << 20, &row, &err), HS_FORMAT);
    check_row(&packed, &made, 77); /* as if nothing had been asked */
    hs_packed_close(&packed);
    hs_buffer_fini(&bytes);
}

static void test_cells(void **state)
{
    struct hs_buffer bytes = {0};
    const struct hs_packed_sink sink = {to_buffer, &bytes};
    struct hs_packed_writer writer;
    struct hs_packed packed;
    enum { N = 1000 };
    assert_int_equal(hs_packed_writer_init(&sink, N, &writer, &err), HS_OK);
    for (uint64_t i = 0; i < N; i++) {
        uint64_t number = i * i * i * i * i * i;
        assert_int_equal(hs_packed_cell(&writer, &number, 1, &err), HS_OK);
    }
    assert_int_equal(hs_packed_finish(&writer, &err), HS_OK);
    hs_packed_writer_fini(&writer);
    assert_int_equal(
        hs_packed_open(bytes.bytes, bytes.n_bytes, N, hs_packed_skip_number, &packed, &err), HS_OK);
    for (uint64_t k = 0; k < 4 * N; k++) {
        uint64_t i = k < N ? k : k * 7919 % N;
        struct hs_cursor cursor;
        assert_int_equal(hs_packed_cell_of(&packed, i, &cursor, &err), HS_OK);
        assert_int_equal(hs_cursor_varint(&cursor), i * i * i * i * i * i);
    }
    hs_packed_close(&packed);
    hs_buffer_fini(&bytes);
}

/* Steps over any number of rows at once: empty ones, short ones, of numbers of one and of many
 * bytes, up to the end of what there is and beyond. */
static void test_skip_many(void **state)
{
    enum { N = 600 };
    struct hs_buffer bytes = {0};
    size_t begin[N + 1], n_rows = 0;
    uint64_t random = 5;
    for (; n_rows < N; n_rows++) {
        uint64_t n = hs_random_below(&random, 4) != 0 ? 0 : hs_random_below(&random, 12);
        begin[n_rows] = bytes.n_bytes;
        assert_int_equal(hs_buffer_reserve(&bytes, 20 * 12, &err), HS_OK);
        hs_buffer_put_varint(&bytes, n);
        for (uint64_t i = 0; i < n; i++) {
            uint64_t number = UINT64_MAX >> hs_random_below(&random, 64);
            hs_buffer_put_varint(&bytes, i % 3 == 0 ? number : i);
        }
    }
    begin[N] = bytes.n_bytes;
    for (size_t from = 0; from < N; from += 7)
        for (size_t to = from; to <= N; to += 1 + to % 5) {
            struct hs_cursor cursor =
                hs_cursor_make(bytes.bytes + begin[from], begin[N] - begin[from]);
            hs_packed_skip_row(&cursor, to - from);
            assert_false(cursor.failed);
            assert_int_equal(cursor.at, begin[to] - begin[from]);
        }
    struct hs_cursor cursor = hs_cursor_make(bytes.bytes, bytes.n_bytes);
    hs_packed_skip_row(&cursor, N + 1);
    assert_true(cursor.failed);
    hs_buffer_fini(&bytes);
}

/* Reads everything in every way. False when any of it says that there is damage. */
static bool read_all(const struct hs_buffer *bytes, uint64_t n_nodes)
{
    static hs_node row[MAX_NODES];
    struct hs_packed packed;
    uint64_t n;
    if (hs_packed_open(bytes->bytes, bytes->n_bytes, n_nodes, hs_packed_skip_row, &packed, &err) !=
        HS_OK)
        return false;
    bool whole = hs_packed_verify(&packed, &err) == HS_OK;
    for (hs_node node = 0; node < n_nodes; node++)
        whole &= read_row(&packed, node, row, &n) == HS_OK;
    hs_packed_close(&packed);
    return whole;
}

static void test_every_byte_counts(void **state)
{
    struct made made = {.seed = 3, .n_nodes = HS_SEEDS(3500), .long_node = 300};
    struct hs_buffer bytes = {0};
    assert_int_equal(write_made(&made, &bytes), HS_OK);
    assert_true(read_all(&bytes, made.n_nodes));
    for (size_t at = 0; at < bytes.n_bytes; at += 1 + at % 7) {
        bytes.bytes[at] ^= (uint8_t)(1U << at % 8);
        assert_false(read_all(&bytes, made.n_nodes));
        bytes.bytes[at] ^= (uint8_t)(1U << at % 8);
    }
    size_t n_bytes = bytes.n_bytes;
    for (bytes.n_bytes = 0; bytes.n_bytes < n_bytes; bytes.n_bytes += 61)
        assert_false(read_all(&bytes, made.n_nodes));
    bytes.n_bytes = n_bytes;
    assert_true(read_all(&bytes, made.n_nodes));
    hs_buffer_fini(&bytes);
}

/* One page of given numbers with all hashes in order. */
static hs_status read_forged(const uint64_t *numbers, unsigned n, hs_node node)
{
    struct hs_buffer bytes = {0};
    const struct hs_packed_sink sink = {to_buffer, &bytes};
    struct hs_packed_writer writer;
    struct hs_packed packed;
    hs_node row[16];
    uint64_t n_row;
    enum { N = 9 };
    assert_int_equal(hs_packed_writer_init(&sink, N, &writer, &err), HS_OK);
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(hs_packed_cell(&writer, numbers, i == 0 ? n : 0, &err), HS_OK);
    assert_int_equal(hs_packed_finish(&writer, &err), HS_OK);
    hs_packed_writer_fini(&writer);
    assert_int_equal(
        hs_packed_open(bytes.bytes, bytes.n_bytes, N, hs_packed_skip_row, &packed, &err), HS_OK);
    assert_int_equal(hs_packed_verify(&packed, &err), HS_OK);
    hs_status status = read_row(&packed, node, row, &n_row);
    hs_packed_close(&packed);
    hs_buffer_fini(&bytes);
    return status;
}

static void test_numbers_out_of_range(void **state)
{
    const uint64_t good[] = {3, hs_zigzag_encode(2), 0, 4}; /* 2, 3 and 8 */
    const uint64_t before[] = {1, hs_zigzag_encode(-1)};
    const uint64_t behind[] = {1, hs_zigzag_encode(9)};
    const uint64_t gap[] = {2, hs_zigzag_encode(2), 6};
    const uint64_t wraps[] = {2, hs_zigzag_encode(2), UINT64_MAX - 1};
    const uint64_t cut[] = {4, 0, 0};
    const uint64_t many[] = {10, 0, 0, 0, 0, 0, 0, 0};
    const uint64_t long_row[] = {HS_PACKED_LONG + 1, 0};
    const uint64_t endless[] = {UINT64_MAX, UINT64_MAX};
    assert_int_equal(read_forged(good, 4, 0), HS_OK);
    assert_int_equal(read_forged(before, 2, 0), HS_FORMAT);
    assert_int_equal(read_forged(behind, 2, 0), HS_FORMAT);
    assert_int_equal(read_forged(gap, 3, 0), HS_FORMAT);
    assert_int_equal(read_forged(wraps, 3, 0), HS_FORMAT);
    assert_int_equal(read_forged(cut, 3, 0), HS_FORMAT);
    assert_int_equal(read_forged(cut, 3, 1), HS_FORMAT);
    assert_int_equal(read_forged(many, 8, 0), HS_FORMAT);
    assert_int_equal(read_forged(long_row, 2, 0), HS_FORMAT);
    assert_int_equal(read_forged(endless, 2, 0), HS_FORMAT);
}

/* A long row may not lead to blocks of another page, or into its own. */
static void test_long_rows_stay_in_place(void **state)
{
    struct made made = {.seed = 1, .n_nodes = 4000, .long_node = 0};
    struct hs_buffer bytes = {0}, forged = {0};
    const struct hs_packed_sink sink = {to_buffer, &forged};
    struct hs_packed_writer writer;
    struct hs_packed packed;
    struct hs_row row;
    const uint64_t cell[] = {1334, 0};
    static hs_node values[MAX_NODES];
    assert_int_equal(write_made(&made, &bytes), HS_OK);
    /* The same row at node 0, and a cell of node 200 that wants its blocks. */
    assert_int_equal(hs_packed_writer_init(&sink, made.n_nodes, &writer, &err), HS_OK);
    for (hs_node node = 0; node < made.n_nodes; node++) {
        uint64_t n = node == 0 ? made_row(&made, 0, values) : 0;
        if (node == 200)
            assert_int_equal(hs_packed_cell(&writer, cell, 2, &err), HS_OK);
        else
            assert_int_equal(hs_packed_row(&writer, values, n, &err), HS_OK);
    }
    assert_int_equal(hs_packed_finish(&writer, &err), HS_OK);
    hs_packed_writer_fini(&writer);
    assert_int_equal(hs_packed_open(forged.bytes, forged.n_bytes, made.n_nodes, hs_packed_skip_row,
                                    &packed, &err),
                     HS_OK);
    assert_int_equal(hs_packed_row_of(&packed, 0, &row, &err), HS_OK);
    assert_int_equal(row.n, cell[0]);
    assert_int_equal(hs_packed_row_of(&packed, 200, &row, &err), HS_FORMAT);
    hs_packed_close(&packed);
    hs_buffer_fini(&bytes);
    hs_buffer_fini(&forged);
}

/* What is looked at here and there of a file is given back when it is more than is allowed, or than
 * is left, counted once however often it is looked at; and comes again. */
static void test_what_is_near(void **state)
{
    enum { STRETCH = 64 << 10 };
    struct made made = {.seed = 5, .n_nodes = MAX_NODES, .long_node = MAX_NODES};
    struct hs_buffer bytes = {0};
    struct hs_packed packed;
    struct hs_packed_pool pool = {
        .members = &packed, .n_members = 1, .most_bytes = 6 * STRETCH, .budget = NULL};
    assert_int_equal(write_made(&made, &bytes), HS_OK);
    int fd = memfd_create("packed", 0);
    assert_int_equal(write(fd, bytes.bytes, bytes.n_bytes), (ssize_t)bytes.n_bytes);
    void *map = mmap(NULL, bytes.n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(map != MAP_FAILED && bytes.n_bytes > 10 * STRETCH);
    assert_int_equal(
        hs_packed_open(map, bytes.n_bytes, MAX_NODES, hs_packed_skip_row, &packed, &err), HS_OK);
    assert_int_equal(hs_packed_map_bytes(&packed), bytes.n_bytes);
    packed.pool = &pool;
    for (int i = 0; i < 1000; i++) /* of two pages: three stretches each at most */
        check_row(&packed, &made, i % 2 == 0 ? 100 : MAX_NODES / 2);
    assert_in_range(pool.near.n_bytes, 3 * STRETCH, 6 * STRETCH);
    const uint64_t before = pool.near.n_bytes;
    check_row(&packed, &made, 100);
    assert_int_equal(pool.near.n_bytes, before);
    uint64_t random = 7, n_given_back = 0, last = before;
    for (int i = 0; i < 2000; i++, last = pool.near.n_bytes) {
        check_row(&packed, &made, hs_random_below(&random, MAX_NODES));
        assert_true(pool.near.n_bytes <= pool.most_bytes);
        n_given_back += pool.near.n_bytes < last;
    }
    assert_in_range(n_given_back, 100, 1999);
    struct hs_budget budget;
    hs_budget_init(64 << 20, NULL, 1, &budget);
    pool.budget = &budget;
    hs_packed_pool_begin(&pool);
    assert_int_equal(hs_budget_reserve(&budget, hs_budget_left_bytes(&budget), "all", &err), HS_OK);
    assert_int_equal(pool.near.n_bytes, 0); /* it was needed elsewhere */
    check_row(&packed, &made, 100);
    hs_packed_pool_end(&pool);
    pool.budget = NULL;
    last = pool.near.n_bytes;
    pool.most_bytes = bytes.n_bytes + 2 * STRETCH; /* all of it */
    for (int i = 0; i < 2000; i++, last = pool.near.n_bytes) {
        check_row(&packed, &made, hs_random_below(&random, MAX_NODES));
        assert_true(pool.near.n_bytes >= last);
    }
    hs_packed_close(&packed);
    munmap(map, bytes.n_bytes);
    close(fd);
    hs_buffer_fini(&bytes);
}

static void test_every_allocation_fails(void **state)
{
    struct made made = {.seed = 9, .n_nodes = 4000, .long_node = 5};
    struct hs_buffer bytes = {0};
    struct hs_packed packed = {0};
    FAIL_EACH (each, .mode = FAIL_REST) {
        if (FAIL_EACH_TRY(each, write_made(&made, &bytes)) != HS_OK) {
            bytes.n_bytes = 0;
            hs_buffer_fini(&bytes);
        }
    }
    hs_alloc_fail_at(1, true);
    hs_status status =
        hs_packed_open(bytes.bytes, 1 << 20, 4000, hs_packed_skip_row, &packed, &err);
    hs_alloc_fail_at(0, false);
    assert_int_equal(status, HS_LIMIT);
    assert_null(packed.is_verified);
    hs_buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_skip_many),
        cmocka_unit_test(test_every_byte_counts),
        cmocka_unit_test(test_numbers_out_of_range),
        cmocka_unit_test(test_long_rows_stay_in_place),
        cmocka_unit_test(test_what_is_near),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
