/* Areas, the handler and the windows that are resident. What is on disk: paged_file.c. */
#include "base/paged.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "paged_file.h"

#define MAX_WINDOWS ((size_t)16384) /* each may be a mapping of its own: 65530 are allowed */
#define MAX_AREA_BYTES ((uint64_t)1 << 50)
#define MAX_AHEAD_BYTES ((size_t)4 << 20)

/* ---- the handler */

static struct hs_paged *paged_alive;
static struct sigaction paged_old_action;
static atomic_flag paged_is_busy = ATOMIC_FLAG_INIT; /* a fault is being mended */

static void paged_on_fault(int number, siginfo_t *info, void *context);

static hs_status paged_handle(struct hs_paged *paged, struct hs_error *err)
{
    /* On the alternate stack where there is one, for those behind us who tell of a stack that is
     * used up; and not again within itself: a fault of the handler's own ends us. */
    struct sigaction action = {.sa_sigaction = paged_on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigset_t fault;

    if (paged_alive == NULL) {
        sigemptyset(&action.sa_mask);
        if (sigaction(SIGSEGV, &action, &paged_old_action) != 0)
            return hs_fail_errno(err, HS_BUG, "cannot handle faults");
        sigemptyset(&fault); /* a blocked one would end us */
        sigaddset(&fault, SIGSEGV);
        (void)pthread_sigmask(SIG_UNBLOCK, &fault, NULL);
    }
    paged->next = paged_alive;
    paged_alive = paged;
    return HS_OK;
}

static void paged_unhandle(struct hs_paged *paged)
{
    struct hs_paged **at = &paged_alive;
    struct sigaction now;

    while (*at != NULL && *at != paged)
        at = &(*at)->next;
    if (*at == NULL)
        return; /* it was never in place */
    *at = paged->next;
    if (paged_alive == NULL && sigaction(SIGSEGV, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == paged_on_fault)
        (void)sigaction(SIGSEGV, &paged_old_action, NULL);
}

/* Performs the default action of a signal. A fault happens again when we return, a signal that
 * somebody sent does not. */
static void paged_pass_on_default(int number, bool is_sent)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};

    if (is_sent && paged_old_action.sa_handler == SIG_IGN)
        return;
    sigemptyset(&plain.sa_mask);
    (void)sigaction(number, &plain, NULL);
    if (is_sent)
        (void)raise(number); /* blocked until we return */
}

/* A fault that is none of ours, to whoever was there before, under the mask that was asked for;
 * the return from our handler takes that back. */
static void paged_pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *old = &paged_old_action;
    bool is_default = old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN;

    if ((old->sa_flags & SA_SIGINFO) == 0 && is_default) {
        paged_pass_on_default(number, info->si_code <= 0);
        return;
    }
    (void)pthread_sigmask(SIG_BLOCK, &old->sa_mask, NULL);
    if ((old->sa_flags & SA_SIGINFO) != 0)
        old->sa_sigaction(number, info, context);
    else
        old->sa_handler(number);
}

/* ---- windows */

static uint64_t area_windows(const struct hs_paged_area *area)
{
    return (area->n_bytes + area->window_bytes - 1) / area->window_bytes;
}

static bool window_bit(const uint64_t *bits, uint64_t window)
{
    return bits[window / 64] >> (window % 64) & 1;
}

static void window_set(uint64_t *bits, uint64_t window, bool value)
{
    uint64_t bit = (uint64_t)1 << (window % 64);
    bits[window / 64] = value ? bits[window / 64] | bit : bits[window / 64] & ~bit;
}

/* Returns the bytes of windows [window, window + n). */
static size_t window_bytes(const struct hs_paged_area *area, uint64_t window, uint64_t n)
{
    uint64_t begin = window * area->window_bytes, most = area->n_bytes - begin;
    return (size_t)(n * area->window_bytes < most ? n * area->window_bytes : most);
}

/* Drops windows [first, first + n), all of which are resident. */
static void windows_drop(struct hs_paged *paged, struct hs_paged_area *area, uint64_t first,
                         size_t n)
{
    uint8_t *at = area->bytes + first * area->window_bytes;
    size_t n_bytes = window_bytes(area, first, n);

    for (uint64_t window = first; window < first + n; window++) {
        if (window_bit(area->dirty, window)) {
            window_set(area->dirty, window, false);
            hs_paged_write_back(paged, area, window);
        }
        window_set(area->resident, window, false);
    }
    (void)madvise(at, n_bytes, MADV_DONTNEED);
    (void)mprotect(at, n_bytes, PROT_NONE);
}

/* Takes the oldest window that is resident from the ring, with those that came with it and stand
 * behind it, at most `most`, and drops them. One that was stored anew since is not there. */
static void paged_drop_oldest(struct hs_paged *paged, size_t most)
{
    struct hs_paged_entry first = paged->ring[paged->ring_begin];
    struct hs_paged_area *area = &paged->areas[first.area];
    size_t n_taken = 0, n = 0;

    while (n_taken < most && n == n_taken) {
        const struct hs_paged_entry *entry =
            &paged->ring[(paged->ring_begin + n_taken) % paged->ring_capacity];
        if (n_taken != 0 && (entry->area != first.area || entry->window != first.window + n))
            break;
        n_taken++;
        n += window_bit(area->resident, entry->window) ? 1 : 0;
    }
    paged->ring_begin = (paged->ring_begin + n_taken) % paged->ring_capacity;
    paged->ring_n -= n_taken;
    if (n != 0)
        windows_drop(paged, area, first.window, n);
}

static void paged_make_room(struct hs_paged *paged, size_t n)
{
    while (paged->ring_n != 0 && paged->ring_n + n > paged->most) {
        size_t n_over = paged->ring_n + n - paged->most;
        paged_drop_oldest(paged, n_over < paged->ring_n ? n_over : paged->ring_n);
    }
}

/* Windows [first, first + n) of an area, none of which is resident. */
static bool paged_bring(struct hs_paged *paged, size_t at, uint64_t first, size_t n)
{
    struct hs_paged_area *area = &paged->areas[at];

    paged_make_room(paged, n);
    if (mprotect(area->bytes + first * area->window_bytes, window_bytes(area, first, n),
                 PROT_READ | PROT_WRITE) != 0)
        return false;
    hs_paged_read(paged, area, first, n);
    for (uint64_t window = first; window < first + n; window++) {
        size_t place = (paged->ring_begin + paged->ring_n++) % paged->ring_capacity;
        window_set(area->resident, window, true);
        paged->ring[place] = (struct hs_paged_entry){window, (uint32_t)at};
    }
    return true;
}

/* Counts the windows from `first` on that can be brought at once, at most `most`. */
static size_t paged_room(const struct hs_paged *paged, const struct hs_paged_area *area,
                         uint64_t first, size_t most)
{
    uint64_t end = area_windows(area);
    size_t n = 0;

    if (most > paged->most / 4)
        most = paged->most / 4;
    while (n < most && first + n < end && !window_bit(area->resident, first + n))
        n++;
    return n;
}

/* Returns the stream that goes on with a window, with twice as much ahead; where none does, the one
 * that was not used for longest, begun anew. */
static struct hs_paged_stream *paged_stream(struct hs_paged *paged, size_t at, uint64_t window)
{
    struct hs_paged_stream *oldest = &paged->streams[0];
    size_t most = MAX_AHEAD_BYTES / paged->window_bytes;

    for (size_t i = 0; i < HS_PAGED_STREAMS; i++) {
        struct hs_paged_stream *stream = &paged->streams[i];
        if (stream->n_ahead != 0 && stream->next.area == at && stream->next.window == window) {
            stream->n_ahead = stream->n_ahead * 2 < most ? stream->n_ahead * 2 : most;
            return stream;
        }
        if (stream->used_at < oldest->used_at)
            oldest = stream;
    }
    oldest->n_ahead = 1;
    return oldest;
}

static bool paged_fault(struct hs_paged *paged, size_t at, uint64_t offset)
{
    const struct hs_paged_area *area = &paged->areas[at];
    uint64_t window = offset / area->window_bytes;

    if (window_bit(area->resident, window))
        return false; /* then it is no fault that we can mend */
    struct hs_paged_stream *stream = paged_stream(paged, at, window);
    size_t n = paged_room(paged, area, window, stream->n_ahead);
    stream->used_at = ++paged->n_faults;
    stream->next = (struct hs_paged_entry){window + n, (uint32_t)at};
    return paged_bring(paged, at, window, n);
}

/* The area that holds an address, or n_areas. */
static size_t paged_area_at(const struct hs_paged *paged, const uint8_t *address)
{
    size_t i = 0;

    while (i < paged->n_areas &&
           (uintptr_t)address - (uintptr_t)paged->areas[i].bytes >= paged->areas[i].n_bytes)
        i++;
    return i;
}

static bool paged_mend(const uint8_t *address)
{
    bool is_mended = false;

    for (struct hs_paged *p = paged_alive; p != NULL && !is_mended; p = p->next) {
        size_t at = paged_area_at(p, address);
        if (at < p->n_areas)
            is_mended = paged_fault(p, at, (uint64_t)(address - p->areas[at].bytes));
    }
    return is_mended;
}

/* Handles a fault by system calls alone, on a list that no call of ours leaves half changed. A
 * window that is not there is a page that may not be touched: an address from any other signal (one
 * that was sent has a process there) means nothing. A second thread that faults while a first one
 * is served breaks the contract, and gets what a stray access gets. */
static void paged_on_fault(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    bool is_mended = false;

    if (info->si_code == SEGV_ACCERR && !atomic_flag_test_and_set(&paged_is_busy)) {
        is_mended = paged_mend(info->si_addr);
        atomic_flag_clear(&paged_is_busy);
    }
    errno = saved;
    if (!is_mended)
        paged_pass_on(number, info, context);
}

uint64_t hs_paged_spare_bytes(const struct hs_paged *paged)
{
    size_t least = HS_PAGED_MIN_BYTES / paged->window_bytes;
    return paged->most > least ? (paged->most - least) * (uint64_t)paged->window_bytes : 0;
}

void hs_paged_shrink(struct hs_paged *paged, uint64_t n_bytes)
{
    uint64_t spare = hs_paged_spare_bytes(paged) / paged->window_bytes;
    uint64_t n = n_bytes / paged->window_bytes + (n_bytes % paged->window_bytes != 0);

    if (n > spare)
        n = spare;
    paged->most -= (size_t)n;
    paged_make_room(paged, 0);
    hs_budget_release(paged->budget, n * paged->window_bytes);
    paged->reserved_bytes -= n * paged->window_bytes;
}

void hs_paged_expect(struct hs_paged *paged, const uint8_t *at, uint64_t n_bytes)
{
    size_t i = paged_area_at(paged, at);
    size_t n_left = paged->most / 2;

    if (i == paged->n_areas || n_bytes == 0)
        return;
    const struct hs_paged_area *area = &paged->areas[i];
    uint64_t begin = (uint64_t)(at - area->bytes), n_most = area->n_bytes - begin;
    uint64_t last = (begin + (n_bytes < n_most ? n_bytes : n_most) - 1) / area->window_bytes;
    for (uint64_t window = begin / area->window_bytes; window <= last && n_left != 0;) {
        size_t most = last - window + 1 < n_left ? (size_t)(last - window + 1) : n_left;
        size_t n = paged_room(paged, area, window, most);
        if (n != 0 && !paged_bring(paged, i, window, n))
            return; /* they come when they are touched */
        window += n != 0 ? n : 1;
        n_left -= n != 0 ? n : 1;
    }
}

/* ---- objects */

static void paged_set_windows(struct hs_paged *paged, uint64_t resident_bytes)
{
    if (resident_bytes < HS_PAGED_MIN_BYTES)
        resident_bytes = HS_PAGED_MIN_BYTES;
    paged->window_bytes = HS_PAGED_MIN_WINDOW_BYTES;
    while (paged->window_bytes < HS_PAGED_MAX_WINDOW_BYTES &&
           resident_bytes / paged->window_bytes > MAX_WINDOWS)
        paged->window_bytes *= 2;
    uint64_t n = resident_bytes / paged->window_bytes;
    paged->ring_capacity = paged->most = n < MAX_WINDOWS ? (size_t)n : MAX_WINDOWS;
}

static hs_status paged_open(struct hs_paged *paged, struct hs_error *err)
{
    uint64_t n_bytes = paged->ring_capacity * paged->window_bytes;

    HS_TRY(hs_budget_reserve(paged->budget, n_bytes, "the window on the copy", err));
    paged->reserved_bytes = n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&paged->ring, paged->ring_capacity, err));
    HS_TRY(hs_paged_file_open(paged, err));
    return paged_handle(paged, err);
}

hs_status hs_paged_new(struct hs_budget *budget, uint64_t resident_bytes, struct hs_paged **ret,
                       struct hs_error *err)
{
    void *memory;

    HS_TRY(hs_alloc(1, sizeof(struct hs_paged), &memory, err));
    struct hs_paged *paged = memory;
    paged->budget = budget;
    paged_set_windows(paged, resident_bytes);
    hs_status status = paged_open(paged, err);
    if (status == HS_OK)
        *ret = paged;
    else
        hs_paged_free(paged);
    return status;
}

static void area_fini(const struct hs_paged_area *area)
{
    uint64_t n = area_windows(area);

    hs_pages_free(area->bytes, area->n_bytes, 1);
    hs_pages_free(area->stored, n, sizeof *area->stored);
    hs_pages_free(area->resident, n / 64 + 1, sizeof *area->resident);
    hs_pages_free(area->dirty, n / 64 + 1, sizeof *area->dirty);
    hs_pages_free(area->slots, n, sizeof *area->slots);
}

void hs_paged_free(struct hs_paged *paged)
{
    if (paged == NULL)
        return;
    paged_unhandle(paged);
    for (size_t i = 0; i < paged->n_areas; i++)
        area_fini(&paged->areas[i]);
    hs_free(paged->areas);
    hs_pages_free(paged->ring, paged->ring_capacity, sizeof *paged->ring);
    hs_spill_close(&paged->file);
    hs_budget_release(paged->budget, paged->reserved_bytes);
    hs_free(paged);
}

static hs_status area_init(struct hs_paged_area *area, struct hs_error *err)
{
    uint64_t n = area_windows(area);

    HS_TRY(HS_PAGES_ALLOC(&area->bytes, area->n_bytes, err));
    HS_TRY(HS_PAGES_ALLOC(&area->stored, n, err));
    HS_TRY(HS_PAGES_ALLOC(&area->resident, n / 64 + 1, err));
    HS_TRY(HS_PAGES_ALLOC(&area->dirty, n / 64 + 1, err));
    HS_TRY(HS_PAGES_ALLOC(&area->slots, n, err));
    if (mprotect(area->bytes, area->n_bytes, PROT_NONE) != 0)
        return hs_fail_errno(err, HS_LIMIT, "cannot reserve %llu bytes of addresses",
                             (unsigned long long)area->n_bytes);
    return HS_OK;
}

hs_status hs_paged_reserve(struct hs_paged *paged, uint64_t n_bytes, uint8_t **ret,
                           struct hs_error *err)
{
    struct hs_paged_area area = {.n_bytes = n_bytes, .window_bytes = paged->window_bytes};

    if (n_bytes == 0 || n_bytes >= MAX_AREA_BYTES)
        return hs_fail(err, HS_LIMIT, "cannot reserve %llu bytes of addresses",
                       (unsigned long long)n_bytes);
    HS_TRY(HS_GROW(&paged->areas, &paged->areas_capacity, paged->n_areas + 1, err));
    hs_status status = area_init(&area, err);
    if (status != HS_OK) {
        area_fini(&area);
        return status;
    }
    paged->areas[paged->n_areas++] = area;
    *ret = area.bytes;
    return HS_OK;
}

/* A piece of one window, which stays resident for more. */
static hs_status paged_keep(struct hs_paged *paged, size_t at, uint64_t begin, const uint8_t *bytes,
                            size_t n_bytes, struct hs_error *err)
{
    struct hs_paged_area *area = &paged->areas[at];
    uint64_t window = begin / area->window_bytes;

    if (!window_bit(area->resident, window) && !paged_bring(paged, at, window, 1))
        return hs_fail_errno(err, HS_LIMIT, "cannot map %zu bytes of memory", n_bytes);
    HS_TRY(hs_paged_note(paged, area, begin, bytes, n_bytes, err)); /* it is not in the file yet */
    memcpy(area->bytes + begin, bytes, n_bytes);
    window_set(area->dirty, window, true);
    return HS_OK;
}

hs_status hs_paged_store(struct hs_paged *paged, uint8_t *at, const uint8_t *bytes, size_t n_bytes,
                         struct hs_error *err)
{
    size_t i = paged_area_at(paged, at);

    assert(i < paged->n_areas && n_bytes % HS_PAGED_PAGE_BYTES == 0);
    struct hs_paged_area *area = &paged->areas[i];
    uint64_t begin = (uint64_t)(at - area->bytes);
    assert(begin % HS_PAGED_PAGE_BYTES == 0 && n_bytes <= area->n_bytes - begin);
    while (n_bytes != 0) {
        uint64_t window = begin / paged->window_bytes;
        size_t n = (size_t)((window + 1) * paged->window_bytes - begin);
        bool is_whole = n == paged->window_bytes && n_bytes >= n;
        if (is_whole) { /* as many as there are, straight to the file */
            n = n_bytes / paged->window_bytes * paged->window_bytes;
            for (size_t k = 0; k < n / paged->window_bytes; k++) {
                window_set(area->dirty, window + k, false);
                if (window_bit(area->resident, window + k))
                    windows_drop(paged, area, window + k, 1);
            }
            HS_TRY(hs_paged_write(paged, area, begin, bytes, n, err));
        } else {
            n = n < n_bytes ? n : n_bytes;
            HS_TRY(paged_keep(paged, i, begin, bytes, n, err));
        }
        begin += n;
        bytes += n;
        n_bytes -= n;
    }
    return HS_OK;
}

void hs_paged_clear(struct hs_paged *paged)
{
    for (size_t i = 0; i < paged->n_areas; i++) {
        const struct hs_paged_area *area = &paged->areas[i];
        uint64_t n = area_windows(area);
        hs_pages_discard(area->stored, n * sizeof *area->stored);
        hs_pages_discard(area->dirty, (n / 64 + 1) * sizeof *area->dirty);
    }
    paged_make_room(paged, paged->ring_capacity + 1);
}
