/* links: hs_tools_lib hs_dominator */
/* An index whose checksums and numbers are all in order but whose dominator tree is a circle.
 * Whoever hands on a snapshot hands on its index too, so every walk of that tree must end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include <cmocka.h>

#include "commands.h"
#include "graph_builder.h"
#include "index_format.h"
#include "type_rows.h"

enum { N_CHAIN = 5, INDEX_BYTES_MAX = 1 << 18 };

static char directory[] = "/tmp/hs_circle_test.XXXXXX";
static char snap_path[64], index_path[72];
static uint8_t bytes[INDEX_BYTES_MAX];
static hs_node first_node;
static struct hs_tool tool;

static uint32_t *section(struct index_footer *footer, enum index_section at)
{
    assert_true(footer->sections[at].offset + footer->sections[at].n_bytes < sizeof bytes);
    return (void *)(bytes + footer->sections[at].offset);
}

/* Bends the tree root -> 0 -> 1 -> 2 -> 3 -> 4 so that 2 stands below 3 and 3 below 2. */
static void bend(size_t n)
{
    struct index_footer footer;
    uint32_t node = (uint32_t)first_node;
    memcpy(&footer, bytes + n - sizeof footer, sizeof footer);
    section(&footer, INDEX_IDOM)[node + 2] = node + 3;
    const uint32_t *begin = section(&footer, INDEX_DOMINATED_BEGIN);
    section(&footer, INDEX_DOMINATED)[begin[node + 3]] = node + 2;
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        footer.sections[i].checksum =
            XXH3_64bits(bytes + footer.sections[i].offset, footer.sections[i].n_bytes);
    footer.checksum = XXH3_64bits(&footer, offsetof(struct index_footer, checksum));
    memcpy(bytes + n - sizeof footer, &footer, sizeof footer);
}

static void write_bent_index(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_view view;
    assert_int_equal(hs_view_open(&tool, snap_path, HS_VIEW_INDEX, &view, &err), HS_OK);
    hs_view_close(&view);
    FILE *file = fopen(index_path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    assert_true(n > sizeof(struct index_footer) && n < sizeof bytes);
    (void)fclose(file);
    bend(n);
    file = fopen(index_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
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
    (void)state;
    (void)unlink(index_path);
    (void)unlink(snap_path);
    return rmdir(directory);
}

static void open_bent(struct hs_view *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_view_open(&tool, snap_path, HS_VIEW_INDEX, ret, &err), HS_OK);
    assert_false(hs_index_was_built(ret->index)); /* it was believed */
}

static void the_retaining_root_is_unknown(void **state)
{
    (void)state;
    struct hs_view view;
    open_bent(&view);
    assert_true(hs_view_retaining_root(&view, first_node + 1) != HS_NO_NODE);
    assert_true(hs_view_retaining_root(&view, first_node + 2) == HS_NO_NODE);
    assert_true(hs_view_retaining_root(&view, first_node + 4) == HS_NO_NODE);
    hs_view_close(&view);
}

static void types_are_refused(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_view view;
    struct hs_type_rows rows = {.n_rows = 77};
    const struct hs_type_query query = {.max_rows = UINT64_MAX};
    open_bent(&view);
    assert_int_equal(hs_type_rows_select(&tool, &view, &query, &rows, &err), HS_FORMAT);
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
    (void)state;
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
