/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Finalisers: what is a root, what is weak, and tables that lie. */
#include "unit.h"

#include "fake_roots.h"

static void collect(struct fake_roots *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(fake);
    assert_int_equal(fake_roots_collect(fake, &err), HS_OK);
}

/* struct finalisable at data[at], its table in memory[table]. */
static void put_set(struct fake_roots *fake, size_t at, size_t table, uint64_t old, uint64_t young)
{
    fake->data[at] = fake_memory_at(table);
    fake->data[at + 1] = old;
    fake->data[at + 2] = young;
    fake->data[at + 3] = young;
}

static struct fake_roots *with_sets(void)
{
    struct fake_roots *fake = fake_roots_new();
    fake_statics(fake)->finalisable_first = fake_data_at(FAKE_FREE);
    fake_statics(fake)->finalisable_last = fake_data_at(FAKE_FREE + 4);
    fake_statics(fake)->to_do_hd = fake_data_at(FAKE_FREE + 8);
    return fake;
}

static void functions_are_roots_and_values_are_weak(void **state)
{
    struct fake_roots *fake = with_sets();
    const uint64_t closure[] = {FAKE_TEXT_AT + 0x10, UINT64_C(1) << 56 | 5};
    hs_addr function = fake_block(fake->heap, 247, 2, closure);
    hs_addr value = fake_block(fake->heap, 0, 3, NULL);
    put_set(fake, FAKE_FREE, 0, 1, 1);
    put_set(fake, FAKE_FREE + 4, 8, 0, 1);
    fake->memory[0] = fake->memory[8] = function;
    fake->memory[1] = fake->memory[9] = value;
    /* About to run: both are roots. */
    fake->data[FAKE_FREE + 8] = fake_memory_at(20);
    fake->memory[20] = 0;
    fake->memory[21] = 1;
    fake->memory[22] = function;
    fake->memory[23] = value;
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_FINALISER), 6);
    static const char *const names[] = {"Gc.finalise function M.top",
                                        "Gc.finalise value M.top",
                                        "Gc.finalise_last function M.top",
                                        "Gc.finalise_last value M.top",
                                        "finalisers about to run function M.top",
                                        "finalisers about to run value M.top"};
    static const bool weak[] = {false, true, false, true, false, false};
    for (size_t i = 0; i < 6; i++) {
        const struct hs_root_leaf *leaf = fake_leaf(fake, HS_ROOT_FINALISER, i);
        assert_string_equal(fake_text(fake, leaf->root.name), names[i]);
        assert_int_equal(leaf->root.weak, weak[i]);
        assert_true(leaf->target == (i % 2 == 0 ? function : value));
    }
    assert_null(fake_note(fake->heap, "finalisers"));
    fake_roots_free(fake);
}

static void lengths_that_lie_end_with_the_memory(void **state)
{
    struct fake_roots *fake = with_sets();
    put_set(fake, FAKE_FREE, FAKE_MALLOC_WORDS - 3, 0, UINT64_C(1) << 31);
    put_set(fake, FAKE_FREE + 4, 0, 0, UINT64_C(1) << 62);
    fake->data[FAKE_FREE + 8] = fake_memory_at(30);
    fake->memory[30] = fake_memory_at(30); /* a cycle, each time with a negative size */
    fake->memory[31] = 0xFFFFFFFF;
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_FINALISER), 0);
    assert_non_null(fake_note(fake->heap, "could not be read"));
    fake_roots_free(fake);
}

static void tables_not_found_are_a_note(void **state)
{
    struct fake_roots *fake = fake_roots_new();
    collect(fake);
    assert_non_null(fake_note(fake->heap, "finalisers were not scanned"));
    fake_roots_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_roots_and_values_are_weak),
        cmocka_unit_test(lengths_that_lie_end_with_the_memory),
        cmocka_unit_test(tables_not_found_are_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
