/* links: hs_format */
/* The deep check believes nothing: every total, order and range is counted again. (What it must
 * reject one by one stands in tests/golden; here are the things that need more than one chunk.) */
#include "unit.h"

#include "base/alloc.h"
#include "graph_builder.h"
#include "snap_forge.h"

static void build(struct hs_graph_builder *b, uint32_t n)
{
    uint32_t first = hs_graph_builder_blocks(b, n, 3);
    for (uint32_t i = 0; i < n; i++)
        hs_graph_builder_edge(b, first + i, first + (i * 7 + 1) % n, HS_EDGE_EXACT);
    uint32_t leaf =
        hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "main", "Unit", "Unit.value", first + n / 2);
    uint32_t weak = hs_graph_builder_leaf(b, HS_ROOT_FINALISER, NULL, NULL, "last", first);
    b->leaves[weak].weak = true;
    (void)leaf;
}

static hs_status check_forged(const struct hs_forge *forge, struct hs_error *err)
{
    struct hs_snap *snap = NULL;
    void *bytes;
    size_t n;
    hs_forge_bytes(forge, &bytes, &n);
    hs_status status = hs_snap_open_bytes(bytes, n, 0, &snap, err);
    assert_int_equal(status, HS_OK);
    status = hs_snap_check(snap, NULL, err);
    hs_snap_close(snap);
    hs_free(bytes);
    return status;
}

static void forge_chunks(struct hs_forge *forge)
{
    struct hs_graph_builder b = {0};
    void *bytes;
    size_t n;
    build(&b, 2 * HS_CHUNK_BLOCKS + 10);
    hs_graph_builder_bytes(&b, &bytes, &n);
    hs_forge_open(forge, bytes, n);
    hs_free(bytes);
    hs_graph_builder_fini(&b);
}

static void test_unchanged_passes(void **state)
{
    struct hs_forge forge;
    struct hs_error err = HS_ERROR_INIT;
    forge_chunks(&forge);
    assert_int_equal(check_forged(&forge, &err), HS_OK);
    hs_forge_close(&forge);
}

/* The second chunk repeats the addresses of the first. */
static void test_chunks_out_of_order(void **state)
{
    struct hs_forge forge;
    struct hs_error err = HS_ERROR_INIT;
    forge_chunks(&forge);
    struct hs_forge_section *first = hs_forge_section(&forge, HS_SECTION_SIZES, 0);
    struct hs_forge_section *second = hs_forge_section(&forge, HS_SECTION_SIZES, 1);
    hs_forge_splice(second, 0, second->raw.n_bytes, first->raw.bytes, first->raw.n_bytes);
    forge.chunks[1].first_address = forge.chunks[0].first_address;
    assert_int_equal(check_forged(&forge, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "begins before the one before it ends"));
    hs_forge_close(&forge);
}

static void test_edges_of_one_target_out_of_order(void **state)
{
    struct hs_graph_builder b = {.zstd_level = -1};
    struct hs_forge forge;
    struct hs_error err = HS_ERROR_INIT;
    void *bytes;
    size_t n;
    uint32_t a = hs_graph_builder_block(&b, 4, false);
    hs_graph_builder_edge_at(&b, a, a, HS_EDGE_EXACT, 1);
    hs_graph_builder_edge_at(&b, a, a, HS_EDGE_EXACT, 2);
    hs_graph_builder_bytes(&b, &bytes, &n);
    hs_forge_open(&forge, bytes, n);
    assert_int_equal(check_forged(&forge, &err), HS_OK);
    struct hs_forge_section *fields = hs_forge_section(&forge, HS_SECTION_FIELDS, 0);
    hs_forge_set_byte(fields, 3,
                      3); /* behind the run of classes: word 1, then 1 + 1 - 2 = word 0 */
    assert_int_equal(check_forged(&forge, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "are out of order"));
    hs_forge_close(&forge);
    hs_free(bytes);
    hs_graph_builder_fini(&b);
}

static void test_each_run_of_the_histogram(void **state)
{
    struct hs_forge forge;
    struct hs_error err = HS_ERROR_INIT;
    forge_chunks(&forge);
    struct hs_forge_section *histogram = hs_forge_section(&forge, HS_SECTION_HISTOGRAM, 0);
    for (size_t at = 2; at < histogram->raw.n_bytes; at += 31) {
        uint8_t byte = histogram->raw.bytes[at];
        hs_forge_set_byte(histogram, at, byte ^ 1);
        assert_int_equal(check_forged(&forge, &err), HS_FORMAT);
        assert_non_null(strstr(err.message, "HISTOGRAM"));
        hs_forge_set_byte(histogram, at, byte);
    }
    assert_int_equal(check_forged(&forge, &err), HS_OK);
    hs_forge_close(&forge);
}

struct told {
    uint64_t n_calls, stop_at;
};

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct told *told = context;
    assert_string_equal(phase, "checking");
    assert_true(done <= total);
    return ++told->n_calls != told->stop_at;
}

static void test_progress_and_interruption(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_error err = HS_ERROR_INIT;
    build(&b, 2 * HS_CHUNK_BLOCKS);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    struct told told = {0};
    const struct hs_progress progress = {.tell = tell, .context = &told};
    assert_int_equal(hs_snap_check(snap, &progress, &err), HS_OK);
    assert_int_equal(told.n_calls, 3);
    told = (struct told){.stop_at = 2};
    assert_int_equal(hs_snap_check(snap, &progress, &err), HS_LIMIT);
    assert_int_equal(told.n_calls, 2);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unchanged_passes),
        cmocka_unit_test(test_chunks_out_of_order),
        cmocka_unit_test(test_edges_of_one_target_out_of_order),
        cmocka_unit_test(test_each_run_of_the_histogram),
        cmocka_unit_test(test_progress_and_interruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
