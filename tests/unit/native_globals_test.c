/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "apr/pools.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "fake_ctypes.h"
#include "fake_joined.h"
#include "fake_native.h"

#include "native/globals.h"

static struct hs_error err;

static void collect(struct fake_native *f)
{
    assert_int_equal(hs_native_collect_globals(&f->native, &err), HS_OK);
}

static void assert_where(const struct fake_native *f, const char *name, const char *module,
                         const char *unit, const char *variable)
{
    const struct hs_root_leaf *leaf = fake_native_leaf(f, name);
    if (leaf == NULL)
        fail_msg("no leaf '%s'", name);
    assert_int_equal(leaf->root.kind, HS_ROOT_GLOBAL);
    assert_string_equal(fake_native_text(f, leaf->group_module), module);
    assert_string_equal(fake_native_text(f, leaf->group_unit), unit);
    assert_string_equal(fake_native_text(f, leaf->group_variable), variable);
}

static void symbols_and_sections_name_what_has_no_type(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "main_list", 2, 1, STB_GLOBAL);
    fake_native_symbol(f, "table", 4, 8, STB_LOCAL);
    fake_native_symbol(f, "cache", 20, 2, STB_LOCAL);
    fake_native_symbol(f, "cache", 30, 2, STB_LOCAL);
    fake_native_symbol(f, "stdout@GLIBC_2.2.5", 512, 1, STB_GLOBAL);
    fake_native_symbol(f, "_ZN3foo3barE", 514, 1, STB_GLOBAL);
    fake_native_symbol(f, "__bss_start", 520, 0, STB_GLOBAL);
    fake_native_seal(f);
    static const size_t filled[] = {2, 4, 7, 20, 30, 31, 100, 512, 514, 548};
    for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
        f->data[filled[i]] = fake_native_block(i);
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, sizeof filled / sizeof *filled);
    assert_where(f, "main_list", "prog", "(no source)", "");
    assert_where(f, "table", "prog", "(no source)", "table");
    assert_where(f, "table+0x18", "prog", "(no source)", "table");
    /* Two static variables of one name are two. */
    assert_where(f, "cache", "prog", "(no source)", "cache");
    assert_where(f, "cache (at 0x30f0)", "prog", "(no source)", "cache (at 0x30f0)");
    assert_where(f, "cache (at 0x30f0)+0x8", "prog", "(no source)", "cache (at 0x30f0)");
    assert_where(f, ".data+0x320", "prog", "(no source)", "");
    assert_where(f, "stdout", "prog", "(no source)", "");
    assert_where(f, "foo::bar", "prog", "(no source)", "");
    assert_where(f, ".bss+0x120", "prog", "(no source)", ""); /* a border is no variable */
    const struct hs_root_leaf *slot = fake_native_leaf(f, "table+0x18");
    assert_true(slot->root.address == FAKE_N_DATA_AT + 7 * 8 && slot->root.offset == 0x18);
    assert_int_equal(slot->root.certainty, HS_CONSERVATIVE);
    assert_true(slot->target == fake_native_block(2));
    fake_native_free(f);
}

/* Many words close together that no symbol parts are slots of one variable; few, or far ones, are
 * variables each. */
static void many_words_without_names_are_one(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "border", 108, 1, STB_LOCAL);
    fake_native_seal(f);
    for (size_t i = 0; i < 9; i++) {
        f->data[10 + 2 * i] = fake_native_block(i); /* every other word: 10 to 26 */
        f->data[100 + i] = fake_native_block(i);    /* 100 to 107, and the border */
        f->data[109 + i] = fake_native_block(i);    /* 109 to 117 */
    }
    f->data[200] = fake_native_block(4);
    collect(f);
    assert_where(f, ".data+0x50", "prog", "(no source)", ".data+0x50 to +0xd0");
    assert_where(f, ".data+0x60", "prog", "(no source)", ".data+0x50 to +0xd0");
    assert_where(f, ".data+0xd0", "prog", "(no source)", ".data+0x50 to +0xd0");
    assert_where(f, ".data+0x320", "prog", "(no source)", "");
    assert_where(f, "border", "prog", "(no source)", "");
    assert_where(f, ".data+0x368", "prog", "(no source)", ".data+0x368 to +0x3a8");
    assert_where(f, ".data+0x640", "prog", "(no source)", "");
    assert_int_equal(fake_native_leaf(f, ".data+0x60")->root.offset, 0x10);
    fake_native_free(f);
}

static void debug_information_comes_first(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "nodes", 16, 12, STB_GLOBAL);
    fake_native_symbol(f, "plain", 40, 1, STB_GLOBAL);
    fake_native_seal(f);
    f->native.ctypes = fake_ctypes();
    f->of_object.types = 1;
    fake_variables[0] = (struct hs_cvariable){.type = FAKE_NODES,
                                              .name = "ns::nodes",
                                              .file = "/src/a.c",
                                              .line = 12,
                                              .vaddr = 0x3080,
                                              .n_bytes = 96};
    /* Lies: does not hold the address it was asked for. */
    fake_variables[1] = (struct hs_cvariable){
        .name = "liar", .file = "", .vaddr = 0x3140, .n_bytes = UINT64_MAX - 0x3140};
    fake_n_variables = 2;
    for (size_t i = 16; i < 28; i++)
        f->data[i] = fake_native_block(1);
    f->data[40] = fake_native_block(2);
    fake_n_asked = 0;
    collect(f);
    assert_where(f, "ns::nodes[0].next", "prog", "/src/a.c", "ns::nodes");
    assert_int_equal(fake_native_leaf(f, "ns::nodes[0].next")->root.tier, HS_TIER_FIRM);
    assert_int_equal(fake_native_leaf(f, "ns::nodes[0].maybe")->root.tier, HS_TIER_FIRM);
    /* No pointer is there by its type. */
    assert_int_equal(fake_native_leaf(f, "ns::nodes[0].tag")->root.edge_class, HS_EDGE_GUESSED);
    assert_int_equal(fake_native_leaf(f, "ns::nodes[0].tag")->root.tier, HS_TIER_DOUBTFUL);
    assert_where(f, "ns::nodes[3].maybe", "prog", "/src/a.c", "ns::nodes");
    const struct hs_root_leaf *leaf = fake_native_leaf(f, "ns::nodes[1].next");
    assert_int_equal(leaf->root.line, 12);
    assert_int_equal(leaf->root.certainty, HS_EXACT);
    assert_string_equal(fake_native_text(f, leaf->root.symbol), "ns::nodes");
    assert_int_equal(f->native.n_seeds, 4);
    assert_true(fake_n_asked <= 2); /* once per variable, not per word */
    assert_where(f, "plain", "prog", "(no source)", "");
    fake_native_free(f);
    fake_n_variables = 0;
}

static void system_objects_and_claims_stand_apart(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "arena", 0, 64, STB_GLOBAL);
    fake_native_symbol(f, "head", 64, 1, STB_GLOBAL);
    fake_native_open(f);
    /* What an allocator says is its own is no root. */
    assert_int_equal(hs_ledger_claim(&f->dump.heaps.ledger, "glibc", HS_MEMORY_INTERNAL,
                                     FAKE_N_DATA_AT, FAKE_N_DATA_AT + 64 * 8, 0, &err),
                     HS_OK);
    hs_ledger_seal(&f->dump.heaps.ledger);
    fake_native_mark(f);
    f->of_object.is_system = true;
    f->data[3] = f->data[63] = f->data[64] = fake_native_block(0);
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 1);
    assert_where(f, "head", "system: prog", "(no source)", "");
    assert_string_equal(fake_native_text(f, f->native.roots.leaves[0].root.module), "prog");
    fake_native_free(f);
}

/* All words of a large .bss without a single symbol, then with a thousand: no search per word. */
static void a_stripped_program_is_told_by_offset(void **state)
{
    struct fake_native *f = fake_native_new();
    f->writer.as_dynsym = true;
    fake_native_seal(f);
    f->native.ctypes = fake_ctypes();
    f->of_object.types = 1;
    for (size_t i = 0; i < FAKE_N_DATA_WORDS; i++)
        f->data[i] = fake_native_block(i % FAKE_N_BLOCKS);
    fake_n_asked = 0;
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, FAKE_N_DATA_WORDS);
    assert_true(fake_n_asked <= 4); /* a page each */
    assert_where(f, ".bss+0xff8", "prog", "(no source)", ".bss+0x0 to +0xff8");
    fake_native_free(f);
}

/* It has no symbol, and one word of what has none. */
static void an_allocator_knows_its_variable(void **state)
{
    struct fake_native *f = fake_native_new();
    struct apr apr = {.variable = FAKE_N_DATA_AT + 600 * 8};
    f->writer.as_dynsym = true;
    fake_native_seal(f);
    f->native.dump->heaps.states[HS_OWNER_apr] = &apr;
    for (size_t i = 598; i < 603; i++)
        f->data[i] = fake_native_block(i % FAKE_N_BLOCKS);
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 5);
    assert_where(f, "global_pool", "prog", "(no source)", "");
    assert_int_equal(fake_native_leaf(f, "global_pool")->root.address, apr.variable);
    assert_string_equal(fake_native_text(f, fake_native_leaf(f, "global_pool")->root.symbol),
                        "global_pool");
    assert_where(f, ".bss+0x2b8", "prog", "(no source)", "");
    assert_where(f, ".bss+0x2c8", "prog", "(no source)", "");
    f->native.dump->heaps.states[HS_OWNER_apr] = NULL;
    fake_native_free(f);
}

static void damaged_segments_are_passed_over(void **state)
{
    struct fake_native *f = fake_native_new();
    f->writer.segments[1].p_memsz = UINT64_C(1) << 46; /* claims far more than is mapped */
    fake_native_seal(f);
    f->data[1] = fake_native_block(1);
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 1);
    fake_native_free(f);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 5) {
        struct fake_native *f = fake_native_new();
        fake_native_symbol(f, "table", 4, 200, STB_LOCAL);
        fake_native_seal(f);
        for (size_t i = 0; i < 400; i++)
            f->data[i] = fake_native_block(1);
        (void)FAIL_EACH_TRY(each, hs_native_collect_globals(&f->native, &err));
        fake_native_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols_and_sections_name_what_has_no_type),
        cmocka_unit_test(many_words_without_names_are_one),
        cmocka_unit_test(debug_information_comes_first),
        cmocka_unit_test(system_objects_and_claims_stand_apart),
        cmocka_unit_test(a_stripped_program_is_told_by_offset),
        cmocka_unit_test(an_allocator_knows_its_variable),
        cmocka_unit_test(damaged_segments_are_passed_over),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
