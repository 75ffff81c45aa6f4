/* links: hs_index hs_passes hs_dominator hs_graph hs_format */
/* An index too large to be verified when it is opened: whatever is wrong with it, an answer is
 * right or the index says that it is damaged. */
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "index/index_cells.h"
#include "index/index_private.h"
#include "index/index_write.h"

enum { N_BLOCKS = 2500, BYTES_MAX = 1 << 18 };

static struct hs_error err;
static char path[] = "/tmp/hs_answers_test.XXXXXX";
static struct hs_graph_builder builder;
static struct hs_snap *snap;
static struct hs_index *good;
static uint8_t bytes[BYTES_MAX];
static size_t n_bytes;

static void fill(struct hs_graph_builder *b)
{
    uint64_t random = 11;
    uint32_t first = hs_graph_builder_blocks(b, N_BLOCKS, 4);
    for (uint32_t i = 0; i < N_BLOCKS * 2; i++) {
        /* Block 0 is a hub: its row is long. */
        uint32_t target = i % 3 == 0 ? 0 : hs_random_below(&random, N_BLOCKS);
        hs_graph_builder_edge(b, first + i % N_BLOCKS, first + target, HS_EDGE_EXACT);
    }
    for (uint32_t i = 0; i < 200; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "U.v%u", i);
        (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", name,
                                    first + hs_random_below(&random, N_BLOCKS));
    }
}

static void spill(const void *content, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* As a large file is opened. */
static bool open_lazily(struct hs_index *ret)
{
    *ret = (struct hs_index){0};
    return index_file_open(path, snap, 0, geteuid(), false, &ret->file, &err) == HS_OK;
}

static bool row_equals(struct hs_row row, struct hs_row expected)
{
    hs_node value, expected_value;
    while (hs_row_next(&row, &value)) {
        assert_true(value < row.packed->n_values);
        if (!hs_row_next(&expected, &expected_value) || value != expected_value)
            return false;
    }
    return !hs_row_next(&expected, &expected_value);
}

static bool owners_are_right(struct hs_index *index)
{
    uint64_t n_others, n_expected_others;
    struct hs_sizes others = hs_index_other_sets(index, &n_others);
    struct hs_sizes expected_others = hs_index_other_sets(good, &n_expected_others);
    bool right = hs_index_n_sets(index) == hs_index_n_sets(good) && n_others == n_expected_others &&
                 memcmp(&others, &expected_others, sizeof others) == 0;
    for (hs_node node = 0; right && node < hs_index_n_nodes(index); node++)
        right = hs_index_set_of(index, node) == hs_index_set_of(good, node) &&
                hs_index_tier(index, node) == hs_index_tier(good, node);
    for (uint32_t i = 1; right && i <= hs_index_n_sets(index); i++) {
        struct hs_owner_set set = hs_index_set(index, i), expected = hs_index_set(good, i);
        right = memcmp(&set, &expected, sizeof set) == 0 &&
                row_equals(hs_index_set_roots(index, i), hs_index_set_roots(good, i));
    }
    return right;
}

static hs_node only_child(struct hs_row row)
{
    hs_node child;
    return row.n == 1 && hs_row_next(&row, &child) ? child : HS_NO_NODE;
}

/* The same answers, a page at once. */
static bool runs_are_right(struct hs_index *index)
{
    uint64_t n_nodes = hs_index_n_nodes(index), words[HS_INDEX_RUN], places[HS_INDEX_RUN];
    hs_node only[HS_INDEX_RUN];
    struct hs_index_in_order tiers = {.index = index, .read = hs_index_run_tiers};
    struct hs_index_in_order is_reached = {.index = index, .read = hs_index_run_reached};
    uint32_t sets[HS_INDEX_RUN];
    bool right = true;
    for (hs_node node = 0; right && node < n_nodes; node++) {
        unsigned at = node % HS_INDEX_RUN;
        if (at == 0) {
            hs_index_run_words(index, node, words);
            hs_index_run_sets(index, node, sets);
            hs_index_run_rows(index, node, places, only);
        }
        struct hs_row expected = hs_index_dominated(good, node);
        right = words[at] == hs_index_retained(good, node).words &&
                sets[at] == hs_index_set_of(good, node) &&
                hs_index_next(&tiers, node) == hs_index_tier(good, node) &&
                hs_index_next(&is_reached, node) == hs_index_is_reached(good, node) &&
                (places[at] == HS_INDEX_NO_ROW) == (expected.n == 0) &&
                only[at] == only_child(expected);
        if (right && expected.n != 0)
            right = row_equals(hs_index_dominated_at(index, node, places[at]), expected);
    }
    return right;
}

/* Everything that can be asked, each right. */
static bool answers_are_right(struct hs_index *index)
{
    uint64_t n_nodes = hs_index_n_nodes(index);
    bool right = n_nodes == hs_index_n_nodes(good);
    for (hs_node node = 0; right && node < n_nodes; node++) {
        struct hs_sizes sizes = hs_index_retained(index, node);
        struct hs_sizes expected = hs_index_retained(good, node);
        hs_node idom = hs_index_idom(index, node);
        assert_true(idom < n_nodes || idom == HS_NO_NODE);
        right = memcmp(&sizes, &expected, sizeof sizes) == 0 && idom == hs_index_idom(good, node) &&
                hs_index_is_reached(index, node) == hs_index_is_reached(good, node) &&
                row_equals(hs_index_predecessors(index, node), hs_index_predecessors(good, node)) &&
                row_equals(hs_index_dominated(index, node), hs_index_dominated(good, node));
    }
    for (hs_node node = 0; right && node < hs_snap_totals(snap)->n_tree; node++) {
        struct hs_sizes sizes = hs_index_reachable(index, node);
        struct hs_sizes expected = hs_index_reachable(good, node);
        right = memcmp(&sizes, &expected, sizeof sizes) == 0;
    }
    return right && runs_are_right(index) && owners_are_right(index);
}

static bool means_something(size_t at)
{
    const struct index_header *header = good->file.header;
    bool does = at < sizeof *header;
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        does |= at - header->sections[i].offset < header->sections[i].n_bytes; /* may wrap */
    return does;
}

static void test_every_byte_flipped(void **state)
{
    for (size_t at = 0; at < n_bytes; at += 1 + at % 89) {
        struct hs_index index;
        bytes[at] ^= (uint8_t)(1U << at % 8);
        spill(bytes, n_bytes);
        bytes[at] ^= (uint8_t)(1U << at % 8);
        if (!open_lazily(&index))
            continue;
        bool right = answers_are_right(&index);
        bool is_whole = hs_index_check(&index, &err) == HS_OK;
        assert_true(right || !is_whole);
        if (!is_whole)
            assert_non_null(strstr(err.hint, "--rebuild"));
        assert_int_equal(hs_index_check_all(&index, NULL, &err),
                         means_something(at) ? HS_FORMAT : HS_OK);
        index_file_close(&index.file);
    }
}

/* Large indexes are not read when they are opened. */
static void test_cut(void **state)
{
    for (size_t n = 0; n < n_bytes; n += 1 + n_bytes / 300) {
        struct hs_index index;
        spill(bytes, n);
        assert_false(open_lazily(&index));
    }
}

/* ---- made to mislead: all checksums in order ---- */

static void copy_rows(struct index_writer *writer, enum index_section section)
{
    assert_int_equal(index_write_begin(writer, section, &err), HS_OK);
    for (hs_node node = 0; node < hs_index_n_nodes(good); node++) {
        struct hs_row row = section == INDEX_PREDECESSORS ? hs_index_predecessors(good, node)
                                                          : hs_index_dominated(good, node);
        assert_int_equal(hs_packed_row_begin(&writer->packed, row.n, &err), HS_OK);
        for (hs_node value; hs_row_next(&row, &value);)
            assert_int_equal(hs_packed_row_more(&writer->packed, &value, 1, &err), HS_OK);
    }
    assert_int_equal(index_write_end(writer, &err), HS_OK);
}

static void copy_sizes(struct index_writer *writer)
{
    uint64_t n_tree = hs_snap_totals(snap)->n_tree;
    struct hs_sizes sizes[1024];
    assert_true(n_tree <= 1024);
    for (hs_node node = 0; node < n_tree; node++)
        sizes[node] = hs_index_reachable(good, node);
    assert_int_equal(index_write_reachable(writer, sizes, &err), HS_OK);
    assert_int_equal(index_write_begin(writer, INDEX_RETAINED, &err), HS_OK);
    for (hs_node node = 0; node < hs_index_n_nodes(good); node++) {
        struct hs_sizes retained = hs_index_retained(good, node);
        assert_int_equal(index_write_retained(writer, node, &retained, &err), HS_OK);
    }
    assert_int_equal(index_write_end(writer, &err), HS_OK);
}

static void copy_owners(struct index_writer *writer)
{
    writer->header.n_sets = hs_index_n_sets(good);
    writer->header.other_sets = hs_index_other_sets(good, &writer->header.n_other_sets);
    assert_int_equal(index_write_begin(writer, INDEX_OWNERS, &err), HS_OK);
    for (hs_node node = 0; node < hs_index_n_nodes(good); node++)
        assert_int_equal(index_write_owner(writer, node, hs_index_tier(good, node),
                                           hs_index_set_of(good, node), &err),
                         HS_OK);
    assert_int_equal(index_write_end(writer, &err), HS_OK);
}

static void copy_sets(struct index_writer *writer)
{
    struct hs_owner_set set = {0};
    assert_int_equal(index_write_begin(writer, INDEX_SET_ROOTS, &err), HS_OK);
    for (uint32_t i = 0; i <= hs_index_n_sets(good); i++) {
        struct hs_row row = i == 0 ? (struct hs_row){0} : hs_index_set_roots(good, i);
        assert_int_equal(hs_packed_row_begin(&writer->packed, row.n, &err), HS_OK);
        for (hs_node value; hs_row_next(&row, &value);)
            assert_int_equal(hs_packed_row_more(&writer->packed, &value, 1, &err), HS_OK);
    }
    assert_int_equal(index_write_end(writer, &err), HS_OK);
    assert_int_equal(index_write_begin(writer, INDEX_SETS, &err), HS_OK);
    for (uint32_t i = 0; i <= hs_index_n_sets(good); i++) {
        set = i == 0 ? set : hs_index_set(good, i);
        assert_int_equal(index_write_set(writer, &set, &err), HS_OK);
    }
    assert_int_equal(index_write_end(writer, &err), HS_OK);
}

/* An index whose node `liar` has this code for its immediate dominator. */
static void forge(hs_node liar, uint64_t code)
{
    struct index_output out;
    struct index_writer writer;
    assert_int_equal(index_output_open_named(path, false, NULL, &out, &err), HS_OK);
    assert_int_equal(index_write_init(&out, snap, 0, NULL, &writer, &err), HS_OK);
    copy_rows(&writer, INDEX_PREDECESSORS);
    writer.header.n_predecessors = good->file.header->n_predecessors;
    copy_sizes(&writer);
    assert_int_equal(index_write_begin(&writer, INDEX_IDOM, &err), HS_OK);
    for (hs_node node = 0; node < hs_index_n_nodes(good); node++) {
        uint64_t right = index_idom_code(node, hs_index_idom(good, node), HS_NO_NODE);
        assert_int_equal(hs_packed_cell(&writer.packed, node == liar ? &code : &right, 1, &err),
                         HS_OK);
    }
    assert_int_equal(index_write_end(&writer, &err), HS_OK);
    copy_owners(&writer);
    copy_sets(&writer);
    copy_rows(&writer, INDEX_DOMINATED);
    assert_int_equal(index_write_finish(&writer, &err), HS_OK);
    assert_int_equal(index_output_commit(&out, &err), HS_OK);
    index_write_fini(&writer);
    index_output_close(&out, false);
}

static void test_misleading_dominators(void **state)
{
    hs_node n_nodes = hs_index_n_nodes(good), hub = hs_snap_totals(snap)->n_tree;
    struct hs_row row = hs_index_predecessors(good, hub);
    assert_true(row.n > HS_PACKED_LONG);
    const struct {
        hs_node node;
        uint64_t code;
        bool is_possible;
    } cases[] = {
        {hub, INDEX_IDOM_FAR + hs_zigzag_encode((int64_t)hub), true}, /* node 0 */
        {hub, INDEX_IDOM_FAR, false},                                 /* itself */
        {hub, INDEX_IDOM_FAR + hs_zigzag_encode((int64_t)hub + 1), false},
        {hub, INDEX_IDOM_FAR + hs_zigzag_encode((int64_t)(hub - n_nodes)), false},
        {hub, UINT64_MAX, false},
        {hub, INDEX_IDOM_ONLY, false}, /* it has many predecessors */
        {0, INDEX_IDOM_ONLY, false},
        {0, INDEX_IDOM_FAR + hs_zigzag_encode(-1), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_index index;
        forge(cases[i].node, cases[i].code);
        assert_true(open_lazily(&index));
        assert_int_equal(hs_index_check(&index, &err), HS_OK);
        hs_node idom = hs_index_idom(&index, cases[i].node);
        assert_true(idom == (cases[i].is_possible ? 0 : HS_NO_NODE));
        assert_int_equal(hs_index_check(&index, &err), cases[i].is_possible ? HS_OK : HS_FORMAT);
        index_file_close(&index.file);
    }
}

static int group_setup(void **state)
{
    const struct hs_index_options options = {0};
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    (void)close(fd);
    fill(&builder);
    snap = hs_graph_builder_open(&builder);
    if (hs_index_open(snap, &options, &good, &err) != HS_OK)
        return -1;
    if (hs_index_n_sets(good) < 10)
        return -1;
    n_bytes = good->file.n_bytes;
    assert_true(n_bytes < sizeof bytes);
    memcpy(bytes, good->file.bytes, n_bytes);
    return 0;
}

static int group_teardown(void **state)
{
    hs_index_close(good);
    hs_snap_close(snap);
    hs_graph_builder_fini(&builder);
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_byte_flipped),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_misleading_dominators),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
