/* Finds the pages of a process that are there, as runs: listed by the kernel, searched for, or read
 * from its page map.
 *
 * Neither way touches a page: a hole that is read becomes a page for good. */
#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "page_search.h"
#include "target_private.h"

#define RUNS_PAGE ((hs_addr)4096)

/* include/uapi/linux/fs.h, since 6.7; page_region is struct hs_page_run. */
struct runs_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define RUNS_SCAN _IOWR('f', 16, struct runs_scan)
#define RUNS_SCAN_ZERO ((uint64_t)1 << 5) /* PAGE_IS_PFNZERO */

_Static_assert(sizeof(struct hs_page_run) == 24, "struct page_region of the kernel");

/* Has the kernel list the runs and returns their number; -1: it cannot tell them. */
static long runs_list(int pagemap_fd, hs_addr begin, hs_addr end, struct hs_page_run *runs,
                      size_t n, hs_addr *ret_told)
{
    struct runs_scan scan = {
        .size = sizeof scan,
        .start = begin,
        .end = end,
        .vec = (uint64_t)(uintptr_t)runs,
        .vec_len = n,
        .category_inverted = RUNS_SCAN_ZERO,
        .category_mask = RUNS_SCAN_ZERO,
        .category_anyof_mask = HS_PAGES_PRESENT | HS_PAGES_SWAPPED,
        .return_mask = HS_PAGES_PRESENT | HS_PAGES_SWAPPED,
    };
    uint64_t entry;
    int found;

    do
        found = ioctl(pagemap_fd, RUNS_SCAN, &scan);
    while (found < 0 && errno == EINTR);
    if (found < 0 || scan.walk_end <= begin)
        return -1;
    /* A process that has ended looks like an empty one, but its page map cannot be read. */
    if (found == 0 && pread(pagemap_fd, &entry, sizeof entry, 0) != (ssize_t)sizeof entry)
        return -1;
    *ret_told = scan.walk_end;
    return found;
}

bool hs_pagemap_lists(int pagemap_fd)
{
    struct hs_page_run run;
    hs_addr told;

    return pagemap_fd >= 0 && runs_list(pagemap_fd, 0, RUNS_PAGE, &run, 1, &told) >= 0;
}

size_t hs_memory_page_runs(const struct hs_memory *memory, hs_addr begin, hs_addr end,
                           struct hs_page_run *runs, size_t n, hs_addr *ret_told)
{
    *ret_told = begin;
    begin &= ~(RUNS_PAGE - 1);
    end = end > INT64_MAX ? (hs_addr)INT64_MAX & ~(RUNS_PAGE - 1)
                          : (end + RUNS_PAGE - 1) & ~(RUNS_PAGE - 1);
    if (memory->pagemap_fd < 0 || begin >= end || n == 0)
        return 0;
    if (memory->lists_pages) {
        long found = runs_list(memory->pagemap_fd, begin, end, runs, n, ret_told);
        if (found >= 0)
            return (size_t)found;
    }
    size_t n_found;
    if (hs_page_search_runs(memory, begin, end, runs, n, &n_found, ret_told))
        return n_found;
    return hs_page_map_runs(memory, begin, end, runs, n, ret_told);
}
