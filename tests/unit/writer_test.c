/* links: hs_format */
/* What the writer writes is what the reader reads: random graphs, edge cases, failures. */
#include <fcntl.h>
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "format/chunk_codec.h"
#include "format/writer_internal.h"
#include "graph_builder.h"

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

static void build_random_blocks(struct hs_graph_builder *b, uint32_t n_blocks)
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
}

static void build_random_edges(struct hs_graph_builder *b, uint32_t n_blocks, uint32_t n_edges)
{
    for (uint32_t i = 0; i < n_edges && n_blocks != 0; i++) {
        uint32_t source = (uint32_t)test_random(n_blocks);
        uint32_t near = (uint32_t)((source + test_random(5)) % n_blocks);
        uint32_t target = test_random(2) ? near : (uint32_t)test_random(n_blocks);
        unsigned edge_class = test_random(3) ? 0 : (unsigned)test_random(HS_N_EDGE_CLASSES);
        hs_graph_builder_edge_at(b, source, target, edge_class,
                                 (uint32_t)test_random(b->blocks[source].words));
    }
}

/* A random block, or now and then none. */
static uint32_t pick_block(uint32_t n_blocks, bool none)
{
    return none || n_blocks == 0 ? HS_GRAPH_BUILDER_NOWHERE : (uint32_t)test_random(n_blocks);
}

static void build_random(struct hs_graph_builder *b, uint32_t n_blocks, uint32_t n_edges)
{
    build_random_blocks(b, n_blocks);
    build_random_edges(b, n_blocks, n_edges);
    for (uint32_t i = 0; i < 40; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "Unit%u.v%u", i % 7, i);
        uint32_t at =
            hs_graph_builder_leaf(b, i % HS_N_ROOT_KINDS, i % 3 ? "main" : "plugin",
                                  i % 5 ? name : NULL, name, pick_block(n_blocks, i % 9 == 0));
        b->leaves[at].weak = i % 4 == 0;
        b->leaves[at].line = (uint32_t)test_random(1000);
        b->leaves[at].field = i % 2 ? i : HS_NO_FIELD;
        b->leaves[at].address = test_random(UINT64_MAX);
        b->leaves[at].offset = test_random(UINT64_MAX);
    }
    static const struct hs_sampler samplers[] = {
        {.kind = HS_SAMPLER_MEMPROF, .period_words = 1e6},
        {.kind = HS_SAMPLER_RECORD, .period_words = 1.0 / 3, .begun_ns = UINT64_MAX, .n_lost = 5}};
    b->facts.samplers = samplers;
    b->facts.n_samplers = 2;
    for (uint64_t i = 0; i < 10; i++) {
        hs_graph_builder_sample(b, i * i * 1000, pick_block(n_blocks, i % 3 == 0));
        b->samples[i].sampler = i % 2;
        b->samples[i].site = i % 4 == 0 ? HS_NO_SITE : (uint32_t)i % 3;
    }
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j <= i; j++)
            hs_graph_builder_frame(b, i, j % 2 ? "grow" : "main", i == 1 ? NULL : "a.c", 7 * i + j);
}

static void compare_samples(const struct hs_graph_builder *b, const struct hs_snap *snap)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    size_t n, at = 0;

    assert_int_equal(facts->n_samplers, b->facts.n_samplers);
    assert_memory_equal(facts->samplers, b->facts.samplers, 2 * sizeof *facts->samplers);
    for (size_t i = 0; i < b->n_samples; i++) {
        assert_int_equal(hs_snap_sample(snap, i)->sampler, b->samples[i].sampler);
        assert_int_equal(hs_snap_sample(snap, i)->site, b->samples[i].site);
    }
    assert_int_equal(hs_snap_n_sites(snap), 3);
    for (uint32_t site = 0; site < 3; site++) {
        const struct hs_site_frame *frames = hs_snap_site(snap, site, &n);
        assert_int_equal(n, site + 1);
        for (size_t i = 0; i < n; i++)
            assert_memory_equal(&frames[i], &b->frames[at++], sizeof *frames);
    }
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
    size_t n_found;
    for (size_t i = 0; i < b->n_samples; i++) {
        const struct hs_sample *found = hs_snap_sample(snap, i);
        assert_int_equal(found->id, b->samples[i].id);
        assert_ptr_equal(hs_snap_find_samples(snap, found->id, &n_found), found);
        assert_int_equal(n_found, 1);
        if (b->samples[i].node == HS_NO_NODE)
            assert_int_equal(found->node, HS_NO_NODE);
        else
            assert_int_equal(found->node, b->samples[i].node + n_tree);
    }
    compare_samples(b, snap);
    assert_null(hs_snap_find_samples(snap, 17, &n_found));
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
    for (uint32_t n = 0; n < 60; n++)
        round_trip(n, n * 3, (int)(n % 2) - 1);
}

static void test_round_trip_chunks(void **state)
{
    round_trip(HS_CHUNK_BLOCKS - 1, 100000, 0);
    round_trip(HS_CHUNK_BLOCKS, 100000, 0);
    round_trip(HS_CHUNK_BLOCKS + 1, 100000, 0);
    round_trip(3 * HS_CHUNK_BLOCKS + 77, 500000, 0);
}

/* ---- determinism ---- */

static void test_same_calls_same_bytes(void **state)
{
    struct hs_graph_builder b = {0};
    void *bytes[2];
    size_t n[2];
    build_random(&b, 5000, 20000);
    for (size_t i = 0; i < 2; i++) {
        hs_graph_builder_bytes(&b, &bytes[i], &n[i]);
        /* The order in which a block's edges are given does not matter. */
        qsort(b.edges, b.n_edges, sizeof b.edges[0], compare_edges);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    hs_free(bytes[0]);
    hs_free(bytes[1]);
    hs_graph_builder_fini(&b);
}

/* ---- what the writer refuses ---- */

struct refusal {
    struct hs_strtab strings;
    struct hs_snap_facts facts;
    struct hs_root roots[5];
    struct hs_out out;
    struct hs_snap_writer *writer;
    struct hs_error err;
    int fd;
};

static void refusal_begin(struct refusal *r)
{
    *r = (struct refusal){.facts = {.word_bytes = 8}};
    r->roots[0] = (struct hs_root){.target = HS_NO_NODE};
    for (unsigned i = 1; i < 4; i++)
        r->roots[i] = (struct hs_root){
            .parent = i - 1, .target = HS_NO_NODE, .level = (uint8_t)(HS_LEVEL_KIND + i - 1)};
    r->roots[4] = (struct hs_root){.parent = 3, .target = 5, .level = HS_LEVEL_LEAF};
    r->fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(r->fd >= 0);
    assert_int_equal(hs_out_open_fd(r->fd, "nowhere", &r->out, &r->err), HS_OK);
}

static hs_status refusal_new(struct refusal *r, uint64_t n_blocks)
{
    return hs_snap_writer_new(&r->out, &r->strings, &r->facts, r->roots, 5, n_blocks, &r->writer,
                              &r->err);
}

static void refusal_end(struct refusal *r, const char *message)
{
    assert_int_equal(r->err.status, HS_BUG);
    if (strstr(r->err.message, message) == NULL)
        fail_msg("says \"%s\", not \"%s\"", r->err.message, message);
    hs_snap_writer_free(r->writer);
    hs_out_close(&r->out);
    hs_strtab_fini(&r->strings);
    (void)close(r->fd);
}

static void test_refuses_malformed_trees(void **state)
{
    struct refusal r;
    refusal_begin(&r);
    r.roots[4].parent = 4;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "does not stand before it");
    refusal_begin(&r);
    r.roots[1].target = 5;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "only a leaf has a target");
    refusal_begin(&r);
    assert_int_equal(refusal_new(&r, 0), HS_BUG);
    refusal_end(&r, "its target 5 is out of range");
    refusal_begin(&r);
    r.roots[4].edge_class = HS_EDGE_WEAK;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "over its limit 3");
    refusal_begin(&r);
    r.roots[3].level = HS_LEVEL_VARIABLE;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "level 4 cannot stand below level 2");
    refusal_begin(&r);
    r.roots[4].name = 1;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "over its limit 0");
    refusal_begin(&r);
    r.facts.word_bytes = 2;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "a word of 2 bytes");
    refusal_begin(&r);
    const struct hs_sampler sampler = {.period_words = -1};
    r.facts.samplers = &sampler;
    r.facts.n_samplers = 1;
    assert_int_equal(refusal_new(&r, 1), HS_BUG);
    refusal_end(&r, "sampler 0 has no period that can be");
}

static void refuse_block(struct hs_block_record block, struct hs_edge edge, const char *message)
{
    struct refusal r;
    struct hs_block_record first = {.address = 0x1000, .words = 4};
    refusal_begin(&r);
    assert_int_equal(refusal_new(&r, 2), HS_OK);
    assert_int_equal(hs_snap_writer_block(r.writer, &first, NULL, 0, &r.err), HS_OK);
    assert_int_equal(hs_snap_writer_block(r.writer, &block, &edge, 1, &r.err), HS_BUG);
    refusal_end(&r, message);
}

static void test_refuses_malformed_blocks(void **state)
{
    struct hs_block_record good = {.address = 0x1020, .words = 2};
    struct hs_edge edge = {.target = 5};
    struct hs_block_record block = good;
    block.address = 0x101f;
    refuse_block(block, edge, "begins before the last one ends");
    block = good;
    block.words = 0;
    refuse_block(block, edge, "has 0 words");
    block = good;
    block.words = UINT64_MAX / 8;
    refuse_block(block, edge, "words and state");
    block = good;
    block.state = 16;
    refuse_block(block, edge, "state 16");
    block.state = HS_BLOCK_MAPPING;
    refuse_block(block, edge, "state 4");
    refuse_block(good, (struct hs_edge){.target = 4}, "node 4, which is no block");
    refuse_block(good, (struct hs_edge){.target = 7}, "node 7, which is no block");
    refuse_block(good, (struct hs_edge){.target = 5, .offset_words = 2}, "at word 2");
    refuse_block(good, (struct hs_edge){.target = 5, .edge_class = HS_N_EDGE_CLASSES},
                 "an edge of class 7");
}

static void test_refuses_a_wrong_end(void **state)
{
    struct refusal r;
    struct hs_snap_totals totals;
    struct hs_block_record block = {.address = 0x1000, .words = 4, .type = 1};
    const struct hs_type types[2] = {{0}};
    const struct hs_sample samples[2] = {{.id = 2, .node = 5, .site = HS_NO_SITE},
                                         {.id = 1, .node = 5, .site = HS_NO_SITE}};
    const struct hs_member members[2] = {{.type = 1}, {.type = 0}};
    const struct hs_sample lost = {.id = 2, .node = 1};
    refusal_begin(&r);
    const struct hs_sampler sampler = {.kind = HS_SAMPLER_RECORD};
    r.facts.samplers = &sampler;
    r.facts.n_samplers = 1;
    assert_int_equal(refusal_new(&r, 1), HS_OK);
    struct hs_snap_ending end = {.types = types, .n_types = 2};
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "0 blocks of the promised 1"));
    assert_int_equal(hs_snap_writer_block(r.writer, &block, NULL, 0, &r.err), HS_OK);
    end.n_types = 1;
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "type 1 is used"));
    end = (struct hs_snap_ending){.types = types, .n_types = 2, .samples = samples, .n_samples = 2};
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "sample 1 is out of order"));
    end = (struct hs_snap_ending){.types = types, .n_types = 2, .samples = &lost, .n_samples = 1};
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "which is no block"));
    const struct hs_sample foreign = {.node = HS_NO_NODE, .sampler = 1};
    end =
        (struct hs_snap_ending){.types = types, .n_types = 2, .samples = &foreign, .n_samples = 1};
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "sample 0 is of sampler 1 of 1"));
    const struct hs_sample siteless = {.node = HS_NO_NODE, .site = 1};
    const struct hs_site_frame frame = {.line = 3};
    end = (struct hs_snap_ending){.types = types,
                                  .n_types = 2,
                                  .samples = &siteless,
                                  .n_samples = 1,
                                  .site_frames = &frame,
                                  .n_site_frames = 1};
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "sample 0 is of site 1 of 1"));
    end = (struct hs_snap_ending){.types = types, .n_types = 2, .members = members, .n_members = 2};
    assert_int_equal(hs_snap_writer_finish(r.writer, &end, &totals, &r.err), HS_BUG);
    assert_non_null(strstr(r.err.message, "member 1 is out of order"));
    block.address = 0x2000;
    assert_int_equal(hs_snap_writer_block(r.writer, &block, NULL, 0, &r.err), HS_BUG);
    refusal_end(&r, "more than the promised 1");
}

/* ---- the system refuses ---- */

static void test_full_device(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        skip();
    build_random(&b, 30000, 60000);
    assert_int_equal(hs_out_open_fd(fd, "full", &out, &err), HS_OK);
    hs_status status = hs_graph_builder_write(&b, &out, NULL, &err);
    if (status == HS_OK)
        status = hs_out_commit(&out, &err);
    assert_int_equal(status, HS_IO);
    assert_non_null(strstr(err.message, "cannot write 'full'"));
    hs_out_close(&out);
    (void)close(fd);
    hs_graph_builder_fini(&b);
}

/* The calls of a whole file, without the builder, which does not bear failing. */
static hs_status write_small(struct hs_error *err)
{
    struct hs_root roots[5] = {{.target = HS_NO_NODE},
                               {.target = HS_NO_NODE, .level = HS_LEVEL_KIND},
                               {.parent = 1, .target = HS_NO_NODE, .level = HS_LEVEL_MODULE},
                               {.parent = 2, .target = HS_NO_NODE, .level = HS_LEVEL_UNIT},
                               {.parent = 3, .target = 5, .level = HS_LEVEL_LEAF}};
    const struct hs_snap_facts facts = {.word_bytes = 8};
    const struct hs_type type = {.stride_bytes = 8};
    const struct hs_member member = {.offset_bytes = 7};
    struct hs_strtab strings = {0};
    struct hs_out out = {0};
    struct hs_snap_writer *writer = NULL;
    struct hs_snap_totals totals;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    hs_status status = hs_out_open_fd(fd, "nowhere", &out, err);
    if (status == HS_OK)
        status = hs_strtab_add(&strings, "a name", &roots[4].name, err);
    if (status == HS_OK)
        status = hs_snap_writer_new(&out, &strings, &facts, roots, 5, 3000, &writer, err);
    for (uint64_t i = 0; i < 3000 && status == HS_OK; i++) {
        struct hs_block_record block = {.address = 0x1000 + 16 * i, .words = 2};
        struct hs_edge edges[2] = {{.target = 5 + i}, {.target = 5, .edge_class = HS_EDGE_WEAK}};
        if (i % 1000 == 0)
            status = hs_snap_writer_part(writer, edges, 2, 2, err);
        if (status == HS_OK)
            status = hs_snap_writer_block(writer, &block, edges, i % 1000 == 0 ? 0 : 2, err);
    }
    if (status == HS_OK)
        status = hs_snap_writer_finish(
            writer,
            &(struct hs_snap_ending){
                .types = &type, .n_types = 1, .members = &member, .n_members = 1},
            &totals, err);
    hs_snap_writer_free(writer);
    hs_out_close(&out);
    hs_strtab_fini(&strings);
    (void)close(fd);
    return status;
}

static void test_every_allocation_fails_once(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 20) {
        (void)FAIL_EACH_TRY(each, write_small(&err));
    }
}

/* ---- edges that do not fit ---- */

enum { LONG_EDGES = 1200000, LONG_TARGETS = 100000, LONG_WORDS = 1 << 21 };

/* Are the edges given by ascending offset, as those of an array are? */
static bool write_long_ascends;

static hs_status write_long(int fd, struct hs_budget *budget, size_t part, struct hs_error *err)
{
    const struct hs_root root = {.target = HS_NO_NODE};
    const struct hs_snap_facts facts = {.word_bytes = 8};
    const struct hs_type type = {.stride_bytes = 8};
    struct hs_strtab strings = {0};
    struct hs_snap_writer *writer = NULL;
    struct hs_snap_totals totals;
    struct hs_out out = {0};
    struct hs_edge *edges = calloc(LONG_EDGES, sizeof *edges);

    assert_non_null(edges);
    random_state = 88172645463325252;
    for (size_t i = 0; i < LONG_EDGES; i++)
        edges[i] =
            (struct hs_edge){.target = 1 + test_random(LONG_TARGETS),
                             .offset_words = write_long_ascends ? i : test_random(LONG_WORDS),
                             .edge_class = (uint8_t)test_random(HS_N_EDGE_CLASSES)};
    hs_status status = hs_out_open_fd(fd, "long", &out, err);
    if (status == HS_OK)
        status = hs_snap_writer_new(&out, &strings, &facts, &root, 1, LONG_TARGETS, &writer, err);
    if (status == HS_OK)
        hs_snap_writer_set_budget(writer, budget);
    for (uint64_t i = 0; i < LONG_TARGETS && status == HS_OK; i++) {
        struct hs_block_record block = {.address = 8 * i, .words = 1};
        size_t at = 0;
        if (i == LONG_TARGETS - 1)
            block.words = LONG_WORDS;
        for (; block.words != 1 && part != 0 && LONG_EDGES - at > part && status == HS_OK;
             at += part)
            status = hs_snap_writer_part(writer, edges + at, part, LONG_EDGES - at - part, err);
        if (status == HS_OK)
            status = hs_snap_writer_block(writer, &block, edges + at,
                                          block.words == 1 ? 0 : LONG_EDGES - at, err);
    }
    const struct hs_snap_ending ending = {.types = &type, .n_types = 1};
    if (status == HS_OK)
        status = hs_snap_writer_finish(writer, &ending, &totals, err);
    if (status == HS_OK) {
        assert_int_equal(totals.n_edges + totals.n_extra_edges, LONG_EDGES);
        status = hs_out_commit(&out, err);
    }
    hs_snap_writer_free(writer);
    hs_out_close(&out);
    hs_strtab_fini(&strings);
    free(edges);
    return status;
}

static void assert_same_files(int a, int b)
{
    static uint8_t bytes[2][1 << 16];
    uint64_t at = 0;
    ssize_t n;

    while ((n = pread(a, bytes[0], sizeof bytes[0], (off_t)at)) > 0) {
        assert_int_equal(pread(b, bytes[1], sizeof bytes[1], (off_t)at), n);
        assert_memory_equal(bytes[0], bytes[1], (size_t)n);
        at += (uint64_t)n;
    }
    assert_int_equal(pread(b, bytes[1], 1, (off_t)at), 0);
    assert_true(at > 3 * LONG_EDGES);
}

/* However the edges of a block come and wherever their columns lie: the same file. */
static void test_parts_write_the_same(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;
    FILE *whole = tmpfile(), *parts = tmpfile(), *spilled = tmpfile();

    write_long_ascends = *state != NULL;
    assert_true(whole != NULL && parts != NULL && spilled != NULL);
    assert_int_equal(write_long(fileno(whole), NULL, 0, &err), HS_OK);
    assert_int_equal(write_long(fileno(parts), NULL, 100000, &err), HS_OK);
    assert_same_files(fileno(whole), fileno(parts));
    hs_budget_init(HS_BUDGET_BASE_BYTES + 4096, NULL, 1, &budget);
    assert_int_equal(write_long(fileno(spilled), &budget, 3000, &err), HS_OK);
    assert_same_files(fileno(whole), fileno(spilled));
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    hs_budget_init(HS_BUDGET_BASE_BYTES + 4096, "/nowhere", 1, &budget);
    assert_int_equal(write_long(fileno(spilled), &budget, 3000, &err), HS_IO);
    assert_non_null(strstr(err.message, "/nowhere"));
    (void)fclose(whole);
    (void)fclose(parts);
    (void)fclose(spilled);
}

/* The disk that all parts of a block take is asked for with the first. */
static void test_foresees_the_disk_of_parts(void **state)
{
    struct refusal r;
    struct hs_block_record block = {.address = 0x1000, .words = 4};
    struct hs_edge edges[2] = {{.target = 5, .offset_words = 9}, {.target = 5}};
    refusal_begin(&r);
    assert_int_equal(refusal_new(&r, 1), HS_OK);
    assert_int_equal(hs_snap_writer_part(r.writer, edges, 1, UINT64_MAX / 16, &r.err), HS_IO);
    assert_non_null(strstr(r.err.message, "do not fit"));
    r.err = (struct hs_error)HS_ERROR_INIT;
    assert_int_equal(hs_snap_writer_block(r.writer, &block, edges + 1, 1, &r.err), HS_OK);
    assert_int_equal(hs_snap_writer_block(r.writer, &block, edges + 1, 1, &r.err), HS_BUG);
    refusal_end(&r, "more than the promised 1 blocks");
}

/* A word that its block does not have is found behind the merge, too. */
static void test_refuses_malformed_parts(void **state)
{
    struct refusal r;
    struct hs_block_record block = {.address = 0x1000, .words = 4};
    struct hs_edge edges[2] = {{.target = 5, .offset_words = 9}, {.target = 5}};
    refusal_begin(&r);
    assert_int_equal(refusal_new(&r, 1), HS_OK);
    assert_int_equal(hs_snap_writer_part(r.writer, edges, 1, 1, &r.err), HS_OK);
    assert_int_equal(hs_snap_writer_block(r.writer, &block, edges + 1, 1, &r.err), HS_BUG);
    refusal_end(&r, "at word 9");
}

/* ---- beyond 2^32 ---- */

static void test_large_node_numbers(void **state)
{
    enum { N = 1000 };
    const hs_node first = (UINT64_C(1) << 40) + 12345;
    const struct hs_chunk_limits limits = {.version = HS_FORMAT_VERSION,
                                           .word_bytes = 8,
                                           .n_tree = 5,
                                           .n_blocks = UINT64_C(1) << 45,
                                           .n_types = 1};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk_encoder encoder = {.word_bytes = 8};
    struct hs_buffer raw = {0};
    static hs_node expected[N][2];
    static uint64_t begin[N + 1];
    static hs_node target[2 * N];
    assert_int_equal(hs_chunk_encoder_begin(&encoder, first, HS_CHUNK_BLOCKS, &err), HS_OK);
    for (uint64_t i = 0; i < N; i++) {
        struct hs_block_record block = {.address = 0x1000 + 16 * i, .words = 2};
        hs_node a = 5 + test_random(limits.n_blocks);
        hs_node b = i % 2 ? first + i : 5 + test_random(limits.n_blocks);
        expected[i][0] = a < b ? a : b;
        expected[i][1] = a < b ? b : a;
        const struct hs_edge edges[2] = {{.target = expected[i][0]}, {.target = expected[i][1]}};
        assert_int_equal(hs_chunk_encoder_add(&encoder, &block, edges, 2, &err), HS_OK);
    }
    struct hs_section_parts parts;
    assert_int_equal(hs_chunk_encoder_column(&encoder, HS_SECTION_EDGES, &raw, &parts, &err),
                     HS_OK);

    struct hs_chunk chunk = {.first = first, .n_blocks = N, .edge_begin = begin, .target = target};
    size_t used;
    assert_int_equal(hs_degrees_decode(raw.bytes, raw.n_bytes, &chunk, &used, &err), HS_OK);
    assert_int_equal(hs_targets_decode(raw.bytes + used, raw.n_bytes - used, &limits, &chunk, &err),
                     HS_OK);
    for (uint64_t i = 0; i < N; i++) {
        assert_int_equal(target[2 * i], expected[i][0]);
        assert_int_equal(target[2 * i + 1], expected[i][1]);
    }
    hs_buffer_fini(&raw);
    hs_chunk_encoder_fini(&encoder);
}

/* A cut file may promise more than 2^32 blocks. */
static void test_large_promise(void **state)
{
    struct hs_root root = {.target = HS_NO_NODE};
    const struct hs_snap_facts facts = {.word_bytes = 8};
    const uint64_t promised = UINT64_C(1) << 33;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_strtab strings = {0};
    struct hs_out out = {0};
    struct hs_snap_writer *writer = NULL;
    struct hs_snap *snap = NULL;
    char path[] = "/tmp/heapsnap-writer-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(hs_out_open_fd(fd, path, &out, &err), HS_OK);
    assert_int_equal(hs_snap_writer_new(&out, &strings, &facts, &root, 1, promised, &writer, &err),
                     HS_OK);
    for (uint64_t i = 0; i < HS_CHUNK_BLOCKS; i++) {
        struct hs_block_record block = {.address = 0x1000 + 16 * i, .words = 2};
        struct hs_edge edges[2] = {{.target = promised - i}, {.target = 1 + i}};
        assert_int_equal(hs_snap_writer_block(writer, &block, edges, 2, &err), HS_OK);
    }
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_snap_writer_free(writer);
    hs_out_close(&out);
    assert_int_equal(hs_snap_open(path, 0, &snap, &err), HS_FORMAT);
    assert_int_equal(hs_snap_open(path, HS_SNAP_ALLOW_CUT, &snap, &err), HS_OK);
    assert_int_equal(hs_snap_totals(snap)->n_blocks, HS_CHUNK_BLOCKS);
    assert_int_equal(hs_snap_totals(snap)->n_edges, HS_CHUNK_BLOCKS);
    hs_snap_close(snap);
    (void)close(fd);
    (void)unlink(path);
}

/* One block with many edges, given backwards. */
static void test_wide_block(void **state)
{
    enum { N = 100000 };
    struct hs_graph_builder b = {0};
    struct hs_error err = HS_ERROR_INIT;
    uint32_t array = hs_graph_builder_block(&b, N + 1, false);
    uint32_t first = hs_graph_builder_blocks(&b, N, 2);
    for (uint32_t i = 0; i < N; i++)
        hs_graph_builder_edge_at(&b, array, first + N - 1 - i, HS_EDGE_EXACT, i);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    assert_int_equal(hs_snap_check(snap, NULL, &err), HS_OK);
    compare_chunks(&b, snap);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip_small),
        cmocka_unit_test(test_round_trip_chunks),
        cmocka_unit_test(test_same_calls_same_bytes),
        cmocka_unit_test(test_refuses_malformed_trees),
        cmocka_unit_test(test_refuses_malformed_blocks),
        cmocka_unit_test(test_refuses_a_wrong_end),
        cmocka_unit_test(test_full_device),
        cmocka_unit_test(test_every_allocation_fails_once),
        cmocka_unit_test_prestate(test_parts_write_the_same, NULL),
        cmocka_unit_test_prestate(test_parts_write_the_same, (void *)"by offset"),
        cmocka_unit_test(test_foresees_the_disk_of_parts),
        cmocka_unit_test(test_refuses_malformed_parts),
        cmocka_unit_test(test_large_node_numbers),
        cmocka_unit_test(test_large_promise),
        cmocka_unit_test(test_wide_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
