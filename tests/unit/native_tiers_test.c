/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_native.h"

#include "native/tiers.h"
#include "shipped_rules.h"

static void libraries_are_told_by_name(void **state)
{
    static const char *const runtimes[] = {
        "libc.so.6",      "libc-2.31.so",           "ld-linux-x86-64.so.2", "ld-musl-x86_64.so.1",
        "libm.so.6",      "libpthread.so.0",        "libstdc++.so.6.0.30",  "libgcc_s.so.1",
        "libdl-2.31.so",  "libnss_files-2",         "linux-vdso.so.1",      "libjemalloc.so.2",
        "libresolv.so.2", "libevent_core-2.1.so.7", "libuv.so.1",           "libev.so.4"};
    static const char *const programs[] = {"",
                                           "libcurl.so.4",
                                           "libmosquitto.so.1",
                                           "libcrypt.so.1",
                                           "ldapsearch",
                                           "libcap.so.2",
                                           "libstd-8.so",
                                           "redis-server",
                                           "libevdev.so.2"};
    const struct hs_rules *rules = shipped_rules();
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (hs_rules_name(rules, HS_RULE_LIBRARY, runtimes[i]) == NULL)
            fail_msg("%s is a runtime", runtimes[i]);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (hs_rules_name(rules, HS_RULE_LIBRARY, programs[i]) != NULL)
            fail_msg("%s is no runtime", programs[i]);
}

static unsigned tier_of(const struct fake_native *f, const char *name)
{
    struct hs_root root = {0};

    hs_native_set_tier(&f->native, 0, name, true, &root);
    return root.tier;
}

static void variables_are_told_by_name(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    f->object.is_executable = true;
    static const char *const reserved[] = {"_IO_2_1_stdout_", "__libc_argv",
                                           "_dl_main_map",    "_nl_global_locale",
                                           "main_arena",      "environ",
                                           "PyList_Type",     "_PyNone_Type",
                                           "_ZSt4cout",       "_IO_stdin_used@GLIBC_2.2.5",
                                           "tsd_tls",         "_rjem_je_tsd_tls",
                                           "_mi_heap_main",   "_ZN8tcmalloc11ThreadCache3allE"};
    static const char *const own[] = {"server",  "registry", "_server", "dl_list",
                                      "PyState", "_Type",    "main",    ""};
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (tier_of(f, reserved[i]) != HS_TIER_RUNTIME)
            fail_msg("%s is a runtime's", reserved[i]);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (tier_of(f, own[i]) != HS_TIER_FIRM)
            fail_msg("%s is the program's", own[i]);
    assert_int_equal(tier_of(f, NULL), HS_TIER_FIRM);
    /* Of a library these names are its own affair. */
    f->object.is_executable = false;
    assert_int_equal(tier_of(f, "main_arena"), HS_TIER_FIRM);
    assert_int_equal(tier_of(f, "PyFoo_Type"), HS_TIER_RUNTIME);
    assert_int_equal(tier_of(f, "je_tsd_tls"), HS_TIER_RUNTIME); /* an allocator is anywhere */
    f->of_object.is_runtime = true;
    assert_int_equal(tier_of(f, NULL), HS_TIER_RUNTIME);
    assert_int_equal(tier_of(f, "server"), HS_TIER_RUNTIME);
    fake_native_free(f);
}

static void of_python_only_its_state_is_firm(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "_PyRuntime", 2, 16, STB_GLOBAL);
    fake_native_seal(f);
    const struct hs_rules *rules = shipped_rules();
    assert_false(hs_native_has_interpreter(rules, &f->object)); /* "prog" */
    char *name = f->object.name;
    f->object.name = "libpython3.11.so.1.0";
    assert_true(hs_native_has_interpreter(rules, &f->object));
    assert_false(hs_native_has_interpreter(NULL, &f->object)); /* of no rule, nothing is known */
    f->of_object.is_interpreter = true;
    assert_int_equal(tier_of(f, "_PyRuntime"), HS_TIER_FIRM);
    assert_int_equal(tier_of(f, "interned"), HS_TIER_RUNTIME);
    assert_int_equal(tier_of(f, NULL), HS_TIER_RUNTIME);
    f->object.name = name;
    static const char state_of[] = "_PyRuntime";
    assert_true(
        hs_native_is_own_place(&f->native, state_of, "_PyRuntime.x.dict_state.free_list[13]"));
    assert_true(
        hs_native_is_own_place(&f->native, state_of, "_PyRuntime.x.type_cache.hashtable[2].name"));
    assert_false(
        hs_native_is_own_place(&f->native, state_of, "_PyRuntime._main_interpreter.modules"));
    assert_false(hs_native_is_own_place(&f->native, "server", "server.cache"));
    fake_native_free(f);
}

/* Where the program is the interpreter all of C is there for it. */
static void of_a_python_program_all_of_c_is_runtime(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "server", 2, 16, STB_GLOBAL);
    fake_native_seal(f);
    f->native.has_names = true; /* embedded */
    assert_int_equal(tier_of(f, "server"), HS_TIER_FIRM);
    f->native.is_interpreter = true;
    assert_int_equal(tier_of(f, "server"), HS_TIER_RUNTIME);
    assert_int_equal(tier_of(f, NULL), HS_TIER_RUNTIME);
    fake_native_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libraries_are_told_by_name),
        cmocka_unit_test(variables_are_told_by_name),
        cmocka_unit_test(of_python_only_its_state_is_firm),
        cmocka_unit_test(of_a_python_program_all_of_c_is_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
