/* links: hs_base */
#include "base/parked.h"

#include "unit.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/alloc.h"

static struct hs_error err;

static void test_comes_back(void **state)
{
    static const uint64_t sizes[] = {0, 1, 4095, HS_SPILL_PIECE_BYTES,
                                     2 * HS_SPILL_PIECE_BYTES + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hs_parked parked = {0};
        hs_auto_free void *memory = NULL, *again = NULL;
        assert_int_equal(hs_alloc(sizes[i], 1, &memory, &err), HS_OK);
        assert_int_equal(hs_alloc(sizes[i], 1, &again, &err), HS_OK);
        for (uint64_t at = 0; at < sizes[i]; at++)
            ((uint8_t *)memory)[at] = (uint8_t)(at * 7 + at / 251);
        assert_int_equal(hs_parked_put(NULL, "a test", memory, sizes[i], &parked, &err), HS_OK);
        assert_int_equal(hs_parked_get(&parked, again, &err), HS_OK);
        assert_false(parked.spill.is_open);
        if (sizes[i] != 0)
            assert_memory_equal(memory, again, sizes[i]);
        hs_parked_close(&parked);
    }
}

static void test_failures(void **state)
{
    struct hs_parked parked = {0};
    struct rlimit before, less;
    static const uint8_t bytes[8192];

    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_parked_put(NULL, "a test", bytes, 10, &parked, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_false(parked.spill.is_open);

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    less = before;
    less.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    hs_status status = hs_parked_put(NULL, "a test", bytes, sizeof bytes, &parked, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, HS_IO);
    assert_false(parked.spill.is_open);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comes_back),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
