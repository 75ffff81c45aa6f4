/* links: hs_analysis */
#include "unit.h"

#include <fcntl.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

static void facts(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t a = hs_graph_builder_block(b, 3, false);
    uint32_t c = hs_graph_builder_block(b, 5, true);
    hs_graph_builder_edge(b, a, c, HS_EDGE_EXACT);
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "coqtop", "Stm", "Stm.VCS", a);
    b->blocks[c].type = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    made_view_open(&made);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_node_facts found;

    assert_int_equal(made.view.n_nodes, made.view.n_tree + 2);
    assert_int_equal(hs_view_facts(&made.view, 0, &found, &err), HS_OK);
    assert_true(found.is_root);
    assert_string_equal(found.label, "all roots");
    hs_node node = hs_graph_builder_leaf_node(b, leaf);
    assert_int_equal(hs_view_facts(&made.view, node, &found, &err), HS_OK);
    assert_string_equal(found.label, "Stm.VCS");
    assert_int_equal(found.words, 0);
    node = hs_graph_builder_node(b, c);
    assert_int_equal(hs_view_facts(&made.view, node, &found, &err), HS_OK);
    assert_false(found.is_root);
    assert_true(found.is_static);
    assert_int_equal(found.words, 5);
    assert_string_equal(found.label, "string");
    assert_int_equal(found.address, b->blocks[c].address);
    made_view_close(&made);
}

static void retaining_root(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, 5, 4);
    hs_graph_builder_edge(b, first, first + 1, HS_EDGE_EXACT); /* below one root */
    hs_graph_builder_edge(b, first, first + 3, HS_EDGE_EXACT); /* below two */
    hs_graph_builder_edge(b, first + 2, first + 3, HS_EDGE_EXACT);
    uint32_t x = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.y", first + 2);
    made_view_open(&made);
    hs_node leaf = hs_graph_builder_leaf_node(b, x);
    assert_int_equal(hs_view_retaining_root(&made.view, hs_graph_builder_node(b, first)), leaf);
    assert_int_equal(hs_view_retaining_root(&made.view, hs_graph_builder_node(b, first + 1)), leaf);
    assert_int_equal(hs_view_retaining_root(&made.view, leaf), leaf);
    assert_true(hs_view_retaining_root(&made.view, hs_graph_builder_node(b, first + 3)) ==
                HS_NO_NODE);
    assert_true(hs_view_retaining_root(&made.view, hs_graph_builder_node(b, first + 4)) ==
                HS_NO_NODE); /* unreached */
    assert_true(hs_view_retaining_root(&made.view, 0) == HS_NO_NODE);
    made_view_close(&made);
}

/* Of many nodes at once what of each alone, in any order, again and again. */
/* Slots belong to their variable, other leaves to themselves, groups to none. */
static void root_of(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, 3, 4);
    uint32_t a = hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "U", "v", "v.a", first);
    uint32_t c = hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "U", "v", "v.b", first + 1);
    uint32_t x = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "x", first + 2);
    hs_graph_builder_edge(b, first, first + 1, HS_EDGE_EXACT);
    made_view_open(&made);
    const struct hs_view *view = &made.view;
    hs_node slot = hs_graph_builder_leaf_node(b, a), leaf = hs_graph_builder_leaf_node(b, x);
    hs_node variable = hs_snap_root(view->snap, slot)->parent;
    assert_int_equal(hs_view_root_of(view, slot), variable);
    assert_int_equal(hs_view_root_of(view, hs_graph_builder_leaf_node(b, c)), variable);
    assert_int_equal(hs_view_root_of(view, variable), variable);
    assert_int_equal(hs_view_root_of(view, leaf), leaf);
    for (hs_node group = 0; group < variable; group++)
        assert_true(hs_view_root_of(view, group) == HS_NO_NODE);
    /* One slot alone retains the first block, both of them the second. */
    assert_int_equal(hs_view_retaining_root(view, hs_graph_builder_node(b, first)), variable);
    assert_int_equal(hs_view_retaining_root(view, hs_graph_builder_node(b, first + 1)), variable);
    assert_int_equal(hs_view_retaining_root(view, hs_graph_builder_node(b, first + 2)), leaf);
    made_view_close(&made);
}

static void retaining_roots(void **state)
{
    enum { N = 2000 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, N, 4);
    for (uint32_t i = 0; i + 1 < N; i++)
        if (i % 250 != 249) /* eight lists, the last one held by nobody */
            hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    for (uint32_t i = 0; i + 250 < N; i += 250)
        hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first + i);
    hs_graph_builder_edge(b, first + 100, first + 400, HS_EDGE_EXACT); /* two share the rest */
    made_view_open(&made);
    struct hs_error err = HS_ERROR_INIT;
    hs_node nodes[2 * N], roots[2 * N];
    for (uint32_t i = 0; i < 2 * N; i++)
        nodes[i] = i % 97 == 5 ? HS_NO_NODE : made.view.n_tree + (i * 577u) % N;
    assert_int_equal(hs_view_retaining_roots(&made.view, nodes, 2 * N, roots, &err), HS_OK);
    unsigned n_none = 0;
    for (uint32_t i = 0; i < 2 * N; i++) {
        hs_node expected =
            nodes[i] == HS_NO_NODE ? HS_NO_NODE : hs_view_retaining_root(&made.view, nodes[i]);
        assert_true(roots[i] == expected);
        n_none += expected == HS_NO_NODE;
    }
    assert_in_range(n_none, 500, 1000);
    made_view_close(&made);
}

static void facts_of_many(void **state)
{
    enum { N = HS_CHUNK_BLOCKS + 1000 };
    struct made_view made = {0};
    for (uint32_t i = 0; i < N; i++)
        hs_graph_builder_block(&made.builder, 1 + i % 11, false);
    made_view_open(&made);
    struct hs_error err = HS_ERROR_INIT;
    hs_node nodes[1000];
    struct hs_node_facts found[1000], one;
    for (uint32_t i = 0; i < 1000; i++)
        nodes[i] = i % 50 == 49 ? HS_NO_NODE : (i * 7919u) % made.view.n_nodes;
    assert_int_equal(hs_view_facts_of(&made.view, nodes, 1000, found, &err), HS_OK);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_true(found[i].node == nodes[i]);
        if (nodes[i] == HS_NO_NODE)
            continue;
        assert_int_equal(hs_view_facts(&made.view, nodes[i], &one, &err), HS_OK);
        assert_int_equal(found[i].words, one.words);
        assert_int_equal(found[i].address, one.address);
        assert_string_equal(found[i].label, one.label);
    }
    hs_node shuffled[1000];
    memcpy(shuffled, nodes, sizeof nodes);
    assert_int_equal(hs_view_keep_facts(&made.view, shuffled, 1000, &err), HS_OK);
    for (uint32_t i = 0; i < 1000; i++) {
        hs_node node = nodes[i] == HS_NO_NODE ? i : nodes[i]; /* kept ones and others */
        assert_int_equal(hs_view_facts(&made.view, node, &one, &err), HS_OK);
        assert_true(one.node == node);
        if (nodes[i] != HS_NO_NODE)
            assert_int_equal(one.address, found[i].address);
    }
    assert_int_equal(hs_view_keep_facts(&made.view, shuffled, 0, &err), HS_OK);
    assert_int_equal(made.view.n_kept, 0);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_view_facts_of(&made.view, nodes, 1000, found, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    made_view_close(&made);
}

/* More chunks than slots, in an order that throws them out; columns added to a chunk at hand. */
static void chunks(void **state)
{
    enum { CHUNKS = HS_VIEW_CHUNKS + 2 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, (CHUNKS - 1) * HS_CHUNK_BLOCKS + 1, 2);
    hs_graph_builder_edge(b, first + 7, first + 8, HS_EDGE_EXACT);
    made_view_write(&made);
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_view_open(&made.session, made.path, HS_VIEW_SNAP, &made.view, &err), HS_OK);
    assert_null(made.view.index);
    const struct hs_chunk *chunk;
    uint32_t at;
    for (unsigned i = 0; i < 3 * CHUNKS; i++) {
        unsigned number = i * 7 % CHUNKS;
        hs_node node = made.view.n_tree + (hs_node)number * HS_CHUNK_BLOCKS;
        assert_int_equal(hs_view_chunk(&made.view, node, HS_COL_SIZES, &chunk, &at, &err), HS_OK);
        assert_int_equal(at, 0);
        assert_int_equal(chunk->first, node);
        assert_int_equal(chunk->address[0], b->blocks[(size_t)number * HS_CHUNK_BLOCKS].address);
    }
    hs_node node = made.view.n_tree + 7;
    assert_int_equal(hs_view_chunk(&made.view, node, HS_COL_EDGES, &chunk, &at, &err), HS_OK);
    assert_int_equal(at, 7);
    assert_int_equal(chunk->edge_begin[8] - chunk->edge_begin[7], 1);
    assert_int_equal(chunk->target[chunk->edge_begin[7]], node + 1);
    assert_int_equal(hs_view_chunk(&made.view, node, HS_COL_SIZES, &chunk, &at, &err), HS_OK);
    assert_int_equal(chunk->words[7], 2);
    assert_int_equal(chunk->target[chunk->edge_begin[7]], node + 1); /* still there */
    made_view_close(&made);
}

/* A chunk is damaged: nodes in it cannot be looked at, others can. */
static void damaged_chunk(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    b->zstd_level = -1;
    hs_graph_builder_blocks(b, HS_CHUNK_BLOCKS + 10, 2);
    made_view_write(&made);
    int fd = open(made.path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    char bytes[20000];
    off_t place = lseek(fd, 0, SEEK_END) / 2; /* columns of the first chunk */
    assert_int_equal(pread(fd, bytes, sizeof bytes, place), sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] ^= 0x55;
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, place), sizeof bytes);
    close(fd);
    struct hs_error err = HS_ERROR_INIT;
    hs_status status = hs_view_open(&made.session, made.path, HS_VIEW_SNAP, &made.view, &err);
    if (status == HS_OK) {
        const struct hs_chunk *chunk;
        uint32_t at;
        hs_node node = made.view.n_tree;
        assert_int_equal(hs_view_chunk(&made.view, node, HS_COL_ALL, &chunk, &at, &err), HS_FORMAT);
        assert_non_null(strstr(err.message, made.path));
        node += HS_CHUNK_BLOCKS;
        assert_int_equal(hs_view_chunk(&made.view, node, HS_COL_ALL, &chunk, &at, &err), HS_OK);
        assert_int_equal(chunk->words[at], 2);
    } else {
        assert_int_equal(status, HS_FORMAT);
    }
    made_view_close(&made);
}

static void out_of_memory(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, 20, 4);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_write(&made);
    FAIL_EACH (each, .at_least = 3) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_view view = {0};
        hs_status status =
            FAIL_EACH_TRY(each, hs_view_open(&made.session, made.path, HS_VIEW_INDEX, &view, &err));
        if (status == HS_OK) {
            hs_view_close(&view);
        } else {
            assert_null(view.snap);
        }
    }
    made_view_close(&made);
}

static void refuses(void **state)
{
    struct hs_session session = {0};
    struct hs_view view = {0};
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_view_open(&session, "/dev/null", HS_VIEW_INDEX, &view, &err), HS_FORMAT);
    assert_int_equal(hs_view_open(&session, "/no/such/file", HS_VIEW_INDEX, &view, &err), HS_IO);
    assert_null(view.snap);
    hs_view_close(&view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts),          cmocka_unit_test(root_of),
        cmocka_unit_test(retaining_root), cmocka_unit_test(retaining_roots),
        cmocka_unit_test(facts_of_many),  cmocka_unit_test(chunks),
        cmocka_unit_test(damaged_chunk),  cmocka_unit_test(out_of_memory),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
