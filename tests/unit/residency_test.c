/* links: hs_target hs_symbols */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "live_child.h"
#include "target/residency.h"
#include "target/target_private.h"

#define PAGE ((size_t)4096)

static struct hs_error err;

static hs_status parse(struct hs_residency *residency, const char *text)
{
    hs_residency_fini(residency);
    assert_int_equal(hs_strdup(text, &residency->text, &err), HS_OK);
    residency->n_bytes = strlen(text);
    return hs_residency_parse(residency, &err);
}

static void reads_what_the_kernel_writes(void **state)
{
    struct hs_residency residency = {0};
    uint64_t n_bytes = 7;

    assert_int_equal(parse(&residency,
                           "00400000-00408000 r--p 00000000 fe:00 1  /usr/bin/Rss: 5 kB\n"
                           "Size:                 32 kB\n"
                           "Rss:                   8 kB\n"
                           "Pss:                   1 kB\n"
                           "7ffff7fc1000-7ffff7fc5000 r--p 00000000 00:00 0          [vvar]\n"
                           "Rss:                   0 kB\n"
                           "VmFlags: rd mr pf\n"
                           "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
                           "Rss:                   4 kB"),
                     HS_OK);
    assert_int_equal(residency.n_entries, 3);
    assert_int_equal(residency.total_bytes, 12288);
    assert_true(hs_residency_of(&residency, 0x400000, 0x408000, &n_bytes) && n_bytes == 8192);
    assert_true(hs_residency_of(&residency, 0xffffffffff600000, 0xffffffffff601000, &n_bytes) &&
                n_bytes == 4096);
    n_bytes = 7;
    assert_false(hs_residency_of(&residency, 0x400000, 0x407000, &n_bytes));
    assert_false(hs_residency_of(&residency, 0x401000, 0x408000, &n_bytes));
    assert_false(hs_residency_of(&residency, UINT64_MAX, UINT64_MAX, &n_bytes));
    assert_int_equal(n_bytes, 7);
    hs_residency_fini(&residency);
    hs_residency_fini(&residency);
    hs_residency_fini(NULL);
}

static void odd_texts(void **state)
{
    struct hs_residency residency = {0};
    /* Lines that contradict each other: the later one counts. */
    static const struct {
        const char *text;
        size_t n_entries;
        uint64_t begin, end, total_bytes;
    } torn[] = {
        {"2000-3000 r--p\nRss: 4 kB\n1000-2000 r--p\n", 1, 0x1000, 0x2000, 0},
        {"1000-3000 r--p\nRss: 8 kB\n2000-4000 r--p\nRss: 4 kB\n", 1, 0x2000, 0x4000, 4096},
        {"1000-2000 r--p\nRss: 4 kB\n2000-3000 r--p\nRss: 4 kB\n2000-5000 r--p\nRss: 8 kB\n", 2,
         0x2000, 0x5000, 12288},
    };
    static const char *const empty[] = {"",
                                        "\n\n",
                                        "Rss: 4 kB\n",
                                        "1000-1000 r--p\n",
                                        "1000-0fff r--p\n",
                                        "1000\n",
                                        "1000-2000",
                                        "-2000 x\n",
                                        "10000000000000000-20000000000000000 r--p\n"};
    for (size_t i = 0; i < sizeof torn / sizeof torn[0]; i++) {
        assert_int_equal(parse(&residency, torn[i].text), HS_OK);
        assert_int_equal(residency.n_entries, torn[i].n_entries);
        assert_int_equal(residency.entries[residency.n_entries - 1].begin, torn[i].begin);
        assert_int_equal(residency.entries[residency.n_entries - 1].end, torn[i].end);
        assert_int_equal(residency.total_bytes, torn[i].total_bytes);
    }
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        assert_int_equal(parse(&residency, empty[i]), HS_OK);
        assert_int_equal(residency.n_entries, 0);
    }
    /* never more than the mapping has, whatever the number */
    assert_int_equal(parse(&residency, "1000-3000 r--p\nRss: 99999999999999999 kB\nRss: 4 kB\n"
                                       "Rss: 999 kB\nRss: x\n"),
                     HS_OK);
    assert_int_equal(residency.total_bytes, 8192);
    hs_residency_fini(&residency);
    assert_int_equal(hs_residency_parse(&residency, &err), HS_OK); /* nothing was read */
    assert_int_equal(residency.n_entries, 0);
}

static void body_area(struct live_shared *shared)
{
    uint8_t *at =
        mmap(NULL, 100 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        _exit(1);
    mprotect(at, PAGE, PROT_NONE); /* so that the kernel joins nothing to it */
    mprotect(at + 99 * PAGE, PAGE, PROT_NONE);
    madvise(at, 100 * PAGE, MADV_NOHUGEPAGE);
    memset(at + 10 * PAGE, 1, 7 * PAGE);
    volatile uint8_t sum = 0;
    for (size_t page = 50; page < 60; page++) /* only read: a page of zeros counts for nothing */
        sum = (uint8_t)(sum + at[page * PAGE]);
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)at);
    live_child_ready(shared);
    for (;;)
        pause();
}

static void a_live_process(void **state)
{
    struct live_child child = live_child_start(body_area);
    struct hs_target target;
    struct hs_residency residency = {0};
    hs_addr area = atomic_load(&child.shared->begin);
    uint64_t n_bytes = 0, total = 0;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(hs_target_stop(&target, &err), HS_OK);
    assert_int_equal(hs_residency_read(&residency, &target, &err), HS_OK);
    hs_target_resume(&target);
    assert_int_equal(hs_residency_parse(&residency, &err), HS_OK);
    assert_true(hs_residency_of(&residency, area + PAGE, area + 99 * PAGE, &n_bytes));
    /* There are kernels that give each page that is only read one of its own. */
    bool knows_zeros = getuid() != 0 || hs_pagemap_zero_page() != 0;
    assert_int_equal(n_bytes, (knows_zeros ? 7 : 17) * PAGE);
    for (size_t i = 0; i < target.n_mappings; i++) {
        const struct hs_mapping *m = &target.mappings[i];
        assert_true(hs_residency_of(&residency, m->begin, m->end, &n_bytes));
        total += n_bytes;
    }
    assert_int_equal(total, residency.total_bytes);
    assert_true(total > 7 * PAGE);
    hs_alloc_fail_at(1, true);
    assert_int_equal(hs_residency_read(&residency, &target, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(hs_residency_read(&residency, &target, &err), HS_OK);
    hs_alloc_fail_at(1, true);
    assert_int_equal(hs_residency_parse(&residency, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    live_child_end(&child);
    assert_int_equal(hs_residency_read(&residency, &target, &err), HS_OK); /* gone: not known */
    assert_int_equal(hs_residency_parse(&residency, &err), HS_OK);
    assert_int_equal(residency.n_entries, 0);
    hs_residency_fini(&residency);
    hs_target_close(&target);
}

static void tells_what_userfaultfd_has_yet_to_bring(void **state)
{
    static const struct {
        const char *text;
        bool awaits;
    } cases[] = {
        {"", false},
        {"10000-20000 rw-p 00000000 00:00 0\nRss: 60 kB\nVmFlags: rd wr um ac\n", true},
        {"10000-20000 rw-p 00000000 00:00 0\nRss: 64 kB\nVmFlags: rd wr um ac\n", false},
        {"10000-20000 rw-p 00000000 00:00 0\nRss: 0 kB\nVmFlags: rd wr uw ac\n"
         "20000-21000 rw-p 00000000 00:00 0\nRss: 4 kB\nVmFlags: rd um",
         false},
        {"10000-20000 rw-p 00000000 00:00 0 /um um\nRss: 0 kB\nSize: um\n", false},
        {"VmFlags: um\n10000-20000 rw-p 00000000 00:00 0\nVmFlags:", false},
        {"10000-20000 rw-p 00000000 00:00 0\nVmFlags: um", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_residency residency = {0};
        assert_int_equal(parse(&residency, cases[i].text), HS_OK);
        if (hs_residency_awaits_pages(&residency) != cases[i].awaits)
            fail_msg("case %zu", i);
        hs_residency_fini(&residency);
    }
    const struct hs_residency none = {0};
    assert_false(hs_residency_awaits_pages(&none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_userfaultfd_has_yet_to_bring),
        cmocka_unit_test(reads_what_the_kernel_writes),
        cmocka_unit_test(odd_texts),
        cmocka_unit_test(a_live_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
