/* Windows to and from the file. Sources: open(2) on O_DIRECT, sync_file_range(2), posix_fadvise(2).
 */
#include "paged_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/load.h"
#include "base/units.h"

#define PAGE HS_PAGED_PAGE_BYTES
#define MAX_PAGES (HS_PAGED_MAX_WINDOW_BYTES / PAGE) /* of a window */
#define UNSYNCED_BYTES ((uint64_t)8 << 20)

hs_status hs_paged_file_open(struct hs_paged *paged, struct hs_error *err)
{
    HS_TRY(hs_spill_open(paged->budget, "the copy of the process", &paged->file, err));
    int flags = fcntl(paged->file.fd, F_GETFL);
    paged->is_direct = flags >= 0 && fcntl(paged->file.fd, F_SETFL, flags | O_DIRECT) == 0;
    return HS_OK;
}

/* A file system may refuse O_DIRECT only when it comes to it. */
static bool file_forget_direct(struct hs_paged *paged)
{
    int flags = fcntl(paged->file.fd, F_GETFL);

    if (!paged->is_direct || flags < 0 || fcntl(paged->file.fd, F_SETFL, flags & ~O_DIRECT) != 0)
        return false;
    paged->is_direct = false;
    return true;
}

/* Pushes what lies in the page cache to disk and out of the cache. */
static void file_drop_cache(struct hs_paged *paged)
{
    (void)sync_file_range(paged->file.fd, 0, 0,
                          SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                              SYNC_FILE_RANGE_WAIT_AFTER);
    (void)posix_fadvise(paged->file.fd, 0, 0, POSIX_FADV_DONTNEED);
    paged->unsynced_bytes = 0;
}

static hs_status file_write_failed(const struct hs_paged *paged, int number, struct hs_error *err)
{
    char size[HS_UNIT_TEXT_BYTES];

    hs_format_bytes(paged->written_bytes, size);
    errno = number;
    hs_status status =
        hs_fail_errno(err, HS_IO, "cannot write the copy of the process to '%s' after %s",
                      hs_spill_directory(paged->budget), size);
    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        (void)hs_hint(err, "name a directory with more room by --spill-dir");
    return status;
}

/* Writes to the file. 0, or an errno. */
static int file_put(struct hs_paged *paged, uint64_t at, const uint8_t *bytes, size_t n_bytes)
{
    while (n_bytes != 0) {
        ssize_t n = pwrite(paged->file.fd, bytes, n_bytes, (off_t)at);
        if (n < 0 && (errno == EINTR || (errno == EINVAL && file_forget_direct(paged))))
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        if ((size_t)n < n_bytes && (size_t)n % PAGE != 0)
            (void)file_forget_direct(paged); /* the rest begins within a page */
        at += (uint64_t)n;
        hs_spill_stored(&paged->file, at);
        bytes += n;
        n_bytes -= (size_t)n;
        paged->written_bytes += (uint64_t)n;
        paged->unsynced_bytes += paged->is_direct ? 0 : (uint64_t)n;
    }
    if (paged->unsynced_bytes >= UNSYNCED_BYTES)
        file_drop_cache(paged);
    return 0;
}

static hs_status file_write(struct hs_paged *paged, uint64_t at, const uint8_t *bytes,
                            size_t n_bytes, struct hs_error *err)
{
    int failed = file_put(paged, at, bytes, n_bytes);
    return failed == 0 ? HS_OK : file_write_failed(paged, failed, err);
}

/* ---- storing */

/* Pages that go to the file in one piece. */
struct file_run {
    uint64_t at; /* in the file */
    const uint8_t *bytes;
    size_t n_bytes;
};

static hs_status run_add(struct hs_paged *paged, struct file_run *run, uint64_t at,
                         const uint8_t *page, struct hs_error *err)
{
    if (run->n_bytes != 0 && (run->at + run->n_bytes != at || run->bytes + run->n_bytes != page)) {
        HS_TRY(file_write(paged, run->at, run->bytes, run->n_bytes, err));
        run->n_bytes = 0;
    }
    if (run->n_bytes == 0)
        *run = (struct file_run){at, page, 0};
    run->n_bytes += PAGE;
    return HS_OK;
}

static bool page_is_zero(const uint8_t *page)
{
    uint64_t first = hs_load_u64(page);
    return first == 0 && memcmp(page, page + sizeof first, PAGE - sizeof first) == 0;
}

static hs_status window_slot(struct hs_paged *paged, struct hs_paged_area *area, uint64_t window,
                             uint64_t *ret, struct hs_error *err)
{
    if (area->slots[window] == 0) {
        if (paged->n_slots == UINT32_MAX)
            return hs_fail(err, HS_LIMIT, "the copy of the process is too large");
        area->slots[window] = ++paged->n_slots;
    }
    *ret = (uint64_t)(area->slots[window] - 1) * area->window_bytes;
    return HS_OK;
}

hs_status hs_paged_write(struct hs_paged *paged, struct hs_paged_area *area, uint64_t begin,
                         const uint8_t *bytes, size_t n_bytes, struct hs_error *err)
{
    struct file_run run = {0};

    for (size_t done = 0; done < n_bytes; done += PAGE) {
        uint64_t window = (begin + done) / area->window_bytes;
        uint64_t in_window = (begin + done) % area->window_bytes, slot = 0;
        uint64_t bit = (uint64_t)1 << (in_window / PAGE);
        if (page_is_zero(bytes + done)) {
            area->stored[window] &= ~bit;
            continue;
        }
        HS_TRY(window_slot(paged, area, window, &slot, err));
        HS_TRY(run_add(paged, &run, slot + in_window, bytes + done, err));
        area->stored[window] |= bit; /* a failure to write it fails the whole copy */
    }
    return file_write(paged, run.at, run.bytes, run.n_bytes, err);
}

hs_status hs_paged_note(struct hs_paged *paged, struct hs_paged_area *area, uint64_t begin,
                        const uint8_t *bytes, size_t n_bytes, struct hs_error *err)
{
    uint64_t window = begin / area->window_bytes;
    uint64_t first = begin % area->window_bytes / PAGE, slot;

    for (size_t page = 0; page < n_bytes / PAGE; page++) {
        uint64_t bit = (uint64_t)1 << (first + page);
        bool is_zero = page_is_zero(bytes + page * PAGE);
        if (!is_zero)
            HS_TRY(window_slot(paged, area, window, &slot, err));
        area->stored[window] = is_zero ? area->stored[window] & ~bit : area->stored[window] | bit;
    }
    return HS_OK;
}

static void file_failed(struct hs_paged *paged, int number)
{
    if (paged->failed_errno == 0)
        paged->failed_errno = number;
}

/* The first bit from `page` on that has the value; 64 when there is none. */
static unsigned window_next(uint64_t stored, unsigned page, bool value)
{
    uint64_t left = page < MAX_PAGES ? (value ? stored : ~stored) >> page : 0;
    return left == 0 ? MAX_PAGES : page + (unsigned)__builtin_ctzll(left);
}

void hs_paged_write_back(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t window)
{
    const uint8_t *bytes = area->bytes + window * area->window_bytes;
    uint64_t stored = area->stored[window];
    uint64_t slot = (uint64_t)(area->slots[window] - 1) * area->window_bytes;
    unsigned page = window_next(stored, 0, true);

    while (page < MAX_PAGES) {
        unsigned stop = window_next(stored, page, false);
        int failed = file_put(paged, slot + page * PAGE, bytes + page * PAGE, (stop - page) * PAGE);
        if (failed != 0)
            file_failed(paged, failed);
        page = window_next(stored, stop, true);
    }
}

/* ---- reading back */

static void file_read(struct hs_paged *paged, uint64_t at, uint8_t *bytes, size_t n_bytes)
{
    uint64_t from = at;
    size_t n_all = n_bytes;

    while (n_bytes != 0) {
        ssize_t n = pread(paged->file.fd, bytes, n_bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            file_failed(paged, n < 0 ? errno : EIO);
            memset(bytes, 0, n_bytes);
            return;
        }
        at += (uint64_t)n;
        bytes += n;
        n_bytes -= (size_t)n;
        paged->read_bytes += (uint64_t)n;
    }
    if (!paged->is_direct)
        (void)posix_fadvise(paged->file.fd, (off_t)from, (off_t)n_all, POSIX_FADV_DONTNEED);
}

/* Counts windows from `first` on, at most n, that stand behind each other in the file. */
static size_t windows_in_a_row(const struct hs_paged_area *area, uint64_t first, size_t n)
{
    size_t count = 0;

    while (count < n && area->stored[first + count] != 0 &&
           area->slots[first + count] == area->slots[first] + count)
        count++;
    return count;
}

/* Reads n windows that stand behind each other, all of which have something in the file. What their
 * slots have of pages that were not stored is old. */
static void windows_read(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t window,
                         size_t n)
{
    uint64_t slot = (uint64_t)(area->slots[window] - 1) * area->window_bytes;
    uint8_t *bytes = area->bytes + window * area->window_bytes;
    size_t n_pages = area->window_bytes / PAGE;
    size_t first = (size_t)__builtin_ctzll(area->stored[window]);
    size_t last = MAX_PAGES - 1 - (size_t)__builtin_clzll(area->stored[window + n - 1]);

    last += (n - 1) * n_pages;
    file_read(paged, slot + first * PAGE, bytes + first * PAGE, (last - first + 1) * PAGE);
    for (size_t page = first; page <= last; page++)
        if ((area->stored[window + page / n_pages] >> (page % n_pages) & 1) == 0)
            memset(bytes + page * PAGE, 0, PAGE);
}

void hs_paged_read(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t first,
                   size_t n)
{
    for (size_t done = 0, step; done < n; done += step) {
        step = windows_in_a_row(area, first + done, n - done);
        if (step != 0)
            windows_read(paged, area, first + done, step);
        else
            step = 1; /* zeros */
    }
}

hs_status hs_paged_check(const struct hs_paged *paged, struct hs_error *err)
{
    if (paged == NULL || paged->failed_errno == 0)
        return HS_OK;
    errno = paged->failed_errno;
    return hs_fail_errno(err, HS_IO, "cannot keep the copy of the process in '%s'",
                         hs_spill_directory(paged->budget));
}
