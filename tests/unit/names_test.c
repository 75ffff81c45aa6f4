/* links: hs_ocaml hs_runtimes hs_process */
#include "unit.h"

#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "ocaml/names.h"

static struct hs_error err;

static const char table[] = "# a comment\n"
                            "Stm\t63\tVCS\tstm/stm.ml\t318\t00112233445566778899aabbccddeeff\n"
                            "\n"
                            "Stm\t5\tInner.x\t\t\t\n"
                            "Lib\t0\t>>=\tlib dir/l.ml\t7\n"
                            "Stm\t63\tlater\tother.ml\t1\n"
                            "#compiler 5.3.0+x~1\n"
                            "#compiler no\\such\n"
                            "#units wanted=12 named=9 partial=1 stale=2 missing=0\n"
                            "A'b_9\t4294967295\tlast\tz.ml\t4294967295";

static void finds_by_unit_and_slot(void **state)
{
    struct hs_names names = {0};
    struct hs_name name;
    assert_int_equal(hs_names_parse(&names, table, strlen(table), "t", &err), HS_OK);
    assert_int_equal(names.n_entries, 4);
    assert_true(hs_names_find(&names, "Stm", 63, &name));
    assert_string_equal(name.name, "VCS"); /* the first of two */
    assert_string_equal(name.file, "stm/stm.ml");
    assert_int_equal(name.line, 318);
    assert_true(hs_names_find(&names, "Stm", 5, &name));
    assert_string_equal(name.name, "Inner.x");
    assert_string_equal(name.file, "");
    assert_int_equal(name.line, 0);
    assert_true(hs_names_find(&names, "Lib", 0, &name));
    assert_string_equal(name.name, ">>=");
    assert_true(hs_names_find(&names, "A'b_9", UINT32_MAX, &name));
    assert_int_equal(name.line, UINT32_MAX);
    assert_false(hs_names_find(&names, "Stm", 64, &name));
    assert_false(hs_names_find(&names, "Stm", 0, &name));
    assert_false(hs_names_find(&names, "St", 63, &name));
    assert_false(hs_names_find(&names, "", 0, &name));
    assert_int_equal(names.n_units, 12);
    assert_int_equal(names.n_named, 9);
    assert_int_equal(names.n_partial, 1);
    assert_int_equal(names.n_stale, 2);
    assert_int_equal(names.n_missing, 0);
    assert_string_equal(names.compiler, "5.3.0+x~1");
    hs_names_fini(&names);
    hs_names_fini(&names);
    hs_names_fini(NULL);
    assert_false(hs_names_find(&names, "Stm", 63, &name));
}

static void told(const char *comments, const char *expected)
{
    struct hs_names names = {0};
    char text[640];
    assert_int_equal(hs_names_parse(&names, comments, strlen(comments), "t", &err), HS_OK);
    assert_int_equal(hs_names_tell(&names, text, sizeof text), expected[0] != '\0');
    assert_string_equal(text, expected);
    hs_names_fini(&names);
}

static void tells_how_many_units_have_names(void **state)
{
    told("#compiler 5.3.0\n", "");
    told("#units wanted=12 named=12 partial=0 stale=0 missing=0\n#missing A\n",
         "names of variables: 12 of 12 OCaml units");
    told("#units wanted=12 named=6 partial=1 stale=2 missing=3\n#partial Wp\n#stale A B\n"
         "#missing One Two\n",
         "names of variables: 6 of 12 OCaml units, 1 only what the .cmi exports, for want of a "
         ".cmt (Wp), 2 without: only a .cmi of another build (A, B), 3 without: no .cmi (One, Two, "
         "...); they come with -dev packages, or --names-path leads to where it was built");
    told("#units wanted=3 named=0 partial=0 stale=0 missing=3\n#missing \033[1m Two\n",
         "names of variables: 0 of 3 OCaml units, 3 without: no .cmi; they come with -dev "
         "packages, or --names-path leads to where it was built");
    told("#units wanted=3 named=2 partial=0 stale=1 missing=0\n#stale Good  Empty\n",
         "names of variables: 2 of 3 OCaml units, 1 without: only a .cmi of another build (Good); "
         "they come with -dev packages, or --names-path leads to where it was built");
}

static void finds_all_of_many(void **state)
{
    enum { UNITS = 40, SLOTS = 50 };
    static char text[UNITS * SLOTS * 40];
    struct hs_names names = {0};
    struct hs_name name;
    char unit[16], expected[32];
    size_t n = 0;

    for (unsigned i = 0; i < UNITS * SLOTS; i++) {
        unsigned k = i * 1009 % (UNITS * SLOTS); /* 1009 is prime: each once, in no order */
        n += (size_t)snprintf(text + n, sizeof text - n, "U%u\t%u\tv%u\tf.ml\t%u\n", k / SLOTS,
                              k % SLOTS, k, k);
    }
    assert_int_equal(hs_names_parse(&names, text, n, "t", &err), HS_OK);
    assert_int_equal(names.n_entries, UNITS * SLOTS);
    for (unsigned k = 0; k < UNITS * SLOTS; k++) {
        snprintf(unit, sizeof unit, "U%u", k / SLOTS);
        snprintf(expected, sizeof expected, "v%u", k);
        assert_true(hs_names_find(&names, unit, k % SLOTS, &name));
        assert_string_equal(name.name, expected);
        assert_int_equal(name.line, k);
    }
    hs_names_fini(&names);
}

static void says_which_line_is_none(void **state)
{
    static const char *const bad[] = {
        "Stm",
        "Stm\t1",
        "Stm\t1\tx\tf",
        "Stm\t\tx\tf\t1",
        "Stm\t-1\tx\tf\t1",
        "Stm\t+1\tx\tf\t1",
        "Stm\t4294967296\tx\tf\t1",
        "Stm\t1\t\tf\t1",
        "Stm\t1\tx\tf\tone",
        "Stm\t1\tx\tf\t99999999999",
        "St m\t1\tx\tf\t1",
        "\t1\tx\tf\t1",
        "Stm\t1\tx\033[2J\tf\t1",
        "Stm\t1\tx\tf\r\t1",
        "Stm\t1\tx\tf\t1\tcrc\tmore",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hs_names names = {0};
        char text[256];
        int n = snprintf(text, sizeof text, "Stm\t1\tx\tf\t1\n%s\n", bad[i]);
        assert_int_equal(hs_names_parse(&names, text, (size_t)n, "names.tsv", &err), HS_FORMAT);
        assert_non_null(strstr(err.message, "line 2"));
        assert_non_null(strstr(err.message, "'names.tsv'"));
        assert_int_equal(names.n_entries, 0);
    }
}

static void a_field_of_any_length_is_bounded(void **state)
{
    static char text[10000];
    struct hs_names names = {0};
    memset(text, 'a', sizeof text);
    assert_int_equal(hs_names_parse(&names, text, sizeof text, "t", &err), HS_FORMAT);
    memcpy(text, "Stm\t1\t", 6);
    memcpy(text + 9000, "\tf\t1\n", 5);
    assert_int_equal(hs_names_parse(&names, text, 9005, "t", &err), HS_FORMAT);
}

static void survives_damage(void **state)
{
    char text[sizeof table];
    unsigned seed = 3;
    for (int round = 0; round < 20000; round++) {
        struct hs_names names = {0};
        memcpy(text, table, sizeof table);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245 + 12345;
            text[seed / 11 % (sizeof table - 1)] = (char)(seed >> 16);
        }
        hs_status status = hs_names_parse(&names, text, sizeof table - 1, "t", &err);
        assert_true(status == HS_OK || status == HS_FORMAT);
        hs_names_fini(&names);
    }
}

static void loads_a_file(void **state)
{
    char path[] = "/tmp/hs_names_test.XXXXXX";
    struct hs_names names = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, table, strlen(table)), strlen(table));
    close(fd);
    assert_int_equal(hs_names_load_file(path, &names, &err), HS_OK);
    assert_int_equal(names.n_entries, 4);
    hs_names_fini(&names);
    unlink(path);
    assert_int_equal(hs_names_load_file(path, &names, &err), HS_IO);
}

static void every_failed_allocation(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST) {
        struct hs_names names = {0};
        hs_status status =
            FAIL_EACH_TRY(each, hs_names_parse(&names, table, strlen(table), "t", &err));
        assert_true(status == HS_OK || (status == HS_LIMIT && names.n_entries == 0));
        hs_names_fini(&names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_unit_and_slot),
        cmocka_unit_test(tells_how_many_units_have_names),
        cmocka_unit_test(finds_all_of_many),
        cmocka_unit_test(says_which_line_is_none),
        cmocka_unit_test(a_field_of_any_length_is_bounded),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(loads_a_file),
        cmocka_unit_test(every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
