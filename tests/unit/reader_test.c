/* links: hs_format */
/* What is not a whole, sound snapshot is never taken for one: cut at every byte, every bit flipped,
 * memory gone at every allocation. */
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "format/reader_internal.h"
#include "golden_files.h"
#include "graph_builder.h"

static void make(const char *name, struct hs_golden_file *ret)
{
    for (size_t i = 0; i < hs_golden_count(); i++) {
        hs_golden_make(i, ret);
        if (strcmp(ret->name, name) == 0)
            return;
        hs_golden_fini(ret);
    }
    fail_msg("no golden file %s", name);
}

/* An exact copy, so that a sanitizer sees a read beyond it. */
static uint8_t *copy(const void *bytes, size_t n)
{
    uint8_t *fresh = malloc(n == 0 ? 1 : n);
    assert_non_null(fresh);
    memcpy(fresh, bytes, n);
    return fresh;
}

static void load_all(const struct hs_snap *snap)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    hs_node end = totals->n_tree + totals->n_blocks;
    for (uint64_t at = 0; at < totals->n_chunks; at++) {
        assert_int_equal(hs_snap_load_chunk(snap, at, HS_COL_ALL, &chunk, &err), HS_OK);
        for (uint64_t e = 0; e < chunk.n_edges; e++)
            assert_in_range(chunk.target[e], totals->n_tree, end - 1);
        for (uint64_t e = 0; e < chunk.n_extra; e++)
            assert_in_range(chunk.extra[e].target, totals->n_tree, end - 1);
        for (uint32_t i = 0; i < chunk.n_blocks; i++)
            assert_true(chunk.type[i] < totals->n_types);
    }
    for (hs_node i = 0; i < totals->n_tree; i++)
        if (hs_snap_root(snap, i)->target != HS_NO_NODE)
            assert_true(hs_snap_root(snap, i)->target < end);
    hs_chunk_fini(&chunk);
}

/* Returns whether the cut file opened. */
static bool expect_cut(const uint8_t *bytes, size_t n, size_t n_whole)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    char place[48];
    assert_true(n < n_whole);
    assert_int_equal(hs_snap_open_bytes(bytes, n, 0, &snap, &err), HS_FORMAT);
    (void)snprintf(place, sizeof place, "it is cut at byte %zu, ", n);
    if (strstr(err.message, n == 0 ? "it is empty" : place) == NULL)
        fail_msg("cut at %zu: %s", n, err.message);
    assert_true(err.hint[0] != '\0');

    hs_status status = hs_snap_open_bytes(bytes, n, HS_SNAP_ALLOW_CUT, &snap, &err);
    if (status != HS_OK) {
        assert_int_equal(status, HS_FORMAT);
        return false;
    }
    assert_true(hs_snap_is_cut(snap));
    load_all(snap);
    if (hs_snap_check(snap, NULL, &err) != HS_OK)
        fail_msg("cut at %zu: %s", n, err.message);
    hs_snap_close(snap);
    return true;
}

static void test_cut_at_every_byte(void **state)
{
    struct hs_golden_file file;
    size_t first = 0;
    make("example.snap", &file);
    for (size_t n = 0; n < file.n_bytes; n++) {
        uint8_t *bytes = copy(file.bytes, n);
        bool opened = expect_cut(bytes, n, file.n_bytes);
        if (opened && first == 0)
            first = n;
        assert_int_equal(opened, first != 0); /* once the tree is there it always opens */
        free(bytes);
    }
    assert_in_range(first, 200, file.n_bytes / 2);
    hs_golden_fini(&file);
}

/* Two chunks, cut in the second: the first is there, and edges into the second are gone. */
static void test_cut_keeps_whole_chunks(void **state)
{
    struct hs_golden_file file;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    make("chunks.snap", &file);
    assert_int_equal(hs_snap_open_bytes(file.bytes, file.n_bytes, 0, &snap, &err), HS_OK);
    size_t cut = (size_t)hs_snap_chunk_section(snap, 1, HS_SECTION_EXTRA)->offset + 7;
    assert_false(hs_snap_is_cut(snap));
    assert_int_equal(hs_snap_totals(snap)->n_edges, HS_CHUNK_BLOCKS + 3);
    hs_snap_close(snap);

    assert_int_equal(hs_snap_open_bytes(file.bytes, cut, HS_SNAP_ALLOW_CUT, &snap, &err), HS_OK);
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    assert_int_equal(totals->n_blocks, HS_CHUNK_BLOCKS);
    assert_int_equal(totals->n_edges, HS_CHUNK_BLOCKS - 1);
    assert_int_equal(totals->heap_words, 3 * HS_CHUNK_BLOCKS);
    assert_int_equal(totals->n_types, 1);
    assert_string_equal(hs_snap_string(snap, hs_snap_type(snap, 0)->name), "");
    load_all(snap);
    struct hs_chunk chunk = {0};
    assert_int_equal(hs_snap_load_chunk(snap, 1, HS_COL_SIZES, &chunk, &err), HS_BUG);
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    hs_golden_fini(&file);
}

static void test_every_flipped_bit_is_seen(void **state)
{
    struct hs_golden_file file;
    struct hs_error err = HS_ERROR_INIT;
    make("example.snap", &file);
    uint8_t *bytes = copy(file.bytes, file.n_bytes);
    for (size_t bit = 0; bit < file.n_bytes * 8; bit++) {
        struct hs_snap *snap = NULL;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hs_status status = hs_snap_open_bytes(bytes, file.n_bytes, 0, &snap, &err);
        if (status == HS_OK)
            status = hs_snap_check(snap, NULL, &err);
        if (status != HS_FORMAT)
            fail_msg("bit %zu of byte %zu is not seen", bit % 8, bit / 8);
        hs_snap_close(snap);
        snap = NULL;
        /* Allowing a cut allows nothing else: what opens is a prefix and still sound. */
        if (hs_snap_open_bytes(bytes, file.n_bytes, HS_SNAP_ALLOW_CUT, &snap, &err) == HS_OK &&
            hs_snap_check(snap, NULL, &err) == HS_OK)
            assert_true(hs_snap_is_cut(snap));
        hs_snap_close(snap);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free(bytes);
    hs_golden_fini(&file);
}

static void test_bytes_after_the_end_are_seen(void **state)
{
    struct hs_golden_file file;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    make("example.snap", &file);
    uint8_t *bytes = calloc(1, file.n_bytes + 100);
    assert_non_null(bytes);
    memcpy(bytes, file.bytes, file.n_bytes);
    assert_int_equal(hs_snap_open_bytes(bytes, file.n_bytes + 100, 0, &snap, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "100 bytes follow its end"));
    /* A whole end of another length, which is what concatenated files have. */
    memcpy(bytes + 100, file.bytes, file.n_bytes);
    memcpy(bytes, file.bytes, 100);
    assert_int_equal(hs_snap_open_bytes(bytes, file.n_bytes + 100, 0, &snap, &err), HS_FORMAT);
    free(bytes);
    hs_golden_fini(&file);
}

static hs_status open_and_check(const struct hs_golden_file *file, unsigned flags,
                                struct hs_error *err)
{
    struct hs_snap *snap = NULL;
    hs_node node;
    HS_TRY(hs_snap_open_bytes(file->bytes, file->n_bytes, flags, &snap, err));
    hs_status status = hs_snap_check(snap, NULL, err);
    if (status == HS_OK)
        status = hs_snap_find_address(snap, 0x10000, &node, err);
    hs_snap_close(snap);
    return status;
}

static void test_every_allocation_fails_once(void **state)
{
    static const char *const names[] = {"example.snap", "classes.snap", "chunks.snap"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] * 2; i++) {
        struct hs_golden_file file;
        struct hs_error err = HS_ERROR_INIT;
        unsigned flags = i % 2 ? HS_SNAP_ALLOW_CUT : 0;
        make(names[i / 2], &file);
        file.n_bytes -= i % 2;
        FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 10) {
            (void)FAIL_EACH_TRY(each, open_and_check(&file, flags, &err));
        }
        hs_golden_fini(&file);
    }
}

static void test_find_address(void **state)
{
    struct hs_golden_file file;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    make("example.snap", &file);
    assert_int_equal(hs_snap_open_bytes(file.bytes, file.n_bytes, 0, &snap, &err), HS_OK);
    hs_node first = hs_snap_totals(snap)->n_tree;
    const struct {
        hs_addr address;
        hs_node node;
    } cases[] = {
        {0, HS_NO_NODE},
        {0x600fff, HS_NO_NODE},
        {0x601000, first},
        {0x60100f, first},
        {0x601010, HS_NO_NODE},
        {0x7f0000001000, first + 1},
        {0x7f0000001017, first + 1},
        {0x7f0000001018, first + 2},
        {0x7f0000001028, HS_NO_NODE}, /* the gap */
        {0x7f0000001038, first + 3},
        {0x7f000000104f, first + 3},
        {0x7f0000001050, HS_NO_NODE},
        {UINT64_MAX, HS_NO_NODE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hs_node node = 0;
        assert_int_equal(hs_snap_find_address(snap, cases[i].address, &node, &err), HS_OK);
        assert_int_equal(node, cases[i].node);
    }
    hs_snap_close(snap);
    hs_golden_fini(&file);
}

static void test_files_and_names(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    char path[] = "/tmp/heapsnap-reader-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(hs_snap_open(path, 0, &snap, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "cannot read '"));
    assert_non_null(strstr(err.message, "': it is empty"));
    (void)close(fd);

    struct hs_graph_builder b = {0};
    uint32_t block = hs_graph_builder_block(&b, 3, false);
    uint32_t leaf = hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, NULL, NULL, "only", block);
    hs_graph_builder_file(&b, path);
    assert_int_equal(hs_snap_open(path, 0, &snap, &err), HS_OK);
    const struct hs_root *root = hs_snap_root(snap, hs_graph_builder_leaf_node(&b, leaf));
    assert_string_equal(hs_snap_string(snap, root->name), "only");
    assert_int_equal(root->target, hs_graph_builder_node(&b, block));
    size_t n;
    assert_int_equal(hs_snap_in_degrees(snap, &n)[0], 1);
    assert_int_equal(n, 1);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
    (void)unlink(path);
    assert_int_equal(hs_snap_open(path, 0, &snap, &err), HS_IO);
}

static void expect_member(const struct hs_snap *snap, uint32_t type, uint64_t offset,
                          uint64_t element, const char *name)
{
    uint64_t found_element = 99;
    const struct hs_member *found = hs_snap_member_at(snap, type, offset, &found_element);
    assert_int_equal(found_element, element);
    if (name == NULL)
        assert_null(found);
    else
        assert_string_equal(hs_snap_string(snap, found->name), name);
}

/* What version 2 has more, and where an offset of a block lies. */
static void test_native_tables(void **state)
{
    struct hs_golden_file file;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    make("native.snap", &file);
    assert_int_equal(hs_snap_open_bytes(file.bytes, file.n_bytes, 0, &snap, &err), HS_OK);
    assert_int_equal(hs_snap_format_version(snap), HS_FORMAT_VERSION);
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    assert_int_equal(facts->n_memory, HS_N_MEMORY_STATES);
    uint64_t sum = 0;
    for (size_t i = 0; i < facts->n_memory; i++) {
        assert_int_equal(facts->memory[i].state, i);
        assert_int_equal(facts->memory[i].n_bytes, 100 + i);
        assert_int_equal(facts->memory[i].n_blocks, i);
        sum += facts->memory[i].resident_bytes;
    }
    assert_int_equal(sum, facts->resident_bytes);
    assert_string_equal(hs_snap_string(snap, facts->memory[6].owner), "stacks");
    assert_string_equal(hs_snap_string(snap, facts->binaries[0].debug_file),
                        "/usr/lib/debug/.build-id/00/ff.debug");

    size_t n;
    assert_int_equal(hs_snap_totals(snap)->n_members, 5);
    assert_non_null(hs_snap_members(snap, 1, &n));
    assert_int_equal(n, 3);
    assert_null(hs_snap_members(snap, 3, &n));
    assert_int_equal(n, 0);
    assert_int_equal(hs_snap_type(snap, 0)->stride_bytes, 24);
    expect_member(snap, 0, 0, 0, "key");
    expect_member(snap, 0, 24 + 8, 1, "key");
    expect_member(snap, 0, 24 + 23, 1, "value");
    expect_member(snap, 1, 7, 0, "next");
    expect_member(snap, 1, 8, 0, "as.text");
    expect_member(snap, 1, 1000, 0, "as.text");
    expect_member(snap, 3, 0, 0, NULL);
    hs_snap_close(snap);
    hs_golden_fini(&file);
}

/* The tiers of a file, and what is made of a file of version 2, which has none. */
static void expect_tiers(const struct hs_snap *snap, const uint8_t *by_kind)
{
    for (hs_node i = 0; i < hs_snap_totals(snap)->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        assert_int_equal(root->tier, root->level == HS_LEVEL_LEAF ? by_kind[root->kind] : 0);
    }
}

static void test_tiers(void **state)
{
    static const uint8_t now[HS_N_ROOT_KINDS] = {
        [HS_ROOT_STACK] = HS_TIER_DOUBTFUL, [HS_ROOT_UNCLAIMED] = HS_TIER_RUNTIME};
    static const uint8_t before[HS_N_ROOT_KINDS] = {[HS_ROOT_STACK] = HS_TIER_DOUBTFUL};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    assert_int_equal(hs_snap_open(HS_SOURCE_DIR "/tests/golden/native.snap", 0, &snap, &err),
                     HS_OK);
    expect_tiers(snap, now);
    assert_int_equal(hs_snap_totals(snap)->n_doubtful_edges, 2);
    hs_snap_close(snap);
    assert_int_equal(hs_snap_open(HS_SOURCE_DIR "/tests/golden/v2_native.snap", 0, &snap, &err),
                     HS_OK);
    assert_int_equal(hs_snap_format_version(snap), 2);
    expect_tiers(snap, before);
    assert_true(hs_snap_totals(snap)->n_doubtful_edges == HS_UNKNOWN_DOUBT);
    hs_snap_close(snap);
}

/* Classes alone, whichever side of the offsets they stand on. */
static void test_classes_alone(void **state)
{
    static const char *const paths[] = {HS_SOURCE_DIR "/tests/golden/classes.snap",
                                        HS_SOURCE_DIR "/tests/golden/v2_classes.snap",
                                        HS_SOURCE_DIR "/tests/golden/v1_classes.snap"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_snap *snap = NULL;
        struct hs_chunk all = {0}, alone = {0};
        assert_int_equal(hs_snap_open(paths[i], 0, &snap, &err), HS_OK);
        assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_ALL, &all, &err), HS_OK);
        assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_CLASSES, &alone, &err), HS_OK);
        assert_int_equal(alone.n_edges, all.n_edges);
        assert_int_equal(alone.n_edges, 6);
        assert_memory_equal(alone.edge_class, all.edge_class, (size_t)all.n_edges);
        hs_chunk_fini(&all);
        hs_chunk_fini(&alone);
        hs_snap_close(snap);
    }
}

/* Columns that come one after the other, in any order, are those that come at once. */
static void test_columns_in_steps(void **state)
{
    static const unsigned orders[][4] = {
        {HS_COL_FIELDS, HS_COL_SIZES, HS_COL_EXTRA, HS_COL_TYPES},
        {HS_COL_SIZES | HS_COL_TYPES, HS_COL_EDGES, HS_COL_FIELDS, HS_COL_EXTRA},
        {HS_COL_EXTRA, HS_COL_CLASSES, HS_COL_FIELDS, HS_COL_SIZES | HS_COL_TYPES},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_snap *snap = NULL;
        struct hs_chunk all = {0}, steps = {0};
        unsigned had = 0;
        assert_int_equal(hs_snap_open(HS_SOURCE_DIR "/tests/golden/classes.snap", 0, &snap, &err),
                         HS_OK);
        assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_ALL, &all, &err), HS_OK);
        for (size_t k = 0; k < 4; had |= orders[i][k++])
            assert_int_equal(hs_snap_load_more(snap, 0, had, orders[i][k], &steps, &err), HS_OK);
        size_t n = all.n_blocks, n_edges = (size_t)all.n_edges;
        assert_int_equal(steps.n_blocks, n);
        assert_int_equal(steps.n_edges, n_edges);
        assert_int_equal(steps.n_extra, all.n_extra);
        assert_memory_equal(steps.address, all.address, n * sizeof *all.address);
        assert_memory_equal(steps.words, all.words, n * sizeof *all.words);
        assert_memory_equal(steps.type, all.type, n * sizeof *all.type);
        assert_memory_equal(steps.target, all.target, n_edges * sizeof *all.target);
        assert_memory_equal(steps.offset_words, all.offset_words,
                            n_edges * sizeof *all.offset_words);
        assert_memory_equal(steps.edge_class, all.edge_class, n_edges);
        hs_chunk_fini(&all);
        hs_chunk_fini(&steps);
        hs_snap_close(snap);
    }
}

/* Leaves of version 1 stand where ours do; what it does not have is as if nothing were known. */
static void test_reads_version_one(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    assert_int_equal(hs_snap_open(HS_SOURCE_DIR "/tests/golden/v1_example.snap", 0, &snap, &err),
                     HS_OK);
    assert_int_equal(hs_snap_format_version(snap), 1);
    static const uint8_t levels[] = {0, 1, 2, 3, 1, 2, HS_LEVEL_LEAF, HS_LEVEL_LEAF};
    assert_int_equal(hs_snap_totals(snap)->n_tree, sizeof levels);
    for (size_t i = 0; i < sizeof levels; i++) {
        assert_int_equal(hs_snap_root(snap, i)->level, levels[i]);
        assert_int_equal(hs_snap_root(snap, i)->edge_class, HS_EDGE_EXACT);
    }
    assert_int_equal(hs_snap_root(snap, 6)->target, 9);
    assert_int_equal(hs_snap_facts(snap)->n_memory, 0);
    assert_int_equal(hs_snap_facts(snap)->resident_bytes, 0);
    assert_int_equal(hs_snap_totals(snap)->n_members, 0);
    assert_int_equal(hs_snap_check(snap, NULL, &err), HS_OK);
    hs_snap_close(snap);
}

/* Columns that were not asked for are not there. */
static void test_columns_on_demand(void **state)
{
    struct hs_golden_file file;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    struct hs_chunk chunk = {0};
    make("example.snap", &file);
    assert_int_equal(hs_snap_open_bytes(file.bytes, file.n_bytes, 0, &snap, &err), HS_OK);
    assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_EDGES, &chunk, &err), HS_OK);
    assert_non_null(chunk.target);
    assert_null(chunk.address);
    assert_null(chunk.type);
    assert_null(chunk.offset_words);
    assert_null(chunk.extra);
    assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_FIELDS, &chunk, &err), HS_OK);
    assert_non_null(chunk.target);
    assert_non_null(chunk.edge_class);
    assert_int_equal(chunk.n_edges, 3);
    assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_CLASSES, &chunk, &err), HS_OK);
    assert_non_null(chunk.target);
    assert_non_null(chunk.edge_class);
    assert_null(chunk.offset_words);
    assert_int_equal(hs_snap_load_chunk(snap, 1, HS_COL_EDGES, &chunk, &err), HS_BUG);
    hs_chunk_fini(&chunk);
    hs_chunk_fini(&chunk);
    hs_chunk_fini(NULL);
    hs_snap_close(snap);
    hs_snap_close(NULL);
    hs_golden_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_at_every_byte),
        cmocka_unit_test(test_cut_keeps_whole_chunks),
        cmocka_unit_test(test_every_flipped_bit_is_seen),
        cmocka_unit_test(test_bytes_after_the_end_are_seen),
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test(test_find_address),
        cmocka_unit_test(test_files_and_names),
        cmocka_unit_test(test_native_tables),
        cmocka_unit_test(test_reads_version_one),
        cmocka_unit_test(test_columns_on_demand),
        cmocka_unit_test(test_tiers),
        cmocka_unit_test(test_classes_alone),
        cmocka_unit_test(test_columns_in_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
