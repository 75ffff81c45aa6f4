/* links: hs_runtimes hs_process hs_symbols */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "live_child.h"
#include "process/image.h"

#define PAGE ((size_t)4096)
#define PAGES ((size_t)4096)

static struct hs_error err;
static struct live_child child;
static struct hs_target target;
static hs_addr area;

/* Every third page of the area is written, pages [1000, 1100) are unreadable and were given back,
 * and behind it is nothing. A word holds its own distance from the start of the area. Behind that
 * nothing lie PROTECTED pages that were written, every third, and protected since. */
static bool is_written(size_t page)
{
    return page % 3 == 0;
}

static bool is_hidden(size_t page)
{
    return page >= 1000 && page < 1100;
}

#define PROTECTED ((size_t)9)
#define PROTECTED_AT (area + (PAGES + 2) * PAGE)

static void body_area(struct live_shared *shared)
{
    uint8_t *at = mmap(NULL, (PAGES + 3 + PROTECTED) * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        _exit(1);
    munmap(at, PAGE);
    munmap(at + (PAGES + 1) * PAGE, PAGE);
    at += PAGE;
    madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE);
    for (size_t page = 0; page < PAGES; page++)
        for (size_t i = 0; is_written(page) && i < PAGE; i += 8)
            *(uint64_t *)(void *)(at + page * PAGE + i) = page * PAGE + i;
    madvise(at + 1000 * PAGE, 100 * PAGE, MADV_DONTNEED);
    mprotect(at + 1000 * PAGE, 100 * PAGE, PROT_NONE);
    for (size_t page = 0; page < PROTECTED; page += 3)
        *(uint64_t *)(void *)(at + (PAGES + 2 + page) * PAGE) = page;
    mprotect(at + (PAGES + 2) * PAGE, PROTECTED * PAGE, PROT_NONE);
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)at);
    live_child_ready(shared);
    for (;;)
        pause();
}

static int set_up(void **state)
{
    child = live_child_start(body_area);
    area = atomic_load(&child.shared->begin);
    return hs_target_open(child.pid, &target, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_target_close(&target);
    live_child_end(&child);
    return 0;
}

/* Every test is run with copies in memory and with copies in a file. */
static bool spills;

static struct hs_image image_new(void)
{
    struct hs_image image = {0};
    if (spills)
        assert_int_equal(hs_image_spill(&image, NULL, 0, &err), HS_OK);
    return image;
}

static void copy(struct hs_image *image, hs_addr begin, hs_addr end)
{
    if (hs_image_copy(image, &target, begin, end, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static void check_invariants(const struct hs_image *image)
{
    for (size_t i = 1; i < image->n_ranges; i++)
        assert_true(image->ranges[i - 1].end <= image->ranges[i].begin);
    for (size_t i = 0; i < image->n_gaps; i++)
        assert_true(image->gaps[i].begin < image->gaps[i].end);
    for (size_t i = 1; i < image->n_gaps; i++)
        assert_true(image->gaps[i - 1].end < image->gaps[i].begin);
}

static void check_page(const struct hs_image *image, size_t page)
{
    uint64_t word = 1;
    hs_addr at = area + page * PAGE + 64;
    bool found = hs_image_u64(image, at, &word);
    assert_int_equal(found, !is_hidden(page));
    if (found)
        assert_int_equal(word, is_written(page) ? page * PAGE + 64 : 0);
}

static void copies_what_is_there_and_only_that(void **state)
{
    struct hs_image image = image_new();
    size_t n_written = 0;

    copy(&image, area, area + PAGES * PAGE);
    check_invariants(&image);
    for (size_t page = 0; page < PAGES; page++) {
        check_page(&image, page);
        n_written += is_written(page) && !is_hidden(page);
    }
    /* what was never touched is not read: reading would fill the target's page tables */
    assert_int_equal(target.read_bytes, n_written * PAGE);
    assert_int_equal(image.n_ranges, 2);
    assert_int_equal(image.n_gaps, 1);
    assert_true(image.gaps[0].begin == area + 1000 * PAGE &&
                image.gaps[0].end == area + 1100 * PAGE);
    copy(&image, area, area + PAGES * PAGE); /* nothing is read twice */
    assert_int_equal(target.read_bytes, n_written * PAGE);
    hs_image_fini(&image);
    hs_image_fini(&image);
}

/* What the program may not read any more may still be all that leads to a block. */
static void protected_pages_are_copied_one_by_one(void **state)
{
    struct hs_image image = image_new();

    copy(&image, PROTECTED_AT, PROTECTED_AT + PROTECTED * PAGE);
    check_invariants(&image);
    for (size_t page = 0; page < PROTECTED; page++) {
        uint64_t word = 1;
        assert_int_equal(hs_image_u64(&image, PROTECTED_AT + page * PAGE, &word), page % 3 == 0);
        assert_int_equal(word, page % 3 == 0 ? page : 1);
    }
    assert_int_equal(image.n_ranges, PROTECTED / 3);
    assert_int_equal(target.read_bytes, PROTECTED / 3 * PAGE);
    assert_int_equal(hs_image_resident_bytes(&image, PROTECTED_AT, PROTECTED_AT + PROTECTED * PAGE),
                     PROTECTED / 3 * PAGE);
    hs_image_fini(&image);
}

static void works_without_a_page_map(void **state)
{
    struct hs_image image = image_new();
    close(target.live.pagemap_fd);
    target.live.pagemap_fd = -1;
    copy(&image, area, area + PAGES * PAGE);
    for (size_t page = 0; page < PAGES; page++)
        check_page(&image, page);
    hs_image_fini(&image);
}

/* Thousands of small requests in a scattered order give the same as one large one. */
static void small_pieces_merge(void **state)
{
    struct hs_image image = image_new();

    for (size_t i = 0; i < PAGES; i++) {
        size_t page = i * 1021 % PAGES; /* 1021 and 4096 are coprime: each page once */
        copy(&image, area + page * PAGE + 100, area + page * PAGE + 108);
        if (i % 512 == 0)
            check_invariants(&image);
    }
    check_invariants(&image);
    for (size_t page = 0; page < PAGES; page++)
        check_page(&image, page);
    assert_int_equal(image.n_ranges, 2);
    assert_int_equal(image.n_gaps, 1);
    assert_non_null(hs_image_bytes(&image, area + 8, 1000 * PAGE - 8));
    assert_null(hs_image_bytes(&image, area + 8, 1000 * PAGE));
    hs_image_fini(&image);
}

static void what_is_not_mapped_is_a_gap(void **state)
{
    struct hs_image image = image_new();
    copy(&image, area - 3, area + 5);
    copy(&image, area + PAGES * PAGE - 1, area + PAGES * PAGE + 1);
    copy(&image, 0, 10);
    copy(&image, UINT64_MAX - 10, UINT64_MAX);
    copy(&image, 100, 100);
    copy(&image, 100, 50);
    check_invariants(&image);
    assert_int_equal(image.n_gaps, 4);
    assert_true(image.gaps[0].begin == 0 && image.gaps[0].end == PAGE);
    assert_true(image.gaps[1].begin == area - PAGE && image.gaps[1].end == area);
    assert_int_equal(image.n_ranges, 2);
    check_page(&image, 0);
    check_page(&image, PAGES - 1);
    hs_image_fini(&image);
}

static void rewinding_leaves_no_old_bytes(void **state)
{
    struct hs_image image = image_new();
    copy(&image, area, area + PAGES * PAGE);
    for (size_t i = 0; i < image.n_shadows; i++) /* as if another copy had filled all of it */
        memset(image.shadows[i].bytes + (area - image.shadows[i].begin), 0xee, 900 * PAGE);
    hs_image_rewind(&image);
    assert_null(hs_image_find(&image, area, NULL));
    copy(&image, area, area + PAGES * PAGE);
    for (size_t page = 0; page < PAGES; page++)
        check_page(&image, page);
    hs_image_fini(&image);
}

/* Bytes of [begin, end) on pages that are written and readable. */
static uint64_t naive_resident(hs_addr begin, hs_addr end)
{
    uint64_t n_bytes = 0;

    for (hs_addr at = begin; at < end; at++) {
        size_t page = (at - area) / PAGE;
        n_bytes += at >= area && page < PAGES && is_written(page) && !is_hidden(page);
    }
    return n_bytes;
}

static void check_resident(const struct hs_image *image)
{
    static const size_t at[] = {
        0,           1,          4095,          4096,       4097,           8192,
        12288,       12289,      3 * PAGE * 64, 190 * PAGE, 193 * PAGE + 7, 999 * PAGE,
        1000 * PAGE, 1103 * PAGE};

    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
        for (size_t j = 0; j < sizeof at / sizeof at[0]; j++)
            assert_int_equal(hs_image_resident_bytes(image, area + at[i], area + at[j]),
                             naive_resident(area + at[i], area + at[j]));
    assert_int_equal(hs_image_resident_bytes(image, 0, UINT64_MAX),
                     naive_resident(area, area + PAGES * PAGE));
}

/* Runs of present pages add up to what is resident, one behind the other, each as long as it can
 * be. */
static void check_runs(const struct hs_image *image, hs_addr begin, hs_addr end)
{
    uint64_t n_bytes = 0;
    hs_addr at = begin, part, part_end;

    for (; hs_image_next_present(image, at, end, &part, &part_end); at = part_end) {
        assert_true(at <= part && part < part_end && part_end <= end);
        assert_int_equal(hs_image_resident_bytes(image, at, part), 0);
        assert_int_equal(hs_image_resident_bytes(image, part, part_end), part_end - part);
        n_bytes += part_end - part;
    }
    assert_int_equal(hs_image_resident_bytes(image, at, end), 0);
    assert_int_equal(n_bytes, hs_image_resident_bytes(image, begin, end));
}

static void goes_from_run_to_run(void **state)
{
    static const uint8_t text[100];
    struct hs_image image = image_new();
    hs_addr part, part_end;
    assert_false(hs_image_next_present(&image, 0, UINT64_MAX, &part, &part_end));
    copy(&image, area, area + PAGES * PAGE);
    check_runs(&image, 0, UINT64_MAX);
    check_runs(&image, area + 1, area + 70 * PAGE + 5);
    check_runs(&image, area + 64 * PAGE, area + 64 * PAGE + 1);
    check_runs(&image, area + PAGES * PAGE, area + PAGES * PAGE + 9);
    assert_int_equal(hs_image_add(&image, 1000, text, sizeof text, &err), HS_OK);
    assert_true(hs_image_next_present(&image, 1010, 1020, &part, &part_end));
    assert_true(part == 1010 && part_end == 1020);
    hs_image_fini(&image);
}

static void knows_which_pages_were_present(void **state)
{
    struct hs_image image = image_new();
    assert_int_equal(hs_image_resident_bytes(&image, 0, UINT64_MAX), 0);
    copy(&image, area, area + PAGES * PAGE);
    check_resident(&image);
    hs_image_rewind(&image);
    assert_int_equal(hs_image_resident_bytes(&image, 0, UINT64_MAX), 0);
    for (size_t page = 0; page < PAGES; page += 128) /* in pieces */
        copy(&image, area + page * PAGE, area + (page + 128) * PAGE);
    check_resident(&image);
    hs_image_rewind(&image);
    copy(&image, area + 2 * PAGE, area + 4 * PAGE); /* nothing of the copy before */
    assert_int_equal(hs_image_resident_bytes(&image, area, area + PAGES * PAGE), PAGE);
    hs_image_fini(&image);
}

static void without_a_page_map_all_is_present(void **state)
{
    struct hs_image image = image_new();
    static const uint8_t text[100];
    close(target.live.pagemap_fd);
    target.live.pagemap_fd = -1;
    copy(&image, area, area + 70 * PAGE);
    assert_int_equal(hs_image_resident_bytes(&image, area - PAGE, area + 69 * PAGE + 5),
                     69 * PAGE + 5);
    assert_int_equal(hs_image_add(&image, 1000, text, sizeof text, &err), HS_OK);
    assert_int_equal(hs_image_resident_bytes(&image, 1010, 2000), 90);
    hs_image_fini(&image);
}

static void a_dead_target_is_an_error(void **state)
{
    struct hs_image image = image_new();
    live_child_end(&child);
    assert_int_equal(hs_image_copy(&image, &target, area, area + PAGE, &err), HS_TARGET);
    hs_image_fini(&image);
}

static void every_failed_allocation(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST) {
        struct hs_image image = image_new();
        (void)FAIL_EACH_TRY(each,
                            hs_image_copy(&image, &target, area - PAGE, area + PAGES * PAGE, &err));
        check_invariants(&image);
        hs_image_fini(&image);
    }
}

static void borrowed_bytes_are_found_beside_copied_ones(void **state)
{
    struct hs_image image = image_new();
    static const uint8_t text[] = "0123456789abcdef";
    uint64_t word = 7;
    char string[8] = "old";

    assert_int_equal(hs_image_add(&image, area + 3 * PAGE + 20, text, 16, &err), HS_OK);
    copy(&image, area + 3 * PAGE, area + 4 * PAGE);
    check_invariants(&image);
    assert_int_equal(image.n_ranges, 3);
    check_page(&image, 3);
    assert_memory_equal(hs_image_bytes(&image, area + 3 * PAGE + 20, 16), text, 16);
    assert_null(hs_image_bytes(&image, area + 3 * PAGE + 20, 17));
    /* copied bytes win over borrowed ones that come later, in part or in whole */
    assert_int_equal(hs_image_add(&image, area + 4 * PAGE - 8, text, 16, &err), HS_OK);
    assert_true(hs_image_u64(&image, area + 4 * PAGE - 8, &word));
    assert_int_equal(word, 4 * PAGE - 8);
    assert_memory_equal(hs_image_bytes(&image, area + 4 * PAGE, 8), text + 8, 8);
    assert_int_equal(hs_image_add(&image, UINT64_MAX - 3, text, 16, &err), HS_TARGET);
    assert_false(hs_image_string(&image, area + 3 * PAGE + 20, string, sizeof string));
    assert_string_equal(string, "old");
    hs_image_fini(&image);
}

static void reads_are_bounded(void **state)
{
    struct hs_image image = image_new();
    static const uint8_t bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 'a', 'b', 0, 'c'};
    uint64_t u64 = 9;
    uint32_t u32 = 9;
    uint16_t u16 = 9;
    uint8_t u8 = 9;
    char text[3] = "x";
    size_t hint = 99;

    assert_false(hs_image_u8(&image, 1000, &u8));
    assert_int_equal(hs_image_add(&image, 1000, bytes, sizeof bytes, &err), HS_OK);
    assert_int_equal(hs_image_add(&image, 3000, bytes, sizeof bytes, &err), HS_OK);
    assert_true(hs_image_u64(&image, 1000, &u64) && u64 == 0x0807060504030201);
    assert_true(hs_image_u32(&image, 1001, &u32) && u32 == 0x05040302);
    assert_true(hs_image_u16(&image, 1010, &u16) && u16 == 0x6300);
    assert_true(hs_image_u8(&image, 1011, &u8) && u8 == 'c');
    u64 = 9;
    assert_false(hs_image_u64(&image, 1005, &u64));
    assert_false(hs_image_u32(&image, 1009, &u32));
    assert_false(hs_image_u16(&image, 1011, &u16));
    assert_false(hs_image_u8(&image, 1012, &u8));
    assert_false(hs_image_u8(&image, 999, &u8));
    assert_false(hs_image_u64(&image, UINT64_MAX, &u64));
    assert_int_equal(u64, 9);
    assert_true(hs_image_string(&image, 1008, text, sizeof text));
    assert_string_equal(text, "ab");
    assert_false(hs_image_string(&image, 1008, text, 2));           /* no room for the end */
    assert_false(hs_image_string(&image, 1011, text, sizeof text)); /* the copy ends before it */
    assert_ptr_equal(hs_image_find(&image, 3005, &hint), &image.ranges[1]);
    assert_int_equal(hint, 1);
    assert_ptr_equal(hs_image_find(&image, 3011, &hint), &image.ranges[1]);
    assert_ptr_equal(hs_image_find(&image, 1000, &hint), &image.ranges[0]);
    assert_null(hs_image_find(&image, 2000, &hint));
    hs_image_fini(&image);
}

/* A limit on plain memory is kept, and a copy to a file has none. */
static void a_copy_that_does_not_fit_is_refused(void **state)
{
    struct hs_image image = image_new();

    image.limit_bytes = 100 * PAGE;
    copy(&image, area, area + 300 * PAGE); /* a third of it is there */
    assert_int_equal(image.kept_bytes, spills ? 0 : 100 * PAGE);
    hs_status status = hs_image_copy(&image, &target, area + 300 * PAGE, area + 301 * PAGE, &err);
    assert_int_equal(status, spills ? HS_OK : HS_LIMIT);
    check_page(&image, 297);
    hs_image_rewind(&image);
    copy(&image, area, area + 300 * PAGE);
    check_page(&image, 297);
    hs_image_fini(&image);
}

/* What was copied is forgotten, and the next copy lies elsewhere. */
static void an_image_turns_to_a_file(void **state)
{
    struct hs_image image = image_new();
    struct hs_budget budget, small;

    copy(&image, area, area + PAGES * PAGE);
    hs_budget_init(0, "/nonexistent", 1, &budget);
    assert_int_equal(hs_image_spill(&image, &budget, 0, &err), HS_IO);
    hs_budget_init(HS_PAGED_MIN_BYTES, NULL, 1, &small);
    assert_int_equal(hs_image_spill(&image, &small, 0, &err), HS_LIMIT);
    for (size_t page = 0; page < PAGES; page++) /* a failure changes nothing */
        check_page(&image, page);
    budget.spill_dir = NULL;
    assert_int_equal(hs_image_spill(&image, &budget, 0, &err), HS_OK);
    assert_int_equal(image.n_ranges, 0);
    copy(&image, area, area + PAGES * PAGE);
    for (size_t page = 0; page < PAGES; page++)
        check_page(&image, page);
    if (hs_image_check(&image, &err) != HS_OK)
        fail_msg("%s", err.message);
    hs_image_rewind(&image);
    copy(&image, area, area + PAGES * PAGE);
    for (size_t page = 0; page < PAGES; page++) /* drops what is kept in memory */
        check_page(&image, page);
    assert_int_equal(ftruncate(image.paged->file.fd, 0), 0);
    assert_non_null(hs_image_bytes(&image, area + 3 * PAGE, 8));
    uint64_t word;
    assert_true(hs_image_u64(&image, area + 3 * PAGE, &word));
    assert_int_equal(hs_image_check(&image, &err), HS_IO);
    hs_image_fini(&image);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies_what_is_there_and_only_that, set_up, tear_down),
        cmocka_unit_test_setup_teardown(protected_pages_are_copied_one_by_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(works_without_a_page_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(small_pieces_merge, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_mapped_is_a_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rewinding_leaves_no_old_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(knows_which_pages_were_present, set_up, tear_down),
        cmocka_unit_test_setup_teardown(goes_from_run_to_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_page_map_all_is_present, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_dead_target_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_failed_allocation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(borrowed_bytes_are_found_beside_copied_ones, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_copy_that_does_not_fit_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_image_turns_to_a_file, set_up, tear_down),
        cmocka_unit_test(reads_are_bounded),
    };
    int n_failed = cmocka_run_group_tests_name("in memory", tests, NULL, NULL);
    spills = true;
    return n_failed + cmocka_run_group_tests_name("in a file", tests, NULL, NULL);
}
