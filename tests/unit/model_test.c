/* links: hs_format */
/* The names are part of the command line's contract. */
#include "unit.h"

#include "snapshot/model.h"

static void expect_names(const char *(*name)(unsigned), unsigned n, const char *const *expected)
{
    for (unsigned i = 0; i < n; i++)
        assert_string_equal(name(i), expected[i]);
    assert_null(name(n));
    assert_null(name(UINT32_MAX));
}

static void test_root_kinds(void **state)
{
    static const char *const names[] = {"global",  "dynamic_global", "c_root",     "stack",
                                        "local",   "register",       "tls",        "finaliser",
                                        "memprof", "hook",           "registered", "unclaimed"};
    expect_names(hs_root_kind_name, HS_N_ROOT_KINDS, names);
}

static void test_root_groups(void **state)
{
    static const char *const names[] = {"globals", "dynamic_globals", "c_roots",    "stacks",
                                        "locals",  "registers",       "tls",        "finalisers",
                                        "memprof", "hooks",           "registered", "unclaimed"};
    expect_names(hs_root_group_name, HS_N_ROOT_KINDS, names);
}

static void test_certainties(void **state)
{
    static const char *const names[] = {"exact", "conservative", "sampled", "unread"};
    expect_names(hs_certainty_name, HS_UNREAD + 1, names);
}

static void test_edge_classes(void **state)
{
    static const char *const names[] = {"exact",     "interior", "past_end",     "guessed",
                                        "ephemeron", "weak",     "ephemeron_off"};
    expect_names(hs_edge_class_name, HS_N_EDGE_CLASSES, names);
}

static void test_forms(void **state)
{
    static const char *const names[] = {"block",   "closure",  "string", "float",   "float_array",
                                        "custom",  "abstract", "weak",   "object",  "lazy",
                                        "forward", "other",    "record", "pointer", "scalar",
                                        "bytes",   "mapping",  "python", "go"};
    expect_names(hs_type_form_name, HS_N_FORMS, names);
}

static void test_sample_states(void **state)
{
    static const char *const names[] = {"live", "promoted"};
    expect_names(hs_sample_state_name, HS_N_SAMPLE_STATES, names);
}

static void test_sampler_kinds(void **state)
{
    static const char *const names[] = {"memprof", "jemalloc", "record", "go"};
    expect_names(hs_sampler_kind_name, HS_N_SAMPLER_KINDS, names);
}

static void test_memory_states(void **state)
{
    static const char *const names[] = {"live",     "cached",  "free", "dirty",
                                        "internal", "damaged", "other"};
    expect_names(hs_memory_state_name, HS_N_MEMORY_STATES, names);
}

static void test_places_are_no_names(void **state)
{
    static const char *const places[] = {"",
                                         ".bss+0x380",
                                         ".data+0x50 to +0xd0",
                                         "[data]+0x8",
                                         "[anon 16.0 KiB]",
                                         "TLS of povray+0x18",
                                         "static TLS fs-0x80",
                                         "pthread_setspecific key 0",
                                         "pthread_setspecific keys 32 to 63",
                                         "dynamic thread vector",
                                         "control block+0x2d0",
                                         "memory of the dynamic linker+0x40"};
    static const char *const names[] = {
        "server",          "TLS", "tls_of", "Stm.VCS", "app::cache[3].key", "task app::serve",
        "main local reply"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        assert_true(hs_root_is_place(places[i]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(hs_root_is_place(names[i]));
}

static void test_only_the_first_classes_are_strong(void **state)
{
    for (unsigned i = 0; i < HS_N_EDGE_CLASSES; i++)
        assert_int_equal(hs_edge_is_strong(i), i < HS_EDGE_EPHEMERON);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_root_kinds),
        cmocka_unit_test(test_root_groups),
        cmocka_unit_test(test_certainties),
        cmocka_unit_test(test_edge_classes),
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_sample_states),
        cmocka_unit_test(test_sampler_kinds),
        cmocka_unit_test(test_memory_states),
        cmocka_unit_test(test_places_are_no_names),
        cmocka_unit_test(test_only_the_first_classes_are_strong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
