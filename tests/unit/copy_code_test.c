/* links: hs_target hs_symbols */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "live_child.h"
#include "target/copy/copy_private.h"

static struct hs_error err;

static const uint8_t all_three[] = {0x90, 0x0f, 0x05, 0xc3, 0x48, 0xc7, 0xc0, 0x0f, 0,    0,
                                    0,    0x0f, 0x05, 0xb8, 0x3c, 0,    0,    0,    0x0f, 0x05};

static void finds_each_by_its_bytes(void **state)
{
    struct hs_copy_code code = {0};

    hs_copy_code_search(&code, all_three, sizeof all_three, 0x1000);
    assert_int_equal(code.call, 0x1001);
    assert_int_equal(code.sigreturn, 0x1004);
    assert_int_equal(code.leave, 0x100d);
    assert_true(hs_copy_code_is_whole(&code));
    hs_copy_code_search(&code, all_three, sizeof all_three, 0x9000);
    assert_int_equal(code.call, 0x1001); /* the first stays */
}

static void a_part_is_none(void **state)
{
    for (size_t n = 0; n < sizeof all_three; n++) {
        struct hs_copy_code code = {0};
        hs_copy_code_search(&code, all_three, n, 0x1000);
        assert_false(hs_copy_code_is_whole(&code));
        assert_int_equal(code.call != 0, n >= 4);
        assert_int_equal(code.sigreturn != 0, n >= 13);
    }
}

static void body_sleep(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void a_program_with_a_c_library_has_all(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    struct hs_target target;
    struct hs_copy_code code;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(hs_copy_code_find(&target, &code, &err), HS_OK);
    assert_true(hs_copy_code_is_whole(&code));
    assert_true(hs_copy_code_stands(&target, &code));
    code.sigreturn++;
    assert_false(hs_copy_code_stands(&target, &code));
    code = (struct hs_copy_code){1, 2, 3};
    assert_false(hs_copy_code_stands(&target, &code));
    hs_target_close(&target);
    live_child_end(&child);
}

/* Code that the program, or another one, may still change is not to be relied on. */
static void body_changing_code(struct live_shared *shared)
{
    uint8_t *writable =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *common = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (writable == MAP_FAILED || common == MAP_FAILED)
        _exit(1);
    memcpy(writable, all_three, sizeof all_three);
    memcpy(common, all_three, sizeof all_three);
    mprotect(common, 4096, PROT_READ | PROT_EXEC);
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)writable);
    atomic_store(&shared->end, (uint64_t)(uintptr_t)common);
    body_sleep(shared);
}

static void code_that_may_change_is_no_code(void **state)
{
    struct live_child child = live_child_start(body_changing_code);
    struct hs_target target;
    hs_addr places[2] = {atomic_load(&child.shared->begin), atomic_load(&child.shared->end)};

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    for (int i = 0; i < 2; i++) {
        struct hs_copy_code code = {0};
        uint8_t bytes[sizeof all_three];
        assert_int_equal(hs_target_read(&target, places[i], bytes, sizeof bytes, &err), HS_OK);
        hs_copy_code_search(&code, bytes, sizeof bytes, places[i]);
        assert_true(hs_copy_code_is_whole(&code));
        assert_false(hs_copy_code_stands(&target, &code));
    }
    hs_target_close(&target);
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_each_by_its_bytes),
        cmocka_unit_test(a_part_is_none),
        cmocka_unit_test(a_program_with_a_c_library_has_all),
        cmocka_unit_test(code_that_may_change_is_no_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
