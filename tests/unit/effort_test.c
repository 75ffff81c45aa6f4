/* links: hs_base */
#include "unit.h"

#include <unistd.h>

#include "base/effort.h"

static void test_takes(void **state)
{
    struct hs_effort effort = hs_effort_of_bytes(0);
    assert_true(effort.left == HS_EFFORT_BASE);
    assert_true(hs_effort_take(&effort, HS_EFFORT_BASE - 10) && !effort.is_spent);
    assert_false(hs_effort_hold(&effort, 11)); /* what is left stays */
    assert_true(effort.is_spent && effort.left == 10);
    assert_true(hs_effort_hold(&effort, 4) && hs_effort_take(&effort, 5));
    assert_false(hs_effort_take(&effort, 2));
    assert_true(effort.left == 0 && !hs_effort_take(&effort, 1) && hs_effort_take(&effort, 0));
}

static void test_worth(void **state)
{
    assert_true(hs_effort_of_bytes(100).left == HS_EFFORT_BASE + 100 * HS_EFFORT_EACH);
    assert_true(hs_effort_of_bytes(UINT64_MAX).left > UINT64_MAX / 2);
}

/* A hole is worth nothing. */
static void test_holes(void **state)
{
    char path[] = "/tmp/hs-effort-XXXXXX";
    int fd = mkstemp(path);
    static const char block[65536] = {1};
    assert_true(fd >= 0);
    assert_true(write(fd, block, sizeof block) == sizeof block);
    uint64_t small = hs_effort_of_file(fd).left;
    assert_true(small > HS_EFFORT_BASE);
    assert_int_equal(ftruncate(fd, (off_t)1 << 33), 0);
    assert_true(hs_effort_of_file(fd).left < 2 * HS_EFFORT_BASE);
    assert_true(hs_effort_of_file(-1).left == HS_EFFORT_BASE);
    close(fd);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes),
        cmocka_unit_test(test_worth),
        cmocka_unit_test(test_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
