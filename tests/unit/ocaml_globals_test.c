/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Globals of linked and registered modules, and tables that lie. */
#include "unit.h"

#include "fake_roots.h"

static struct fake_roots *program_with_module(size_t n_fields)
{
    struct fake_roots *fake = fake_roots_new();
    fake->data[FAKE_GLOBALS] = fake_data_at(FAKE_GC_ROOTS);
    fake->data[FAKE_GC_ROOTS] = fake_data_at(FAKE_MODULE_HEADER + 1);
    fake->data[FAKE_MODULE_HEADER] = fake_header(n_fields, 0, 0);
    for (size_t i = 0; i < n_fields && i < 20; i++)
        fake->data[FAKE_MODULE_HEADER + 1 + i] = 1;
    return fake;
}

static void collect(struct fake_roots *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(fake);
    assert_int_equal(fake_roots_collect(fake, &err), HS_OK);
}

static void each_pointer_field_is_a_root(void **state)
{
    struct fake_roots *fake = program_with_module(5);
    hs_addr heap = fake_block(fake->heap, 0, 2, NULL);
    hs_addr young = fake_young(fake->heap, 1, 1, NULL);
    hs_addr fixed = fake_static(fake->heap, 0, 1, NULL);
    fake->data[FAKE_MODULE_HEADER + 1] = heap;
    fake->data[FAKE_MODULE_HEADER + 2] = 33;
    fake->data[FAKE_MODULE_HEADER + 3] = young;
    fake->data[FAKE_MODULE_HEADER + 4] = fixed;
    fake->data[FAKE_MODULE_HEADER + 5] = 0x1238; /* foreign */
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_GLOBAL), 3);
    const struct hs_root_leaf *leaf = fake_leaf(fake, HS_ROOT_GLOBAL, 1);
    assert_string_equal(fake_text(fake, leaf->root.name), "M field 2");
    assert_string_equal(fake_text(fake, leaf->root.symbol), "camlM");
    assert_string_equal(fake_text(fake, leaf->group_module), "prog");
    assert_string_equal(fake_text(fake, leaf->group_unit), "M");
    assert_int_equal(leaf->root.field, 2);
    assert_int_equal(leaf->root.offset, 16);
    assert_int_equal(leaf->root.address, fake_data_at(FAKE_MODULE_HEADER + 3));
    assert_int_equal(leaf->target, young);
    assert_true(fake_leaf(fake, HS_ROOT_GLOBAL, 0)->target == heap);
    assert_true(fake_leaf(fake, HS_ROOT_GLOBAL, 2)->target == fixed);
    assert_int_equal(fake->roots.n_module_blocks, 1);
    assert_true(hs_ocaml_is_module_block(&fake->roots, fake_data_at(FAKE_MODULE_HEADER + 1)));
    assert_false(hs_ocaml_is_module_block(&fake->roots, heap));
    fake_roots_free(fake);
}

static void a_block_too_large_for_its_object_has_no_fields(void **state)
{
    struct fake_roots *fake = program_with_module(UINT64_C(1) << 40);
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_GLOBAL), 0);
    assert_int_equal(fake->roots.n_module_blocks, 0);
    assert_non_null(fake_note(fake->heap, "1 lists or tables of roots are damaged"));
    fake_roots_free(fake);
}

/* As when the file of a plugin is gone: its roots are missing, and that is said. */
static void a_table_of_a_file_that_is_not_open_is_told(void **state)
{
    struct fake_roots *fake = program_with_module(1);
    fake_statics(fake)->dyn_globals = fake_data_at(FAKE_FREE);
    fake->data[FAKE_FREE] = fake_memory_at(0);
    fake->memory[0] = fake_memory_at(8);
    fake->memory[1] = 0;
    fake->memory[8] = fake_memory_at(12);
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_DYNAMIC_GLOBAL), 0);
    assert_non_null(fake_note(fake->heap, "of files that cannot be opened"));
    fake_roots_free(fake);
}

static void a_sound_program_has_no_damage(void **state)
{
    struct fake_roots *fake = program_with_module(1);
    collect(fake);
    assert_null(fake_note(fake->heap, "lists or tables of roots"));
    fake_roots_free(fake);
}

static void registered_tables_are_dynamic_and_counted_once(void **state)
{
    struct fake_roots *fake = program_with_module(1);
    hs_addr heap = fake_block(fake->heap, 0, 2, NULL);
    fake->data[FAKE_MODULE_HEADER + 1] = heap;
    /* A second table without a symbol, and the first once more. */
    fake->data[FAKE_FREE] = fake_data_at(FAKE_FREE + 4);
    fake->data[FAKE_FREE + 3] = fake_header(2, 0, 0);
    fake->data[FAKE_FREE + 4] = heap;
    fake->data[FAKE_FREE + 5] = heap;
    fake->data[FAKE_FREE + 8] = fake_memory_at(0);
    fake_statics(fake)->dyn_globals = fake_data_at(FAKE_FREE + 8);
    fake->memory[0] = fake_data_at(FAKE_FREE);
    fake->memory[1] = fake_memory_at(2);
    fake->memory[2] = fake_data_at(FAKE_GC_ROOTS);
    fake->memory[3] = fake_memory_at(0); /* a cycle */
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_GLOBAL), 1);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_DYNAMIC_GLOBAL), 2);
    assert_int_equal(fake->roots.n_module_blocks, 2);
    assert_non_null(fake_note(fake->heap, "1 lists or tables of roots are damaged"));
    fake_roots_free(fake);
}

static void lists_without_an_end_end_with_the_data(void **state)
{
    struct fake_roots *fake = fake_roots_new();
    for (size_t i = 0; i < FAKE_DATA_WORDS; i++)
        fake->data[i] = fake_data_at(i);
    collect(fake);
    assert_non_null(fake_note(fake->heap, "could not be read"));
    fake_roots_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pointer_field_is_a_root),
        cmocka_unit_test(a_block_too_large_for_its_object_has_no_fields),
        cmocka_unit_test(a_table_of_a_file_that_is_not_open_is_told),
        cmocka_unit_test(a_sound_program_has_no_damage),
        cmocka_unit_test(registered_tables_are_dynamic_and_counted_once),
        cmocka_unit_test(lists_without_an_end_end_with_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
