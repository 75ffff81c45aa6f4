/* links: hs_symbols hs_base */
#include "ctypes_fixture.h"
#include "elf_writer.h"

static void compare_c(const char *compiler, const char *level, const char *version)
{
    static struct fixture f;
    const char *const command[] = {compiler,
                                   level,
                                   version,
                                   "-I" FIXTURE_DIRECTORY,
                                   FIXTURE_DIRECTORY "ctypes_c.c",
                                   FIXTURE_DIRECTORY "ctypes_c_other.c"};
    fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
    fixture_compare(&f, 35);
}

static void tells_what_gcc_knows(void **state)
{
    (void)state;
    compare_c("gcc", "-O0", "-gdwarf-5");
    compare_c("gcc", "-O2", "-gdwarf-5");
    compare_c("gcc", "-O0", "-gdwarf-4");
    compare_c("gcc", "-O2", "-gdwarf-4");
    compare_c("gcc", "-O0", "-gdwarf-3");
    compare_c("gcc", "-O0", "-gdwarf-2");
}

static void tells_what_clang_knows(void **state)
{
    (void)state;
    compare_c("clang", "-O0", "-gdwarf-5");
    compare_c("clang", "-O2", "-gdwarf-5");
    compare_c("clang", "-O0", "-gdwarf-4");
    compare_c("clang", "-O2", "-gdwarf-4");
}

static void tells_the_same_of_two_units(void **state)
{
    (void)state;
    static struct fixture f;
    const char *const command[] = {"gcc", "-g", "-I" FIXTURE_DIRECTORY,
                                   FIXTURE_DIRECTORY "ctypes_c.c",
                                   FIXTURE_DIRECTORY "ctypes_c_other.c"};
    fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
    fixture_open(&f);
    struct hs_error err = HS_ERROR_INIT;
    hs_type_file again = 0;
    assert_int_equal(hs_ctypes_add(f.types, f.elf, &again, &err), HS_OK);
    assert_int_equal(again, 2);
    hs_ctype a = hs_ctypes_find(f.types, 1, "node"), b = hs_ctypes_find(f.types, 2, "node");
    hs_ctype other = hs_ctypes_find(f.types, 1, "hidden");
    assert_true(a != 0 && b != 0 && a != b && other != 0);
    assert_true(hs_ctypes_same(f.types, a, b));
    assert_true(hs_ctypes_same(f.types, a, a));
    assert_false(hs_ctypes_same(f.types, a, other));
    assert_false(hs_ctypes_same(f.types, a, 0));
    assert_false(hs_ctypes_same(f.types, a, UINT32_MAX));
    fixture_close(&f);
    fixture_remove(&f);
}

static void says_nothing_of_what_it_does_not_know(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    static struct elf_writer w;
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_ctypes) *types = NULL;
    hs_type_file file = 7;
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), HS_OK);
    assert_int_equal(hs_ctypes_new(&types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(types, elf, &file, &err), HS_OK);
    assert_int_equal(file, 0);
    for (hs_type_file i = 0; i < 3; i++) {
        struct hs_cvariable v;
        assert_false(hs_ctypes_variable_at(types, i, 0x3000, &v));
        assert_false(hs_ctypes_tls_variable_at(types, i, 0, &v));
        assert_int_equal(hs_ctypes_find(types, i, "node"), 0);
    }
    static const hs_ctype unknown[] = {0, 1, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        struct hs_ctype_facts facts;
        char text[8] = "x";
        size_t n = 9;
        bool is_cut = true;
        hs_ctype inner = 9;
        hs_ctype_facts(types, unknown[i], &facts);
        assert_string_equal(facts.name, "?");
        assert_int_equal(facts.kind, HS_CTYPE_UNKNOWN);
        hs_ctypes_slots(types, unknown[i], &n, &is_cut);
        assert_true(n == 0 && !is_cut);
        assert_int_equal(hs_ctypes_place(types, unknown[i], 8, text, sizeof(text), &inner), 0);
        assert_string_equal(text, "");
    }
    hs_ctypes_free(NULL);
}

/* What one look at the fixture needs; HS_LIMIT or what is known, never anything wrong. */
static bool look(struct fixture *f, uint64_t vaddr, bool *ret_ran_out)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_ctypes) *types = NULL;
    hs_type_file file = 0;
    struct hs_cvariable v;
    char text[64];
    size_t n;
    bool is_cut;
    hs_status status = hs_ctypes_new(&types, &err);
    if (status == HS_OK)
        status = hs_ctypes_add(types, f->elf, &file, &err);
    *ret_ran_out = status == HS_LIMIT;
    assert_true(status == HS_OK || status == HS_LIMIT);
    if (status != HS_OK || !hs_ctypes_variable_at(types, file, vaddr, &v))
        return false;
    const struct hs_cslot *slots = hs_ctypes_slots(types, v.type, &n, &is_cut);
    if (n == 0)
        return false;
    hs_ctypes_place(types, v.type, slots[0].offset_bytes, text, sizeof(text), NULL);
    struct hs_ctype_facts facts;
    hs_ctype_facts(types, slots[0].pointee, &facts);
    return strcmp(v.name, "root") == 0 && strcmp(text, "next") == 0 && n == 13 && !is_cut &&
           strcmp(facts.name, "struct node") == 0 && hs_ctypes_n_damaged(types) == 0;
}

static void survives_running_out_of_memory(void **state)
{
    (void)state;
    static struct fixture f;
    const char *const command[] = {"gcc", "-g", "-I" FIXTURE_DIRECTORY,
                                   FIXTURE_DIRECTORY "ctypes_c.c",
                                   FIXTURE_DIRECTORY "ctypes_c_other.c"};
    fixture_build(&f, command, sizeof(command) / sizeof(command[0]));
    fixture_open(&f);
    uint64_t vaddr = hs_elf_find(f.elf, "root")->vaddr, before = hs_alloc_count();
    bool ran_out = false;
    assert_true(look(&f, vaddr, &ran_out));
    uint64_t n = hs_alloc_count() - before, n_wrong = 0;
    assert_true(n > 10 && n < 1000);
    for (uint64_t nth = 1; nth <= n; nth++) {
        hs_alloc_fail_at(nth, false);
        bool right = look(&f, vaddr, &ran_out);
        hs_alloc_fail_at(0, false);
        n_wrong += !right;
        hs_alloc_fail_at(nth, true);
        right = look(&f, vaddr, &ran_out);
        hs_alloc_fail_at(0, false);
        assert_true(!right || nth == n);
    }
    assert_true(n_wrong >= n / 2);
    assert_true(look(&f, vaddr, &ran_out));
    fixture_close(&f);
    fixture_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_gcc_knows),
        cmocka_unit_test(tells_what_clang_knows),
        cmocka_unit_test(tells_the_same_of_two_units),
        cmocka_unit_test(says_nothing_of_what_it_does_not_know),
        cmocka_unit_test(survives_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
