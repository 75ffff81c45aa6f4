/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* The three lists of C roots: names, order, damage; and what may be told of malloc memory. */
#include "unit.h"

#include "fake_roots.h"

/* A cell of a skip list at `memory[at]`, for the root at `key`. */
static hs_addr put_cell(struct fake_roots *fake, size_t at, hs_addr key, hs_addr next)
{
    fake->memory[at] = key;
    fake->memory[at + 1] = 0;
    fake->memory[at + 2] = next;
    return fake_memory_at(at);
}

static void collect(struct fake_roots *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(fake);
    assert_int_equal(fake_roots_collect(fake, &err), HS_OK);
}

static void names_each_list_and_variable(void **state)
{
    struct fake_roots *fake = fake_roots_new();
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    fake->data[FAKE_C_VARIABLE] = block;
    fake->data[FAKE_C_VARIABLE + 1] = block;
    fake->memory[100] = block;
    fake->data[FAKE_ROOTS_PLAIN] =
        put_cell(fake, 0, fake_data_at(FAKE_C_VARIABLE),
                 put_cell(fake, 4, fake_data_at(FAKE_C_VARIABLE + 1), 0));
    fake->data[FAKE_ROOTS_YOUNG] = put_cell(fake, 8, fake_memory_at(100), 0);
    fake->data[FAKE_ROOTS_OLD] = put_cell(fake, 12, fake_memory_at(101), 0); /* no block */
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_C_ROOT), 3);
    const struct hs_root_leaf *leaf = fake_leaf(fake, HS_ROOT_C_ROOT, 0);
    assert_string_equal(fake_text(fake, leaf->root.name), "c_variable");
    assert_string_equal(fake_text(fake, leaf->group_unit), "plain");
    assert_string_equal(fake_text(fake, leaf->group_module), "prog");
    leaf = fake_leaf(fake, HS_ROOT_C_ROOT, 1);
    /* Behind the variable: it is none of its. */
    assert_string_equal(fake_text(fake, leaf->root.name), ".data+0x468");
    assert_int_equal(leaf->root.offset, 0x468);
    leaf = fake_leaf(fake, HS_ROOT_C_ROOT, 2);
    assert_string_equal(fake_text(fake, leaf->group_unit), "generational, young");
    assert_string_equal(fake_text(fake, leaf->group_module), "malloc memory");
    assert_int_equal(leaf->root.address, fake_memory_at(100));
    fake_roots_free(fake);
}

static void a_list_whose_keys_fall_is_damaged_and_ends(void **state)
{
    struct fake_roots *fake = fake_roots_new();
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    fake->data[FAKE_C_VARIABLE] = fake->data[FAKE_C_VARIABLE + 1] = block;
    fake->data[FAKE_ROOTS_PLAIN] = put_cell(fake, 0, fake_data_at(FAKE_C_VARIABLE + 1),
                                            put_cell(fake, 4, fake_data_at(FAKE_C_VARIABLE), 0));
    fake->data[FAKE_ROOTS_OLD] = fake_memory_at(8);
    put_cell(fake, 8, fake_data_at(FAKE_C_VARIABLE), fake_memory_at(8)); /* a cycle */
    fake->data[FAKE_ROOTS_YOUNG] = 0xdead0000;                           /* leads nowhere */
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_C_ROOT), 2);
    assert_non_null(fake_note(fake->heap, "could not be read"));
    assert_non_null(fake_note(fake->heap, "2 lists or tables of roots are damaged"));
    fake_roots_free(fake);
}

/* A name in malloc memory is the program's data, unless a binary holds the same text. */
static void names_of_values_come_from_binaries_only(void **state)
{
    struct fake_roots *fake = fake_roots_new();
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    fake_statics(fake)->named_values = fake_data_at(FAKE_FREE);
    fake->data[FAKE_FREE] = fake_memory_at(100);
    fake->data[FAKE_FREE + 5] = fake_memory_at(110);
    fake->memory[100] = block;
    fake->memory[101] = 0;
    memcpy(&fake->memory[102], "in_binary", sizeof "in_binary");
    fake->memory[110] = block;
    fake->memory[111] = fake_memory_at(110); /* a cycle */
    memcpy(&fake->memory[112], "a secret", sizeof "a secret");
    fake->data[FAKE_ROOTS_OLD] =
        put_cell(fake, 0, fake_memory_at(100), put_cell(fake, 4, fake_memory_at(110), 0));
    collect(fake);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_C_ROOT), 2);
    assert_string_equal(fake_text(fake, fake_leaf(fake, HS_ROOT_C_ROOT, 0)->root.name),
                        "caml_register_named_value \"in_binary\"");
    const char *secret = fake_text(fake, fake_leaf(fake, HS_ROOT_C_ROOT, 1)->root.name);
    assert_null(strstr(secret, "secret"));
    assert_non_null(strstr(secret, "caml_register_named_value"));
    fake_roots_free(fake);
}

static void last_exception_is_named(void **state)
{
    struct fake_roots *fake = fake_roots_new();
    fake->heap->rt.state = fake_memory_at(200);
    fake->memory[200 + HS_STATE_LAST_EXN] = fake_block(fake->heap, 0, 2, NULL);
    fake->data[FAKE_ROOTS_PLAIN] = put_cell(fake, 0, fake_memory_at(200 + HS_STATE_LAST_EXN), 0);
    collect(fake);
    assert_string_equal(fake_text(fake, fake_leaf(fake, HS_ROOT_C_ROOT, 0)->root.name),
                        "Caml_state->backtrace_last_exn");
    fake_roots_free(fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_each_list_and_variable),
        cmocka_unit_test(a_list_whose_keys_fall_is_damaged_and_ends),
        cmocka_unit_test(names_of_values_come_from_binaries_only),
        cmocka_unit_test(last_exception_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
