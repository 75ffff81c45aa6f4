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
#define PAGES_PER_WINDOW 64
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
    *ret = (uint64_t)(area->slots[window] - 1) * HS_PAGED_WINDOW_BYTES;
    return HS_OK;
}

hs_status hs_paged_write(struct hs_paged *paged, struct hs_paged_area *area, uint64_t begin,
                         const uint8_t *bytes, size_t n_bytes, struct hs_error *err)
{
    struct file_run run = {0};

    for (size_t done = 0; done < n_bytes; done += PAGE) {
        uint64_t window = (begin + done) / HS_PAGED_WINDOW_BYTES;
        uint64_t in_window = (begin + done) % HS_PAGED_WINDOW_BYTES, slot = 0;
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
    uint64_t window = begin / HS_PAGED_WINDOW_BYTES;
    uint64_t first = begin % HS_PAGED_WINDOW_BYTES / PAGE, slot;

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
    uint64_t left = page < PAGES_PER_WINDOW ? (value ? stored : ~stored) >> page : 0;
    return left == 0 ? PAGES_PER_WINDOW : page + (unsigned)__builtin_ctzll(left);
}

void hs_paged_write_back(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t window)
{
    const uint8_t *bytes = area->bytes + window * HS_PAGED_WINDOW_BYTES;
    uint64_t stored = area->stored[window];
    uint64_t slot = (uint64_t)(area->slots[window] - 1) * HS_PAGED_WINDOW_BYTES;
    unsigned page = window_next(stored, 0, true);

    while (page < PAGES_PER_WINDOW) {
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

/* Reads one window of which not all pages were stored: what the slot has of others is old. */
static void window_read_part(struct hs_paged *paged, uint64_t slot, uint64_t stored, uint8_t *bytes)
{
    unsigned first = (unsigned)__builtin_ctzll(stored);
    unsigned last = PAGES_PER_WINDOW - 1 - (unsigned)__builtin_clzll(stored);

    file_read(paged, slot + first * PAGE, bytes + first * PAGE, (last - first + 1) * PAGE);
    for (unsigned page = first; page <= last; page++)
        if ((stored >> page & 1) == 0)
            memset(bytes + page * PAGE, 0, PAGE);
}

void hs_paged_read(struct hs_paged *paged, const struct hs_paged_area *area, uint64_t first,
                   size_t n)
{
    for (uint64_t window = first; window < first + n;) {
        uint8_t *bytes = area->bytes + window * HS_PAGED_WINDOW_BYTES;
        uint64_t slot = (uint64_t)(area->slots[window] - 1) * HS_PAGED_WINDOW_BYTES;
        uint64_t n_whole = 0;
        while (window + n_whole < first + n && area->stored[window + n_whole] == UINT64_MAX &&
               area->slots[window + n_whole] == area->slots[window] + n_whole)
            n_whole++;
        if (n_whole != 0)
            file_read(paged, slot, bytes, n_whole * HS_PAGED_WINDOW_BYTES);
        else if (area->stored[window] != 0)
            window_read_part(paged, slot, area->stored[window], bytes);
        window += n_whole != 0 ? n_whole : 1;
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
