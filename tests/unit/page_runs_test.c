/* links: hs_process hs_target */
#include "unit.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/progress.h"
#include "live_child.h"
#include "page_kinds.h"
#include "process/image.h"
#include "target/live/page_search.h"
#include "target/target_private.h"

#define PAGE ((size_t)4096)
#define RESERVE ((size_t)1 << 38)

enum { PAGES = 5000 };

static struct hs_error err;
static struct live_child child;
static struct hs_target target;
static hs_addr area, reserve;

static bool is_written(size_t page)
{
    return page % 7 < 2 || (page > 1000 && page < 3500);
}

/* Pages of the area are written to, only read, or neither. Of the reserve three pages are written
 * to. */
static void body(struct live_shared *shared)
{
    uint8_t *at =
        mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint8_t *large = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED || large == MAP_FAILED)
        _exit(1);
    madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
    madvise(large, RESERVE, MADV_NOHUGEPAGE);
    for (size_t page = 0; page < PAGES; page++) {
        if (is_written(page))
            at[page * PAGE] = 1;
        else if (page % 7 == 3)
            (void)*(volatile uint8_t *)(at + page * PAGE);
    }
    large[0] = large[RESERVE / 2 + 5 * PAGE] = large[RESERVE - 1] = 1;
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)at);
    atomic_store(&shared->end, (uint64_t)(uintptr_t)large);
    live_child_ready(shared);
    for (;;) {
        if (atomic_load(&shared->counters[0]) == 2) {
            madvise(large + RESERVE / 2, RESERVE / 4, MADV_DONTNEED);
            atomic_store(&shared->counters[0], 0);
        }
        live_sleep_us(1000);
    }
}

static int set_up(void **state)
{
    child = live_child_start(body);
    area = atomic_load(&child.shared->begin);
    reserve = atomic_load(&child.shared->end);
    return hs_target_open(child.pid, &target, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_target_close(&target);
    live_child_end(&child);
    return 0;
}

/* Has the child do something; 0 when it is done. */
static uint64_t ask(uint64_t what)
{
    atomic_store(&child.shared->counters[0], what);
    for (int i = 0; i < 5000 && atomic_load(&child.shared->counters[0]) != 0; i++)
        live_sleep_us(1000);
    return atomic_load(&child.shared->counters[0]);
}

/* Calls of ours that read, so far. */
static long n_reads(void)
{
    char text[512] = "";
    FILE *file = fopen("/proc/self/io", "re");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *at = strstr(text, "syscr: ");
    assert_non_null(at);
    return strtol(at + 7, NULL, 10);
}

/* As on a kernel before 6.7. */
static void use_page_map(void)
{
    target.live.lists_pages = false;
    target.live.zero_page = hs_pagemap_zero_page();
    if (target.live.search == NULL)
        target.live.search = hs_page_search_new();
}

static void check_area(size_t from, size_t n, bool knows_zeros)
{
    static uint64_t kinds[PAGES];
    assert_int_equal(page_kinds(&target, area + from * PAGE, kinds, n), n);
    for (size_t i = 0; i < n; i++) {
        size_t page = from + i;
        bool is_zero = !is_written(page) && page % 7 == 3;
        if (knows_zeros || !is_zero)
            assert_int_equal(kinds[i], is_written(page) ? HS_PAGES_PRESENT : 0);
    }
}

static void lists_what_is_there(void **state)
{
    if (!target.live.lists_pages)
        skip();
    /* There are kernels that give each page that is only read one of its own. */
    const bool knows_zeros = getuid() != 0 || hs_pagemap_zero_page() != 0;
    check_area(0, PAGES, knows_zeros);
    for (size_t from = 0; from < 40; from++)
        check_area(from * 71, 1 + from * 3, knows_zeros);
}

static void the_page_map_tells_the_same(void **state)
{
    use_page_map();
    check_area(0, PAGES, target.live.zero_page != 0);
    for (size_t from = 0; from < 40; from++)
        check_area(from * 71, 1 + from * 3, target.live.zero_page != 0);
}

/* Runs that touch are one, so they can be compared. */
static void check_runs(hs_addr begin, hs_addr end, size_t n_expected)
{
    struct hs_page_run runs[8];
    hs_addr told;
    assert_int_equal(hs_target_page_runs(&target, begin, end, runs, 8, &told), n_expected);
    assert_true(told >= end);
}

static void a_reserve_is_one_request(void **state)
{
    struct hs_page_run runs[8];
    hs_addr told;
    if (!target.live.lists_pages)
        skip();
    assert_int_equal(hs_target_page_runs(&target, reserve, reserve + RESERVE, runs, 8, &told), 3);
    assert_true(told >= reserve + RESERVE);
    assert_true(runs[0].begin == reserve && runs[0].end == reserve + PAGE);
    assert_true(runs[1].begin == reserve + RESERVE / 2 + 5 * PAGE);
    assert_true(runs[2].end == reserve + RESERVE);
    check_runs(reserve + PAGE, reserve + RESERVE / 2, 0);
    check_runs(reserve + RESERVE - 1, reserve + RESERVE, 1);
}

static void too_little_room_is_no_end(void **state)
{
    struct hs_page_run run;
    hs_addr told;
    for (int way = 0; way < 2; way++, use_page_map()) {
        assert_int_equal(hs_target_page_runs(&target, area, area + 20 * PAGE, &run, 1, &told), 1);
        assert_true(run.begin == area && run.end == area + 2 * PAGE);
        assert_true(told >= area + 2 * PAGE && told <= area + 7 * PAGE);
        assert_int_equal(hs_target_page_runs(&target, area, area, &run, 1, &told), 0);
        assert_true(told == area);
    }
}

static void without_a_page_map_nothing_is_told(void **state)
{
    struct hs_page_run run;
    hs_addr told = 1;
    close(target.live.pagemap_fd);
    target.live.pagemap_fd = -1;
    assert_int_equal(hs_target_page_runs(&target, area, area + PAGE, &run, 1, &told), 0);
    assert_true(told == area);
}

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Three pages are to be found, one of them in the middle, and there is a limit to what is searched:
 * of this much the page map is read to the end. */
static void few_pages_are_searched_for(void **state)
{
    struct hs_page_run runs[8];
    hs_addr told, end = reserve + RESERVE;
    use_page_map();
    if (target.live.zero_page == 0)
        skip(); /* CAP_SYS_ADMIN */
    long before = n_reads();
    assert_int_equal(hs_target_page_runs(&target, reserve, end, runs, 8, &told), 3);
    assert_true(told >= end && n_reads() - before < 20000);
    assert_false(target.live.search->is_whole);

    assert_int_equal(ask(2), 0); /* the one in the middle is given back */
    hs_page_search_forget(target.live.search);
    before = n_reads();
    assert_int_equal(hs_target_page_runs(&target, reserve, end, runs, 8, &told), 2);
    assert_true(told >= end && target.live.search->is_whole);
    assert_true(n_reads() - before < 200);
    assert_true(runs[0].begin == reserve && runs[1].end == end);
    before = n_reads();
    check_runs(reserve + PAGE, end - PAGE, 0);
    check_runs(reserve + PAGE, end, 1);
    assert_int_equal(hs_target_page_runs(&target, reserve, end, runs, 1, &told), 1);
    assert_true(told == end - PAGE);
    assert_int_equal(hs_target_page_runs(&target, told, end, runs, 1, &told), 1);
    assert_true(told == end);
    assert_true(n_reads() - before <= 2); /* those of the counter */
}

/* smaps of a target with many mappings takes longer than the pause that is allowed. */
static void what_takes_too_long_is_given_up(void **state)
{
    struct hs_page_run runs[8];
    hs_addr told, end = reserve + RESERVE;
    size_t n;
    use_page_map();
    if (target.live.zero_page == 0)
        skip(); /* CAP_SYS_ADMIN */
    target.live.search->until_ns = 1;
    long before = n_reads();
    assert_false(hs_page_search_runs(&target.live, reserve, end, runs, 8, &n, &told));
    assert_true(n_reads() - before < 10); /* statm, and the counter's own */
    assert_false(target.live.search->is_whole);

    target.is_stopped = true;
    target.stopped_at_ns = hs_now_ns();
    target.options.max_pause_ns = UINT64_C(10000000000);
    (void)hs_target_page_runs(&target, reserve, reserve + PAGE, runs, 8, &told);
    assert_int_equal(target.live.search->until_ns,
                     target.stopped_at_ns + target.options.max_pause_ns);
    assert_int_equal(hs_mappings_refresh(&target, &err), HS_OK);
    target.stopped_at_ns -= 2 * target.options.max_pause_ns;
    assert_int_equal(hs_mappings_refresh(&target, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "in the time that is allowed"));
    target.is_stopped = false;
    assert_int_equal(hs_mappings_refresh(&target, &err), HS_OK);
}

/* It has 2048 pages of bits. */
static void a_copy_of_a_reserve_costs_what_is_there(void **state)
{
    struct hs_image image = {0};
    hs_addr part = 0, part_end = reserve;
    if (!target.live.lists_pages)
        skip();
    long before = page_faults();
    assert_int_equal(hs_image_copy(&image, &target, reserve, reserve + RESERVE, &err), HS_OK);
    assert_int_equal(hs_image_resident_bytes(&image, reserve, reserve + RESERVE), 3 * PAGE);
    for (int i = 0; i < 3; i++) {
        assert_true(hs_image_next_present(&image, part_end, reserve + RESERVE, &part, &part_end));
        assert_int_equal(part_end - part, PAGE);
        assert_int_equal(hs_image_resident_bytes(&image, part, part_end), PAGE);
    }
    assert_true(part_end == reserve + RESERVE);
    assert_int_equal(hs_image_resident_bytes(&image, reserve + PAGE, reserve + RESERVE - 1),
                     3 * PAGE - PAGE - 1);
    assert_true(page_faults() - before < 200);
    hs_image_rewind(&image);
    assert_int_equal(hs_image_resident_bytes(&image, reserve, reserve + RESERVE), 0);
    hs_image_fini(&image);
}

/* How much address space we have taken: a sanitizer takes terabytes. */
static rlim_t n_mapped_bytes(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return (rlim_t)pages * PAGE;
}

/* Where there is no room for the addresses, what is there is copied all the same. */
static void a_reserve_that_does_not_fit(void **state)
{
    struct hs_image image = {0};
    struct rlimit old, small;
    hs_addr part = 0, part_end = reserve;
    uint64_t word = 0;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    small = old;
    small.rlim_cur = n_mapped_bytes() + RESERVE / 2;
    assert_int_equal(setrlimit(RLIMIT_AS, &small), 0);
    hs_status status = hs_image_copy(&image, &target, reserve, reserve + RESERVE, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
    assert_int_equal(status, HS_OK);
    assert_int_equal(hs_image_resident_bytes(&image, reserve, reserve + RESERVE), 3 * PAGE);
    for (int i = 0; i < 3; i++) {
        assert_true(hs_image_next_present(&image, part_end, reserve + RESERVE, &part, &part_end));
        assert_int_equal(part_end - part, PAGE);
    }
    assert_true(hs_image_u64(&image, reserve, &word) && word == 1);
    assert_false(hs_image_u64(&image, reserve + PAGE, &word));
    assert_int_equal(image.n_gaps, 0);
    hs_image_fini(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_what_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_page_map_tells_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reserve_is_one_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(few_pages_are_searched_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_takes_too_long_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_little_room_is_no_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_page_map_nothing_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_of_a_reserve_costs_what_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reserve_that_does_not_fit, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
