/* The page map of a process, read from end to end. */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "page_search.h"
#include "target_private.h"

#define MAP_PAGE ((hs_addr)4096)
/* One request: the pages of 16 MiB. */
#define MAP_ENTRIES ((size_t)4096)
/* Documentation/admin-guide/mm/pagemap.rst */
#define MAP_ENTRY_PRESENT (UINT64_C(1) << 63)
#define MAP_ENTRY_SWAPPED (UINT64_C(1) << 62)
#define MAP_ENTRY_NUMBER ((UINT64_C(1) << 55) - 1)

/* Two pages that were only read are one in memory, or the kernel gave each a page of its own: then
 * its number, once it is free again, may be that of a page with contents. */
uint64_t hs_pagemap_zero_page(void)
{
    uint64_t entries[2] = {0};
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    volatile uint8_t *pages =
        mmap(NULL, 2 * MAP_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (pages != MAP_FAILED) {
        (void)pages[0];
        (void)pages[MAP_PAGE];
        off_t at = (off_t)((uintptr_t)pages / MAP_PAGE * sizeof *entries);
        if (fd < 0 || pread(fd, entries, sizeof entries, at) != (ssize_t)sizeof entries)
            entries[0] = 0;
        munmap((void *)(uintptr_t)pages, 2 * MAP_PAGE);
    }
    if (fd >= 0)
        close(fd);
    return entries[0] & MAP_ENTRY_PRESENT && entries[0] == entries[1]
               ? entries[0] & MAP_ENTRY_NUMBER
               : 0;
}

bool hs_page_runs_add(struct hs_page_run *runs, size_t n, size_t *n_runs, hs_addr begin,
                      hs_addr end, uint64_t kind)
{
    struct hs_page_run *last = *n_runs > 0 ? &runs[*n_runs - 1] : NULL;

    if (last != NULL && last->end == begin && last->kind == kind) {
        last->end = end;
        return true;
    }
    if (*n_runs == n)
        return false;
    runs[(*n_runs)++] = (struct hs_page_run){begin, end, kind};
    return true;
}

static uint64_t map_kind(uint64_t entry, uint64_t zero_page)
{
    if (entry & MAP_ENTRY_PRESENT)
        return zero_page != 0 && (entry & MAP_ENTRY_NUMBER) == zero_page ? 0 : HS_PAGES_PRESENT;
    return entry & MAP_ENTRY_SWAPPED ? HS_PAGES_SWAPPED : 0;
}

/* The runs found so far in a page map, at most n. */
struct map_read {
    const struct hs_memory *memory;
    struct hs_page_run *runs;
    size_t n, n_runs;
};

/* False when there is no room for more runs: *ret_told is then where they end. */
static bool map_runs_of(struct map_read *read, const uint64_t *entries, size_t n_pages,
                        hs_addr begin, hs_addr *ret_told)
{
    for (size_t i = 0; i < n_pages;) {
        uint64_t kind = map_kind(entries[i], read->memory->zero_page);
        hs_addr from = begin + i * MAP_PAGE;
        while (i < n_pages && map_kind(entries[i], read->memory->zero_page) == kind)
            i++;
        if (kind != 0 && !hs_page_runs_add(read->runs, read->n, &read->n_runs, from,
                                           begin + i * MAP_PAGE, kind)) {
            *ret_told = from;
            return false;
        }
    }
    *ret_told = begin + n_pages * MAP_PAGE;
    return true;
}

size_t hs_page_map_runs(const struct hs_memory *memory, hs_addr begin, hs_addr end,
                        struct hs_page_run *runs, size_t n, hs_addr *ret_told)
{
    uint64_t entries[MAP_ENTRIES];
    struct map_read read = {.memory = memory, .runs = runs, .n = n};

    while (begin < end) {
        size_t n_pages = (end - begin) / MAP_PAGE;
        if (n_pages > MAP_ENTRIES)
            n_pages = MAP_ENTRIES;
        ssize_t got = pread(memory->pagemap_fd, entries, n_pages * sizeof *entries,
                            (off_t)(begin / MAP_PAGE * sizeof *entries));
        if (got < (ssize_t)sizeof *entries)
            break;
        n_pages = (size_t)got / sizeof *entries;
        if (!map_runs_of(&read, entries, n_pages, begin, ret_told))
            break;
        begin += n_pages * MAP_PAGE;
    }
    return read.n_runs;
}
