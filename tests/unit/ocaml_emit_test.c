/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* From a made-up heap to a snapshot and back: every block, every edge, nothing else. */
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_dump.h"
#include "fake_heap.h"
#include "snapshot/reader.h"

static char snap_path[64];

static int make_path(void **state)
{
    snprintf(snap_path, sizeof snap_path, "/tmp/emit_test.%d.snap", (int)getpid());
    return 0;
}

static int remove_path(void **state)
{
    unlink(snap_path);
    return 0;
}

static hs_status write_snapshot(struct fake_heap *fake, struct hs_error *err)
{
    struct hs_block_map map = {0};
    struct hs_ocaml_marks marks = {0};
    struct hs_out out = {0};

    hs_status status = hs_out_open_path(snap_path, &out, err);
    if (status == HS_OK)
        status = hs_block_map_build(&map, &fake->rt, err);
    if (status == HS_OK)
        status = hs_ocaml_mark(&fake->rt, &map, &fake->roots, &marks, err);
    if (status == HS_OK)
        status = fake_dump_ocaml(&fake->rt, &map, &marks, &fake->roots, &out, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    hs_ocaml_marks_fini(&marks);
    hs_block_map_fini(&map);
    return status;
}

static struct hs_snap *read_back(struct fake_heap *fake, struct hs_chunk *chunk)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap;

    fake_heap_seal(fake);
    hs_status status = write_snapshot(fake, &err);
    if (status != HS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(hs_snap_open(snap_path, 0, &snap, &err), HS_OK);
    assert_int_equal(hs_snap_check(snap, NULL, &err), HS_OK);
    assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_ALL, chunk, &err), HS_OK);
    return snap;
}

static uint32_t index_of(const struct hs_chunk *chunk, hs_addr address)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        if (chunk->address[i] == address)
            return i;
    }
    fail_msg("no block at %#llx", (unsigned long long)address);
    return 0;
}

static bool has_edge(const struct hs_chunk *chunk, hs_addr from, hs_addr to, uint64_t offset)
{
    uint32_t source = index_of(chunk, from);
    hs_node target = chunk->first + index_of(chunk, to);

    for (uint64_t e = chunk->edge_begin[source]; e < chunk->edge_begin[source + 1]; e++) {
        if (chunk->target[e] == target && chunk->offset_words[e] == offset &&
            chunk->edge_class[e] == HS_EDGE_EXACT)
            return true;
    }
    return false;
}

static unsigned n_extra(const struct hs_chunk *chunk, hs_addr from, hs_addr to, uint64_t offset,
                        unsigned edge_class)
{
    unsigned n = 0;

    for (uint64_t i = 0; i < chunk->n_extra; i++)
        n += chunk->extra[i].source == chunk->first + index_of(chunk, from) &&
             chunk->extra[i].target == chunk->first + index_of(chunk, to) &&
             chunk->extra[i].offset_words == offset && chunk->extra[i].edge_class == edge_class;
    return n;
}

static void writes_blocks_and_edges(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr constant = fake_static(fake, HS_TAG_STRING, 2, NULL);
    hs_addr leaf = fake_block(fake, HS_TAG_STRING, 3, NULL);
    const uint64_t closure_fields[] = {FAKE_CODE_F, UINT64_C(1) << 56 | 5, leaf};
    hs_addr closure = fake_block(fake, HS_TAG_CLOSURE, 3, closure_fields);
    const uint64_t fields[] = {leaf, 7, closure, leaf, constant, 4096};
    hs_addr top = fake_block(fake, 2, 6, fields);
    hs_addr young = fake_young(fake, 0, 1, &top);
    *fake_word(fake, top + HS_WORD) = young;
    fake_root(fake, young, false);
    struct hs_chunk chunk = {0};
    struct hs_snap *snap = read_back(fake, &chunk);
    const struct hs_snap_totals *totals = hs_snap_totals(snap);

    assert_int_equal(totals->n_blocks, 5);
    assert_int_equal(totals->n_edges, 1 + 1 + 5);
    assert_int_equal(totals->heap_words, 4 + 4 + 7 + 2);
    assert_int_equal(totals->static_words, 3);
    assert_true(has_edge(&chunk, top, leaf, 0) && has_edge(&chunk, top, young, 1));
    assert_true(has_edge(&chunk, top, closure, 2) && has_edge(&chunk, top, leaf, 3));
    assert_true(has_edge(&chunk, top, constant, 4) && has_edge(&chunk, closure, leaf, 2));
    assert_true(has_edge(&chunk, young, top, 0));
    assert_int_equal(chunk.state[index_of(&chunk, constant)], HS_BLOCK_STATIC);
    assert_int_equal(chunk.state[index_of(&chunk, young)], HS_BLOCK_YOUNG);
    assert_int_equal(chunk.state[index_of(&chunk, top)], 0);
    assert_int_equal(chunk.words[index_of(&chunk, top)], 7);
    for (uint32_t i = 1; i < chunk.n_blocks; i++)
        assert_true(chunk.address[i - 1] < chunk.address[i]);
    uint64_t n_leaves = 0;
    for (hs_node i = 0; i < totals->n_tree; i++) {
        if (hs_snap_root(snap, i)->target == HS_NO_NODE)
            continue;
        n_leaves++;
        assert_int_equal(hs_snap_root(snap, i)->target, chunk.first + index_of(&chunk, young));
    }
    assert_int_equal(n_leaves, 1);
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
}

static void writes_weak_and_ephemeron_edges(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr key = fake_block(fake, 0, 1, NULL), other = fake_block(fake, 0, 1, NULL);
    hs_addr dead = fake_block(fake, 0, 1, NULL);
    hs_addr data = fake_block(fake, 1, 1, NULL), lost = fake_block(fake, 1, 1, NULL);
    const uint64_t live_fields[] = {1, data, key, other}, dead_fields[] = {1, lost, key, dead};
    const uint64_t weak_fields[] = {1, FAKE_NONE, key, FAKE_NONE, dead};
    hs_addr active = fake_block(fake, HS_TAG_ABSTRACT, 4, live_fields);
    hs_addr inactive = fake_block(fake, HS_TAG_ABSTRACT, 4, dead_fields);
    hs_addr weak = fake_block(fake, HS_TAG_ABSTRACT, 5, weak_fields);
    hs_addr all[] = {active, inactive, weak, key, other};
    for (unsigned i = 0; i < 5; i++)
        fake_root(fake, all[i], false);
    for (unsigned i = 0; i < 3; i++)
        fake_ephemeron(fake, all[i]);
    struct hs_chunk chunk = {0};
    struct hs_snap *snap = read_back(fake, &chunk);

    assert_int_equal(hs_snap_totals(snap)->n_edges, 0);
    assert_int_equal(chunk.n_extra, 3 + 2 + 3 + 2);
    assert_int_equal(n_extra(&chunk, active, data, 1, HS_EDGE_EPHEMERON), 1);
    assert_int_equal(n_extra(&chunk, key, data, 0, HS_EDGE_EPHEMERON), 1);
    assert_int_equal(n_extra(&chunk, other, data, 0, HS_EDGE_EPHEMERON), 1);
    assert_int_equal(n_extra(&chunk, active, key, 2, HS_EDGE_WEAK), 1);
    assert_int_equal(n_extra(&chunk, active, other, 3, HS_EDGE_WEAK), 1);
    assert_int_equal(n_extra(&chunk, inactive, lost, 1, HS_EDGE_EPHEMERON_OFF), 1);
    assert_int_equal(n_extra(&chunk, inactive, dead, 3, HS_EDGE_WEAK), 1);
    assert_int_equal(n_extra(&chunk, weak, dead, 4, HS_EDGE_WEAK), 1);
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
}

/* A weak array that has some slots tells how many are in use, an ephemeron with data nothing. */
static void counts_weak_arrays(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr key = fake_block(fake, 0, 1, NULL);
    const uint64_t weak_fields[] = {1, FAKE_NONE, FAKE_NONE, key, FAKE_NONE, 3, FAKE_NONE};
    const uint64_t data_fields[] = {1, key, key, key, key, key};
    hs_addr weak = fake_block(fake, HS_TAG_ABSTRACT, 7, weak_fields);
    hs_addr ephemeron = fake_block(fake, HS_TAG_ABSTRACT, 6, data_fields);
    hs_addr all[] = {weak, ephemeron, key};
    for (unsigned i = 0; i < 3; i++)
        fake_root(fake, all[i], false);
    fake_ephemeron(fake, weak);
    fake_ephemeron(fake, ephemeron);
    struct hs_chunk chunk = {0};
    struct hs_snap *snap = read_back(fake, &chunk);

    assert_int_equal(chunk.n_counts, 1);
    assert_int_equal(chunk.counts[0].at, index_of(&chunk, weak));
    assert_int_equal(chunk.counts[0].entries, 2);
    assert_int_equal(chunk.counts[0].room, 5);
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
}

static void leaves_module_blocks_without_edges(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct fake_heap *fake = fake_heap_new();
    hs_addr value = fake_block(fake, 0, 1, NULL);
    hs_addr module = fake_static(fake, 0, 1, &value);
    hs_addr plain = fake_static(fake, 0, 1, &value);
    const uint64_t fields[] = {module, plain};
    void *blocks;
    assert_int_equal(hs_alloc(1, sizeof(hs_addr), &blocks, &err), HS_OK);
    fake->roots.module_blocks = blocks;
    fake->roots.module_blocks[0] = module;
    fake->roots.n_module_blocks = 1;
    fake_root(fake, fake_block(fake, 0, 2, fields), false);
    struct hs_chunk chunk = {0};
    struct hs_snap *snap = read_back(fake, &chunk);

    assert_false(has_edge(&chunk, module, value, 0));
    assert_true(has_edge(&chunk, plain, value, 0));
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
}

static void writes_samples_in_order_of_id(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr block = fake_block(fake, 0, 1, NULL);
    struct hs_ocaml_sample samples[] = {
        {.sample = {.id = 9, .words = 2, .site = HS_NO_SITE}, .block = block},
        {.sample = {.id = 4, .words = 3, .site = HS_NO_SITE}, .block = block + 8}};
    size_t n_found;
    fake->roots.samples = samples; /* borrowed: fake_heap_free does not free them */
    fake->roots.n_samples = 2;
    fake_root(fake, block, false);
    struct hs_chunk chunk = {0};
    struct hs_snap *snap = read_back(fake, &chunk);

    assert_int_equal(hs_snap_sample(snap, 0)->id, 4);
    assert_true(hs_snap_sample(snap, 0)->node == HS_NO_NODE);
    assert_int_equal(hs_snap_find_samples(snap, 9, &n_found)->node,
                     chunk.first + index_of(&chunk, block));
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
}

static struct fake_heap *secret_heap(void)
{
    struct fake_heap *fake = fake_heap_new();
    uint64_t words[40];
    for (unsigned i = 0; i < 40; i++)
        memcpy(&words[i], "Hunter2", 8);
    hs_addr string = fake_block(fake, HS_TAG_STRING, 40, words);
    fake_root(fake, fake_block(fake, 0, 1, &string), false);
    fake_root(fake, fake_young(fake, HS_TAG_STRING, 4, words), false);
    return fake;
}

static size_t slurp(char *bytes, size_t n)
{
    FILE *file = fopen(snap_path, "rb");
    assert_non_null(file);
    size_t n_bytes = fread(bytes, 1, n, file);
    fclose(file);
    return n_bytes;
}

static void holds_no_byte_of_the_heap_and_repeats(void **state)
{
    static char first[1 << 16], second[1 << 16];
    struct hs_chunk chunk = {0};
    struct fake_heap *fake = secret_heap();
    struct hs_snap *snap = read_back(fake, &chunk);

    for (hs_str id = 1; id <= hs_snap_totals(snap)->n_strings; id++)
        assert_null(strstr(hs_snap_string(snap, id), "Hunter"));
    size_t n_first = slurp(first, sizeof first);
    assert_null(memmem(first, n_first, "Hunter", 6));
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
    fake = secret_heap();
    chunk = (struct hs_chunk){0};
    snap = read_back(fake, &chunk);
    assert_int_equal(slurp(second, sizeof second), n_first);
    assert_memory_equal(first, second, n_first);
    hs_chunk_fini(&chunk);
    hs_snap_close(snap);
    fake_heap_free(fake);
}

static void fails_cleanly_without_memory(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 19) {
        struct hs_error err = HS_ERROR_INIT;
        struct fake_heap *fake = secret_heap();
        hs_addr key = fake_block(fake, 0, 1, NULL);
        const uint64_t fields[] = {1, key, key};
        hs_addr table = fake_block(fake, HS_TAG_ABSTRACT, 3, fields);
        fake_ephemeron(fake, table);
        fake_root(fake, table, false);
        fake_root(fake, key, false);
        fake_heap_seal(fake);
        (void)FAIL_EACH_TRY(each, write_snapshot(fake, &err));
        fake_heap_free(fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_blocks_and_edges),
        cmocka_unit_test(writes_weak_and_ephemeron_edges),
        cmocka_unit_test(counts_weak_arrays),
        cmocka_unit_test(leaves_module_blocks_without_edges),
        cmocka_unit_test(writes_samples_in_order_of_id),
        cmocka_unit_test(holds_no_byte_of_the_heap_and_repeats),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
