/* links: hs_target */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "target/target_private.h"

static struct hs_error err;

static const char good[] =
    "55d000000000-55d000001000 r-xp 00000000 fe:00 1234 /usr/bin/with space\\012newline\n"
    "55d000001000-55d000003000 rw-p 00001000 fe:00 1234 /usr/bin/with space\\012newline\n"
    "55d000003000-55d000004000 rw-p 00000000 00:00 0 \n"
    "7f0000000000-7f0000001000 r--s 00000000 fe:01 18446744073709551615 "
    "/tmp/x (deleted) \t\\012\\0123 (deleted)\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
    "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void parses_what_the_kernel_writes(void **state)
{
    struct hs_target target = {0};
    assert_int_equal(hs_mappings_parse(&target, good, strlen(good), &err), HS_OK);
    assert_int_equal(target.n_mappings, 6);
    const struct hs_mapping *m = target.mappings;
    assert_true(m[0].begin == 0x55d000000000 && m[0].end == 0x55d000001000);
    assert_true(m[0].readable && !m[0].writable && m[0].executable && !m[0].shared);
    assert_string_equal(hs_mapping_path(&target, &m[0]), "/usr/bin/with space\nnewline");
    assert_int_equal(m[0].path_at, m[1].path_at);
    assert_int_equal(m[1].file_offset, 0x1000);
    assert_int_equal(m[1].inode, 1234);
    assert_string_equal(hs_mapping_path(&target, &m[2]), "");
    assert_true(m[3].shared && m[3].inode == UINT64_MAX);
    assert_string_equal(hs_mapping_path(&target, &m[3]), "/tmp/x (deleted) \t\n\n3 (deleted)");
    assert_string_equal(hs_mapping_path(&target, &m[4]), "[stack]");
    assert_false(m[5].readable);
    assert_string_equal(hs_mapping_path(&target, &m[5]), "[vsyscall]");
    hs_mappings_fini(&target);
}

static void finds_by_address(void **state)
{
    struct hs_target target = {0};
    assert_null(hs_target_mapping_at(&target, 0));
    assert_int_equal(hs_mappings_parse(&target, good, strlen(good), &err), HS_OK);
    const struct hs_mapping *m = target.mappings;
    assert_null(hs_target_mapping_at(&target, 0));
    assert_null(hs_target_mapping_at(&target, 0x55cfffffffff));
    assert_ptr_equal(hs_target_mapping_at(&target, 0x55d000000000), &m[0]);
    assert_ptr_equal(hs_target_mapping_at(&target, 0x55d000000fff), &m[0]);
    assert_ptr_equal(hs_target_mapping_at(&target, 0x55d000001000), &m[1]);
    assert_null(hs_target_mapping_at(&target, 0x55d000004000));
    assert_ptr_equal(hs_target_mapping_at(&target, 0xffffffffff600fff), &m[5]);
    assert_null(hs_target_mapping_at(&target, UINT64_MAX));
    hs_mappings_fini(&target);
}

static void refuses_anything_else(void **state)
{
    static const char *const bad[] = {
        "\n",
        "x",
        "1000-2000",
        "1000-2000 r-xp 0 fe:00",
        "1000-2000 r-xp 00000000 fe:00 \n",
        "1000-2000 r-xp 00000000 fe00 12 /x\n",
        "2000-1000 r-xp 00000000 fe:00 12 /x\n",
        "1000-1000 r-xp 00000000 fe:00 12 /x\n",
        "10000000000000000-20000000000000000 r-xp 00000000 fe:00 12 /x\n",
        "1000-2000 r-xp 00000000 fe:00 99999999999999999999 /x\n",
        "-1000-2000 r-xp 00000000 fe:00 12 /x\n",
        "1000-2000 r-",
    };
    struct hs_target target = {0};
    assert_int_equal(hs_mappings_parse(&target, good, strlen(good), &err), HS_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(hs_mappings_parse(&target, bad[i], strlen(bad[i]), &err), HS_TARGET);
        assert_non_null(strstr(err.message, "mappings"));
        assert_int_equal(target.n_mappings, 6); /* untouched */
    }
    hs_mappings_fini(&target);
}

/* As a list may be that was read while the process mapped memory. */
static void several_moments(void **state)
{
    const char *text = "1000-4000 r-xp 00001000 fe:00 1 /x\n"
                       "2000-6000 r-xp 00002000 fe:00 1 /x\n" /* was joined with the one before */
                       "3000-4000 rw-p 00000000 00:00 0 \n"   /* is no more */
                       "5000-6000 rw-p 00000000 00:00 0 \n"
                       "5000-9000 rw-p 00000000 00:00 0 \n";
    struct hs_target target = {0};

    assert_int_equal(hs_mappings_parse(&target, text, strlen(text), &err), HS_OK);
    assert_int_equal(target.n_mappings, 3);
    assert_int_equal(target.mappings[1].begin, 0x4000);
    assert_int_equal(target.mappings[1].end, 0x6000);
    assert_int_equal(target.mappings[1].file_offset, 0x4000);
    assert_int_equal(target.mappings[2].begin, 0x6000);
    assert_int_equal(target.mappings[2].end, 0x9000);
    assert_int_equal(target.mappings[2].file_offset, 0);
    hs_mappings_fini(&target);
}

static void takes_odd_ends(void **state)
{
    struct hs_target target = {0};
    static const char no_newline[] = "1000-2000 rwxp 0 0:0 0 /a\\012";
    static const char with_nul[] = "1000-2000 rwxp 0 0:0 7 /a\0b\n";
    static const char cut_escape[] = "1000-2000 rwxp 0 0:0 7 /a\\01\n";
    assert_int_equal(hs_mappings_parse(&target, "", 0, &err), HS_OK);
    assert_int_equal(target.n_mappings, 0);
    assert_int_equal(hs_mappings_parse(&target, no_newline, strlen(no_newline), &err), HS_OK);
    assert_string_equal(hs_mapping_path(&target, target.mappings), "/a\n");
    assert_int_equal(hs_mappings_parse(&target, with_nul, sizeof with_nul - 1, &err), HS_OK);
    assert_string_equal(hs_mapping_path(&target, target.mappings), "/a");
    assert_int_equal(hs_mappings_parse(&target, cut_escape, strlen(cut_escape), &err), HS_OK);
    assert_string_equal(hs_mapping_path(&target, target.mappings), "/a\\01");
    hs_mappings_fini(&target);
}

/* Whatever bytes come, the parser ends with a status and ascending mappings. */
static void survives_damage(void **state)
{
    struct hs_target target = {0};
    char text[sizeof good];
    unsigned seed = 1;

    for (int round = 0; round < 20000; round++) {
        memcpy(text, good, sizeof good);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1103515245 + 12345;
            size_t at = seed / 7 % (sizeof good - 1);
            text[at] = (char)(seed >> 16);
        }
        if (hs_mappings_parse(&target, text, sizeof good - 1, &err) != HS_OK)
            continue;
        for (size_t i = 0; i < target.n_mappings; i++) {
            assert_true(target.mappings[i].begin < target.mappings[i].end);
            assert_true(i == 0 || target.mappings[i - 1].end <= target.mappings[i].begin);
            (void)strlen(hs_mapping_path(&target, &target.mappings[i]));
        }
    }
    hs_mappings_fini(&target);
}

static void every_failed_allocation(void **state)
{
    struct hs_target target = {0};
    FAIL_EACH (each, .mode = FAIL_REST) {
        hs_status status =
            FAIL_EACH_TRY(each, hs_mappings_parse(&target, good, strlen(good), &err));
        assert_true(status == HS_OK || (status == HS_LIMIT && target.n_mappings == 0));
    }
    hs_mappings_fini(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_what_the_kernel_writes),
        cmocka_unit_test(finds_by_address),
        cmocka_unit_test(refuses_anything_else),
        cmocka_unit_test(several_moments),
        cmocka_unit_test(takes_odd_ends),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
