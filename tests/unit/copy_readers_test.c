/* links: hs_target hs_symbols */
#include "unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live_child.h"
#include "target/copy/copy_private.h"

#define PAGE ((size_t)4096)
#define AREA_BYTES ((size_t)48 << 20)
#define HOLE_AT ((size_t)21 << 20) /* and a page: in the middle of a piece */

static struct hs_error err;

/* Every word tells its place; one page cannot be read. */
static void body_hole(struct live_shared *shared)
{
    uint64_t *words =
        mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (words == MAP_FAILED)
        _exit(1);
    for (size_t i = 0; i < AREA_BYTES / sizeof *words; i++)
        words[i] = i * 0x9e3779b97f4a7c15u;
    if (munmap((char *)words + HOLE_AT + PAGE, PAGE) != 0)
        _exit(1);
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)words);
    live_child_ready(shared);
    for (uint64_t round = 1;; round++) {
        for (size_t i = 0; i < HOLE_AT / sizeof *words; i += PAGE / sizeof *words)
            words[i]++;
        atomic_store(&shared->counters[0], round);
    }
}

static void freeze(struct hs_target *target, pid_t pid, unsigned n_threads)
{
    if (hs_target_open(pid, target, &err) != HS_OK)
        fail_msg("open: %s", err.message);
    target->options.n_threads = n_threads;
    if (hs_target_stop(target, &err) != HS_OK || hs_target_freeze(target, &err) != HS_OK)
        fail_msg("freeze: %s", err.message);
    assert_int_equal(target->report.way, HS_WAY_COPY);
}

static void several_threads_read_the_same(void **state)
{
    struct live_child child = live_child_start(body_hole);
    struct hs_target target;
    uint8_t *serial = malloc(AREA_BYTES), *wide = malloc(AREA_BYTES);
    hs_addr begin = atomic_load(&child.shared->begin);
    size_t n = 0;

    assert_non_null(serial);
    assert_non_null(wide);
    freeze(&target, child.pid, 3);
    for (int turn = 0; turn < 20; turn++) {
        memset(wide, 0xaa, AREA_BYTES);
        assert_int_equal(hs_target_read_some(&target, begin, wide, AREA_BYTES, &n, &err), HS_OK);
        assert_int_equal(n, HOLE_AT + PAGE);
    }
    assert_true(target.copy->readers.n_threads > 0);
    size_t behind = HOLE_AT + 2 * PAGE;
    assert_int_equal(
        hs_target_read(&target, begin + behind, wide + behind, AREA_BYTES - behind, &err), HS_OK);
    target.options.n_threads = 1;
    assert_int_equal(hs_target_read(&target, begin, serial, HOLE_AT + PAGE, &err), HS_OK);
    assert_int_equal(
        hs_target_read(&target, begin + behind, serial + behind, AREA_BYTES - behind, &err), HS_OK);
    assert_memory_equal(serial, wide, HOLE_AT + PAGE);
    assert_memory_equal(serial + behind, wide + behind, AREA_BYTES - behind);
    const uint64_t *words = (const uint64_t *)wide;
    for (size_t i = behind / 8; i < AREA_BYTES / 8; i++)
        assert_true(words[i] == i * 0x9e3779b97f4a7c15u);
    assert_int_equal(
        hs_target_read_some(&target, begin + HOLE_AT + PAGE, wide, AREA_BYTES / 2, &n, &err),
        HS_OK);
    assert_int_equal(n, 0);
    hs_target_resume(&target);
    assert_true(target.report.reading_ns > 0);
    assert_true(live_child_progresses(&child, 0, 1));
    hs_target_close(&target);
    live_child_end(&child);
    free(serial);
    free(wide);
}

/* Reads until that fails, or for so long that it would have. */
static hs_status read_on(struct hs_target *target, hs_addr begin, uint8_t *bytes)
{
    hs_status status = HS_OK;
    size_t n;

    for (int turn = 0; turn < 2000 && status == HS_OK; turn++)
        status = hs_target_read_some(target, begin, bytes, HOLE_AT, &n, &err);
    return status;
}

static void what_ends_a_copy_ends_its_readers(void **state)
{
    struct live_child child = live_child_start(body_hole);
    struct hs_target target;
    uint8_t *bytes = malloc(AREA_BYTES);
    hs_addr begin = atomic_load(&child.shared->begin);

    assert_non_null(bytes);
    freeze(&target, child.pid, 2);
    target.options.max_growth_bytes = 16 * PAGE;
    assert_int_equal(read_on(&target, begin, bytes), HS_LIMIT);
    assert_non_null(strstr(err.message, "grow"));
    assert_int_equal(target.copy->readers.n_threads, 0);
    assert_int_equal(read_on(&target, begin, bytes), HS_LIMIT);
    hs_target_close(&target);

    freeze(&target, child.pid, 2);
    kill(target.copy->memory.pid, SIGKILL); /* as the system does when memory is short */
    assert_int_equal(read_on(&target, begin, bytes), HS_LIMIT);
    assert_true(hs_freeze_falls_back(&target, HS_LIMIT));
    hs_target_close(&target);

    freeze(&target, child.pid, 2);
    kill(child.pid, SIGKILL);
    assert_int_equal(read_on(&target, begin, bytes), HS_TARGET);
    hs_target_close(&target);
    live_child_end(&child);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_threads_read_the_same),
        cmocka_unit_test(what_ends_a_copy_ends_its_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
