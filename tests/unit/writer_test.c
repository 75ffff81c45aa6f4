/* links: hs_format */
/* What the writer writes is what the reader reads: random graphs, edge cases, failures. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "chunk_codec.h"
#include "graph_builder.h"
#include "writer_internal.h"

static uint64_t random_state = 88172645463325252ULL;

static uint64_t test_random(uint64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return n == 0 ? 0 : random_state % n;
}

static int compare_edges(const void *a, const void *b)
{
    const struct hs_graph_builder_edge_record *x = a;
    const struct hs_graph_builder_edge_record *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->offset_words != y->offset_words)
        return x->offset_words < y->offset_words ? -1 : 1;
    return (int)x->edge_class - (int)y->edge_class;
}

static void build_random(struct hs_graph_builder *b, uint32_t n_blocks, uint32_t n_edges)
{
    for (uint32_t i = 0; i < n_blocks; i++) {
        if (test_random(7) == 0)
            b->next_address += 8 * test_random(1000) + (i == 0 ? 0x7f0000000000 : 0);
        (void)hs_graph_builder_block(b, 1 + test_random(test_random(20) == 0 ? 500 : 6),
                                     test_random(5) == 0);
    }
    for (uint32_t i = 0; i < 5; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "type %u", i);
        (void)hs_graph_builder_type(b, name, (uint16_t)(i * 50), i);
    }
    for (uint32_t i = 0; i < n_blocks; i++) {
        b->blocks[i].type = (uint32_t)test_random(b->n_types);
        if (test_random(3) == 0)
            b->blocks[i].state |= HS_BLOCK_YOUNG;
    }
    for (uint32_t i = 0; i < n_edges && n_blocks != 0; i++) {
        uint32_t source = (uint32_t)test_random(n_blocks);
        uint32_t near = (uint32_t)((source + test_random(5)) % n_blocks);
        uint32_t target = test_random(2) ? near : (uint32_t)test_random(n_blocks);
        unsigned edge_class = test_random(3) ? 0 : (unsigned)test_random(HS_N_EDGE_CLASSES);
        hs_graph_builder_edge_at(b, source, target, edge_class,
                                 (uint32_t)test_random(b->blocks[source].words));
    }
    for (uint32_t i = 0; i < 40; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "Unit%u.v%u", i % 7, i);
        uint32_t at = hs_graph_builder_leaf(
            b, i % HS_N_ROOT_KINDS, i % 3 ? "main" : "plugin", i % 5 ? name : NULL, name,
            n_blocks == 0 || i % 9 == 0 ? HS_GRAPH_BUILDER_NOWHERE
                                        : (uint32_t)test_random(n_blocks));
        b->leaves[at].weak = i % 4 == 0;
        b->leaves[at].line = (uint32_t)test_random(1000);
        b->leaves[at].field = i % 2 ? i : HS_NO_FIELD;
        b->leaves[at].address = test_random(UINT64_MAX);
        b->leaves[at].offset = test_random(UINT64_MAX);
    }
    for (uint64_t i = 0; i < 10; i++)
        hs_graph_builder_sample(b, i * i * 1000,
                                i % 3 == 0 || n_blocks == 0 ? HS_GRAPH_BUILDER_NOWHERE
                                                            : (uint32_t)test_random(n_blocks));
}

static void compare_tables(const struct hs_graph_builder *b, const struct hs_snap *snap)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    hs_node n_tree = hs_graph_builder_n_tree(b);
    assert_int_equal(totals->n_tree, n_tree);
    assert_int_equal(totals->n_blocks, b->n_blocks);
    assert_int_equal(totals->n_types, b->n_types);
    assert_int_equal(totals->n_samples, b->n_samples);
    assert_int_equal(totals->n_edges + totals->n_extra_edges, b->n_edges);
    assert_int_equal(totals->n_strings, b->strings.n_strings);
    for (hs_str i = 0; i <= b->strings.n_strings; i++)
        assert_string_equal(hs_snap_string(snap, i), hs_strtab_get(&b->strings, i));
    for (uint32_t i = 0; i < b->n_leaves; i++) {
        struct hs_root expected = b->leaves[i];
        const struct hs_root *found = hs_snap_root(snap, hs_graph_builder_leaf_node(b, i));
        if (expected.target != HS_NO_NODE)
            expected.target += n_tree;
        assert_memory_equal(found, &expected, sizeof expected);
    }
    for (uint32_t i = 0; i < b->n_types; i++)
        assert_memory_equal(hs_snap_type(snap, i), &b->types[i], sizeof b->types[i]);
    for (size_t i = 0; i < b->n_samples; i++) {
        const struct hs_sample *found = hs_snap_sample(snap, i);
        assert_int_equal(found->id, b->samples[i].id);
        assert_ptr_equal(hs_snap_find_sample(snap, found->id), found);
        if (b->samples[i].node == HS_NO_NODE)
            assert_int_equal(found->node, HS_NO_NODE);
        else
            assert_int_equal(found->node, b->samples[i].node + n_tree);
    }
    assert_null(hs_snap_find_sample(snap, 17));
}

/* One block of a chunk against the builder's edges of that source, which `e` walks. */
static size_t compare_block(const struct hs_graph_builder *b, const struct hs_chunk *chunk,
                            uint32_t at, size_t e, uint64_t *extra)
{
    hs_node n_tree = hs_graph_builder_n_tree(b);
    uint32_t block = (uint32_t)(chunk->first + at - n_tree);
    uint64_t strong = chunk->edge_begin[at];
    assert_int_equal(chunk->address[at], b->blocks[block].address);
    assert_int_equal(chunk->words[at], b->blocks[block].words);
    assert_int_equal(chunk->state[at], b->blocks[block].state);
    assert_int_equal(chunk->type[at], b->blocks[block].type);
    for (; e < b->n_edges && b->edges[e].source == block; e++) {
        const struct hs_graph_builder_edge_record *edge = &b->edges[e];
        if (hs_edge_is_strong(edge->edge_class)) {
            assert_int_equal(chunk->target[strong], edge->target + n_tree);
            assert_int_equal(chunk->offset_words[strong], edge->offset_words);
            assert_int_equal(chunk->edge_class[strong], edge->edge_class);
            strong++;
        } else {
            const struct hs_extra_edge *found = &chunk->extra[(*extra)++];
            assert_int_equal(found->source, block + n_tree);
            assert_int_equal(found->target, edge->target + n_tree);
            assert_int_equal(found->offset_words, edge->offset_words);
            assert_int_equal(found->edge_class, edge->edge_class);
        }
    }
    assert_int_equal(strong, chunk->edge_begin[at + 1]);
    return e;
}

static void compare_chunks(struct hs_graph_builder *b, const struct hs_snap *snap)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    size_t e = 0;
    if (b->n_edges != 0)
        qsort(b->edges, b->n_edges, sizeof b->edges[0], compare_edges);
    for (uint64_t at = 0; at < hs_snap_totals(snap)->n_chunks; at++) {
        uint64_t extra = 0;
        assert_int_equal(hs_snap_load_chunk(snap, at, HS_COL_ALL, &chunk, &err), HS_OK);
        for (uint32_t i = 0; i < chunk.n_blocks; i++)
            e = compare_block(b, &chunk, i, e, &extra);
        assert_int_equal(extra, chunk.n_extra);
    }
    assert_int_equal(e, b->n_edges);
    hs_chunk_fini(&chunk);
}

static void round_trip(uint32_t n_blocks, uint32_t n_edges, int level)
{
    struct hs_graph_builder b = {.zstd_level = level};
    struct hs_error err = HS_ERROR_INIT;
    build_random(&b, n_blocks, n_edges);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    compare_tables(&b, snap);
    compare_chunks(&b, snap);
    hs_status status = hs_snap_check(snap, NULL, &err);
    if (status != HS_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, HS_OK);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void test_round_trip_small(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 60; n++)
        round_trip(n, n * 3, (int)(n % 2) - 1);
}

static void test_round_trip_chunks(void **state)
{
    (void)state;
    round_trip(HS_CHUNK_BLOCKS - 1, 100000, 0);
    round_trip(HS_CHUNK_BLOCKS, 100000, 0);
    round_trip(HS_CHUNK_BLOCKS + 1, 100000, 0);
    round_trip(3 * HS_CHUNK_BLOCKS + 77, 500000, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_small),
        cmocka_unit_test(test_round_trip_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
