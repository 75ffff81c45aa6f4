/* links: hs_tools_lib hs_analysis hs_index */
/* An index whose checksums and numbers are all in order but whose dominator tree is a circle.
 * Whoever hands on a snapshot hands on its index too, so every walk of that tree must end. */
#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "unit.h"

#include "analysis/type_rows.h"
#include "graph_builder.h"
#include "index/index_format.h"
#include "tools/commands.h"

enum { N_CHAIN = 5, INDEX_BYTES_MAX = 1 << 18 };

static char directory[] = "/tmp/hs_circle_test.XXXXXX";
static char snap_path[64], index_path[72];
static uint8_t bytes[INDEX_BYTES_MAX];
static hs_node first_node;
static struct hs_session session;
static struct hs_tool tool;

/* The bytes of a section that has one page, and its cells: one number each, or rows. */
static uint8_t *section(const struct index_header *header, enum index_section at)
{
    const struct index_extent *extent = &header->sections[at];
    assert_true(header->n_nodes <= HS_PACKED_PAGE);
    assert_true(extent->offset + extent->n_bytes < sizeof bytes);
    return bytes + extent->offset;
}

static void section_seal(const struct index_header *header, enum index_section at)
{
    uint8_t *page = section(header, at);
    size_t n = header->sections[at].n_bytes - HS_PACKED_TABLE_ENTRY;
    uint64_t hash = XXH3_64bits(page, n);
    memcpy(page + n + 8, &hash, sizeof hash); /* behind its place, in the table */
}

/* Where the row of a node begins; all numbers are small. */
static uint8_t *row_at(uint8_t *page, uint64_t node)
{
    for (; node > 0; node--)
        page += 1 + page[0];
    return page;
}

/* Bends the tree root -> 0 -> 1 -> 2 -> 3 -> 4 so that 2 stands below 3 and 3 below 2. */
static void bend(void)
{
    struct index_header header;
    uint64_t node = first_node;
    memcpy(&header, bytes, sizeof header);
    assert_true(header.magic == INDEX_MAGIC);
    uint8_t *idom = section(&header, INDEX_IDOM);
    assert_int_equal(idom[node + 2], INDEX_IDOM_ONLY);
    idom[node + 2] = INDEX_IDOM_FAR + 1; /* zigzag(-1): one above */
    section_seal(&header, INDEX_IDOM);
    uint8_t *row = row_at(section(&header, INDEX_DOMINATED), node + 3);
    assert_int_equal(row[0], 1);
    assert_int_equal(row[1], 2);
    row[1] = 1; /* one below */
    section_seal(&header, INDEX_DOMINATED);
}

static void write_bent_index(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_view view;
    assert_int_equal(hs_view_open(&session, snap_path, HS_VIEW_INDEX, &view, &err), HS_OK);
    hs_view_close(&view);
    FILE *file = fopen(index_path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    assert_true(n > sizeof(struct index_header) && n < sizeof bytes);
    (void)fclose(file);
    bend();
    file = fopen(index_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    struct hs_graph_builder b = {0};
    if (mkdtemp(directory) == NULL)
        return -1;
    (void)snprintf(snap_path, sizeof snap_path, "%s/heap.snap", directory);
    (void)snprintf(index_path, sizeof index_path, "%s.idx", snap_path);
    uint32_t first = hs_graph_builder_blocks(&b, N_CHAIN, 3);
    for (uint32_t i = 0; i + 1 < N_CHAIN; i++)
        hs_graph_builder_edge(&b, first + i, first + i + 1, HS_EDGE_EXACT);
    hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    hs_graph_builder_file(&b, snap_path);
    first_node = hs_graph_builder_node(&b, first);
    hs_graph_builder_fini(&b);
    write_bent_index();
    return 0;
}

static int tear_down(void **state)
{
    (void)unlink(index_path);
    (void)unlink(snap_path);
    return rmdir(directory);
}

static void open_bent(struct hs_view *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_view_open(&session, snap_path, HS_VIEW_INDEX, ret, &err), HS_OK);
    assert_false(hs_index_was_built(ret->index)); /* it was believed */
}

static void the_retaining_root_is_unknown(void **state)
{
    struct hs_view view;
    open_bent(&view);
    assert_true(hs_view_retaining_root(&view, first_node + 1) != HS_NO_NODE);
    assert_true(hs_view_retaining_root(&view, first_node + 2) == HS_NO_NODE);
    assert_true(hs_view_retaining_root(&view, first_node + 4) == HS_NO_NODE);
    hs_view_close(&view);
}

static void types_are_refused(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_view view;
    struct hs_type_rows rows = {.n_rows = 77};
    const struct hs_type_query query = {.max_rows = UINT64_MAX};
    open_bent(&view);
    assert_int_equal(hs_type_rows_select(&view, &query, &rows, &err), HS_FORMAT);
    assert_int_equal(rows.n_rows, 77);
    assert_non_null(strstr(err.message, "circle"));
    assert_non_null(strstr(err.hint, "--rebuild"));
    hs_view_close(&view);
}

/* A command line, run with its product thrown away. */
static hs_status run(int argc, const char *const *argv, struct hs_error *err)
{
    struct hs_invocation inv;
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(hs_parse(argc, (char **)(uintptr_t)argv, &inv, err), HS_OK);
    assert_int_equal(hs_out_open_fd(null, "null", &tool.out, err), HS_OK);
    hs_status status = inv.command->run(&tool, &inv, err);
    hs_out_close(&tool.out);
    close(null);
    return status;
}

static void commands_refuse(void **state)
{
    char what[24];
    (void)snprintf(what, sizeof what, "#%llu", (unsigned long long)first_node + 4);
    const char *const lines[][6] = {
        {"heapsnap", "object", snap_path, what, "--json"},
        {"heapsnap", "object", snap_path, what, "--rows=0"},
        {"heapsnap", "dominators", snap_path, "--depth=1000000", "--json"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(run(5, lines[i], &err), HS_FORMAT);
        assert_non_null(strstr(err.message, "circle"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_retaining_root_is_unknown),
        cmocka_unit_test(types_are_refused),
        cmocka_unit_test(commands_refuse),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
