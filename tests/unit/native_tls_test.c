/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_ctypes.h"
#include "fake_joined.h"
#include "fake_native.h"
static struct hs_error err;

enum { TCB = 512 }; /* index in f->tls of FAKE_N_TCB_AT */

/* One thread: static block of the program right below the control block. */
static struct fake_native *threaded_with(const char *symbol, size_t at)
{
    struct fake_native *f = fake_native_new();
    f->has_tls = true;
    fake_native_symbol(f, symbol, at, 6, STB_GLOBAL);
    elf_writer_symbol(&f->writer, "counter", STT_TLS, STB_GLOBAL, 0, 8, (uint16_t)f->data_section);
    elf_writer_symbol(&f->writer, "cache", STT_TLS, STB_LOCAL, 8, 24, (uint16_t)f->data_section);
    fake_native_seal(f);
    struct hs_thread *t = fake_native_thread(f, 42);
    t->regs.fs_base = FAKE_N_TCB_AT;
    f->tls[TCB] = f->tls[TCB + 2] = FAKE_N_TCB_AT;
    return f;
}

static struct fake_native *threaded(void)
{
    return threaded_with("anything", 0);
}

static void collect(struct fake_native *f)
{
    assert_int_equal(hs_native_collect_tls(&f->native, &err), HS_OK);
}

static const struct hs_root_leaf *must_find(const struct fake_native *f, const char *name,
                                            const char *unit, const char *variable)
{
    const struct hs_root_leaf *leaf = fake_native_leaf(f, name);
    if (leaf == NULL)
        fail_msg("no leaf '%s'", name);
    assert_int_equal(leaf->root.kind, HS_ROOT_TLS);
    assert_int_equal(leaf->root.thread, 42);
    assert_string_equal(fake_native_text(f, leaf->group_module), "thread 42");
    assert_string_equal(fake_native_text(f, leaf->group_unit), unit);
    assert_string_equal(fake_native_text(f, leaf->group_variable), variable);
    return leaf;
}

static void static_blocks_by_symbol(void **state)
{
    struct fake_native *f = threaded();
    f->tls[TCB - 8] = fake_native_block(1);     /* counter */
    f->tls[TCB - 6] = fake_native_block(2) + 3; /* cache+8 */
    f->tls[TCB - 2] = fake_native_block(3);     /* of no symbol */
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 3);
    const struct hs_root_leaf *leaf = must_find(f, "counter", "prog", "");
    assert_true(leaf->root.address == FAKE_N_TCB_AT - 64 && leaf->target == fake_native_block(1));
    leaf = must_find(f, "cache+0x8", "prog", "cache");
    assert_int_equal(leaf->root.edge_class, HS_EDGE_INTERIOR);
    (void)must_find(f, "TLS of prog+0x30", "prog", "");
    fake_native_free(f);
}

static void static_blocks_by_debug_information(void **state)
{
    struct fake_native *f = threaded();
    f->native.ctypes = fake_ctypes();
    f->of_object.types = 1;
    fake_tls_variables[0] = (struct hs_cvariable){.type = FAKE_NODE,
                                                  .name = "current",
                                                  .file = "/src/t.c",
                                                  .line = 7,
                                                  .vaddr = 8,
                                                  .n_bytes = 24};
    fake_n_tls_variables = 1;
    f->tls[TCB - 7] = fake_native_block(1);
    collect(f);
    const struct hs_root_leaf *leaf = must_find(f, "current.next", "/src/t.c", "current");
    assert_int_equal(leaf->root.certainty, HS_EXACT);
    assert_int_equal(leaf->root.line, 7);
    assert_int_equal(f->native.n_seeds, 1);
    f->native.roots.n_leaves = 0;
    f->of_object.is_system = true;
    collect(f);
    assert_int_equal(leaf->root.tier, HS_TIER_FIRM);
    f->of_object.is_runtime = true;
    f->native.roots.n_leaves = 0;
    collect(f);
    leaf = must_find(f, "current.next", "system: prog", "current");
    assert_int_equal(leaf->root.tier, HS_TIER_RUNTIME);
    fake_n_tls_variables = 0;
    fake_native_free(f);
}

static void the_control_block_is_told_by_what_it_proves(void **state)
{
    struct fake_native *f = threaded();
    enum { KEYS = TCB + 98, BLOCKS = KEYS + 64 };
    f->tls[TCB + 1] = fake_native_block(4) + 16; /* the vector */
    f->tls[BLOCKS] = FAKE_N_TLS_AT + KEYS * 8;   /* the first block of keys is in itself */
    f->tls[BLOCKS + 1] = fake_native_block(5);
    f->tls[KEYS + 3] = fake_native_block(6); /* data of key 1 */
    f->tls[TCB + 90] = fake_native_block(7);
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 4);
    static const struct {
        const char *name;
        uint8_t tier;
    } expected[] = {{"dynamic thread vector", HS_TIER_RUNTIME},
                    {"pthread_setspecific key 1", HS_TIER_FIRM},
                    {"pthread_setspecific keys 32 to 63", HS_TIER_FIRM},
                    {"control block+0x2d0", HS_TIER_RUNTIME}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(must_find(f, expected[i].name, "thread control block", "")->root.tier,
                         expected[i].tier);
    f->tls[BLOCKS] = 0; /* without the proof: by offset */
    f->native.roots.n_leaves = 0;
    collect(f);
    assert_non_null(fake_native_leaf(f, "control block+0x328"));
    fake_native_free(f);
}

/* The program's block as if it were of a library loaded later: by the thread's vector. */
static struct fake_native *dynamic(void)
{
    enum { MAP = 128, DEBUG = 64 };
    struct fake_native *f = threaded_with("_r_debug", DEBUG);
    f->data[DEBUG] = 1;
    f->data[DEBUG + 1] = FAKE_N_DATA_AT + MAP * 8;
    f->data[MAP] = FAKE_N_BIAS;
    const uint64_t tls[] = {FAKE_N_BIAS + 0x3000, 0, 0x40, 16, 0, UINT64_MAX, 2};
    memcpy(&f->data[MAP + 30], tls, sizeof tls);
    f->tls[TCB + 1] = fake_native_block(8) + 16;
    uint64_t *vector = &f->blocks[8 * FAKE_N_BLOCK_WORDS];
    vector[0] = 14; /* entries */
    vector[2 + 2 * 2] = fake_native_block(20);
    f->blocks[20 * FAKE_N_BLOCK_WORDS + 1] = fake_native_block(21);
    return f;
}

static void dynamic_blocks_by_the_vector(void **state)
{
    struct fake_native *f = dynamic();
    struct hs_heap_block block;
    collect(f);
    assert_int_equal(f->of_object.tls_module, 2);
    const struct hs_root_leaf *leaf = must_find(f, "cache", "prog", "cache");
    assert_true(leaf->root.address == fake_native_block(20) + 8);
    assert_true(leaf->target == fake_native_block(21));
    /* The block is reached by the vector, but its words are these roots. */
    (void)must_find(f, "dynamic thread vector", "thread control block", "");
    assert_true(hs_heap_map_resolve(&f->dump.heaps.map, fake_native_block(20), &block) ==
                HS_POINTER_START);
    assert_true(hs_native_is_root_memory(&f->native, &block));
    /* Not allocated in this thread yet. */
    f->blocks[8 * FAKE_N_BLOCK_WORDS + 6] = UINT64_MAX;
    f->native.roots.n_leaves = 0;
    collect(f);
    assert_null(fake_native_leaf(f, "cache"));
    fake_native_free(f);
}

static void hostile_vectors_lead_nowhere(void **state)
{
    static const uint64_t vectors[] = {0, 8, UINT64_MAX, UINT64_MAX - 8, FAKE_N_BLOCKS_AT};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        struct fake_native *f = threaded();
        f->tls[TCB + 1] = vectors[i];
        collect(f);
        fake_native_free(f);
    }
}

static void a_thread_without_control_block_has_no_tls(void **state)
{
    struct fake_native *f = threaded();
    f->tls[TCB - 8] = fake_native_block(1);
    f->threads[0].regs.fs_base = 0;
    collect(f);
    f->threads[0].regs.fs_base = FAKE_N_TCB_AT;
    f->tls[TCB + 2] = 0; /* does not know itself */
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 0);
    fake_native_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(static_blocks_by_symbol),
        cmocka_unit_test(static_blocks_by_debug_information),
        cmocka_unit_test(the_control_block_is_told_by_what_it_proves),
        cmocka_unit_test(dynamic_blocks_by_the_vector),
        cmocka_unit_test(hostile_vectors_lead_nowhere),
        cmocka_unit_test(a_thread_without_control_block_has_no_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
