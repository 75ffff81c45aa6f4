/* links: hs_target hs_symbols */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live_child.h"
#include "target/target.h"
#include "target/target_private.h"

#define PAGES 300
#define PAGE 4096

static struct hs_error err;

static void body_memory(struct live_shared *shared)
{
    uint8_t *area =
        mmap(NULL, (PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        _exit(1);
    for (size_t i = 0; i < PAGES * PAGE; i++)
        area[i] = (uint8_t)(i * 7 >> 3);
    munmap(area + PAGES * PAGE, PAGE); /* unreadable right behind */
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)area);
    live_child_ready(shared);
    for (;;)
        pause();
}

static void reads_all_or_nothing(void **state)
{
    struct live_child child = live_child_start(body_memory);
    struct hs_target target;
    size_t n_bytes = PAGES * PAGE, n = 0;
    uint8_t *bytes = malloc(n_bytes + PAGE);
    hs_addr begin = atomic_load(&child.shared->begin);

    assert_non_null(bytes);
    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    for (int by_file = 0; by_file < 2; by_file++) {
        target.live.reads_by_file = by_file;
        memset(bytes, 0, n_bytes);
        target.read_bytes = 0;
        assert_int_equal(hs_target_read(&target, begin, bytes, n_bytes, &err), HS_OK);
        for (size_t i = 0; i < n_bytes; i++)
            assert_true(bytes[i] == (uint8_t)(i * 7 >> 3));
        assert_int_equal(target.read_bytes, n_bytes);
        assert_int_equal(hs_target_read(&target, begin + 1, bytes, n_bytes, &err), HS_TARGET);
        assert_non_null(strstr(err.message, "cannot read"));
        assert_int_equal(hs_target_read_some(&target, begin + 5, bytes, n_bytes + 7, &n, &err),
                         HS_OK);
        assert_int_equal(n, n_bytes - 5);
        assert_int_equal(hs_target_read(&target, 16, bytes, 8, &err), HS_TARGET);
        assert_int_equal(hs_target_read(&target, UINT64_MAX - 8, bytes, 8, &err), HS_TARGET);
        assert_int_equal(hs_target_read(&target, begin, bytes, 0, &err), HS_OK);
    }
    hs_target_close(&target);
    free(bytes);
    live_child_end(&child);
}

static void a_dead_target_is_gone(void **state)
{
    struct live_child child = live_child_start(body_memory);
    struct hs_target target;
    hs_addr begin = atomic_load(&child.shared->begin);
    uint64_t word;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    live_child_end(&child);
    for (int by_file = 0; by_file < 2; by_file++) {
        target.live.reads_by_file = by_file;
        assert_int_equal(hs_target_read(&target, begin, &word, 8, &err), HS_TARGET);
        assert_non_null(strstr(err.message, "has ended"));
    }
    assert_int_equal(hs_target_stop(&target, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "ended during the dump"));
    assert_false(target.is_stopped);
    hs_target_close(&target);
}

static void close_takes_zeroed_and_closed_ones(void **state)
{
    struct hs_target target = {0};
    hs_target_close(NULL);
    hs_target_close(&target);
    assert_true(fcntl(0, F_GETFD) >= 0 || errno == EBADF); /* descriptor 0 was not ours */
    hs_target_resume(&target);
}

static void body_command(struct live_shared *shared)
{
    live_child_ready(shared);
    execl("/bin/sleep", "evil\033]0;x\007\n name", "77", (char *)NULL);
}

static void the_command_line_is_sanitised(void **state)
{
    struct live_child child = live_child_start(body_command);
    struct hs_target target = {0};
    for (int i = 0; i < 500; i++) {
        hs_target_close(&target);
        assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
        if (strstr(target.command, "77") != NULL)
            break;
        live_sleep_us(1000);
    }
    assert_string_equal(target.command, "evil?]0;x?? name 77");
    hs_target_close(&target);
    live_child_end(&child);
}

static void tells_two_programs_apart(void **state)
{
    struct live_child one = live_child_start(body_memory), two = live_child_start(body_memory);
    struct hs_identity a, b, again;
    assert_int_equal(hs_target_identify(one.pid, &a, &err), HS_OK);
    assert_int_equal(hs_target_identify(one.pid, &again, &err), HS_OK);
    assert_memory_equal(&a, &again, sizeof a);
    assert_int_equal(hs_target_identify(two.pid, &b, &err), HS_OK);
    assert_int_equal(a.exe_inode, b.exe_inode);
    assert_int_equal(hs_target_identify(-5, &b, &err), HS_TARGET);
    live_child_end(&one);
    live_child_end(&two);
}

static void finds_the_file_behind_a_mapping(void **state)
{
    struct live_child child = live_child_start(body_memory);
    struct hs_target target;
    struct stat found, own;
    char path[PATH_MAX];
    int n_files = 0;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    for (size_t i = 0; i < target.n_mappings; i++) {
        const struct hs_mapping *m = &target.mappings[i];
        if (m->inode == 0 || m->shared || stat(hs_mapping_path(&target, m), &own) != 0)
            continue;
        assert_int_equal(hs_target_file_path(&target, m, path, sizeof path, &err), HS_OK);
        assert_int_equal(stat(path, &found), 0);
        assert_int_equal(found.st_ino, own.st_ino);
        n_files++;
        assert_int_equal(hs_target_file_path(&target, m, path, 8, &err), HS_LIMIT);
    }
    assert_true(n_files > 3);
    const struct hs_mapping *stack =
        hs_target_mapping_at(&target, atomic_load(&child.shared->begin));
    assert_non_null(stack);
    assert_int_equal(hs_target_file_path(&target, stack, path, sizeof path, &err), HS_TARGET);
    hs_target_close(&target);
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_all_or_nothing),
        cmocka_unit_test(a_dead_target_is_gone),
        cmocka_unit_test(close_takes_zeroed_and_closed_ones),
        cmocka_unit_test(the_command_line_is_sanitised),
        cmocka_unit_test(tells_two_programs_apart),
        cmocka_unit_test(finds_the_file_behind_a_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
