/* The memory that a copy lacks: areas that the program keeps from its children (MADV_DONTFORK),
 * that are empty in them (MADV_WIPEONFORK) or may be taken from them (huge pages, when there are no
 * more). Read while all stood still, and laid over what is read from the copy. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/progress.h"
#include "copy_private.h"

#define SAVED_PAGE ((hs_addr)4096)
#define SAVED_RUNS ((size_t)256)
#define SAVED_REQUEST_BYTES ((size_t)1 << 20)
/* The least bytes to save for which threads are made. */
#define SAVED_WIDE_BYTES ((size_t)4 << 20)

hs_status hs_copy_saved_init(struct hs_copy_saved *saved, size_t n_bytes, size_t ready,
                             struct hs_error *err)
{
    void *store = NULL;

    if (n_bytes != 0)
        HS_TRY(hs_pages_alloc(n_bytes, 1, &store, err));
    for (size_t at = 0; at < ready && at < n_bytes; at += SAVED_PAGE)
        ((volatile uint8_t *)store)[at] = 0;
    *saved = (struct hs_copy_saved){.store = store, .store_capacity = n_bytes};
    return HS_OK;
}

void hs_copy_saved_fini(struct hs_copy_saved *saved)
{
    if (saved->store != NULL)
        hs_pages_free(saved->store, saved->store_capacity, 1);
    hs_free(saved->areas);
    hs_free(saved->runs);
    memset(saved, 0, sizeof *saved);
}

static hs_status saved_add_run(struct hs_copy_saved *saved, hs_addr begin, size_t n_bytes,
                               struct hs_error *err)
{
    HS_TRY(HS_GROW(&saved->runs, &saved->runs_capacity, saved->n_runs + 1, err));
    saved->runs[saved->n_runs++] =
        (struct hs_copy_run){begin, begin + n_bytes, saved->store + saved->store_bytes};
    saved->store_bytes += n_bytes;
    return HS_OK;
}

static hs_status saved_make_room(const struct hs_copy_saved *saved, size_t n_bytes,
                                 struct hs_error *err)
{
    if (n_bytes <= saved->store_capacity - saved->store_bytes)
        return HS_OK;
    return hs_fail(err, HS_LIMIT, "over %zu bytes would have to be saved", saved->store_capacity);
}

/* Makes room for [begin, end), in runs that are read later, with all others. HS_LIMIT. */
static hs_status saved_plan_run(struct hs_copy_saved *saved, hs_addr begin, hs_addr end,
                                struct hs_error *err)
{
    while (begin < end) {
        size_t n = end - begin < SAVED_REQUEST_BYTES ? end - begin : SAVED_REQUEST_BYTES;
        HS_TRY(saved_make_room(saved, n, err));
        HS_TRY(saved_add_run(saved, begin, n, err));
        begin += n;
    }
    return HS_OK;
}

/* The pages of [begin, end) that are there, or all when the system does not tell. */
static hs_status saved_plan_area(struct hs_copy_saved *saved, const struct hs_target *target,
                                 hs_addr begin, hs_addr end, struct hs_error *err)
{
    struct hs_page_run runs[SAVED_RUNS];
    hs_addr told;

    for (; begin < end; begin = told) {
        if (hs_bound_is_late(target))
            return hs_fail(err, HS_LIMIT, "what a copy lacks was not read in time");
        size_t n = hs_bound_page_runs(target, begin, end, runs, SAVED_RUNS, &told);
        if (told <= begin)
            return saved_plan_run(saved, begin, end, err);
        for (size_t i = 0; i < n; i++)
            HS_TRY(saved_plan_run(saved, runs[i].begin, runs[i].end, err));
    }
    return HS_OK;
}

hs_status hs_copy_save_area(struct hs_copy_saved *saved, const struct hs_target *target,
                            hs_addr begin, hs_addr end, struct hs_error *err)
{
    HS_TRY(HS_GROW(&saved->areas, &saved->areas_capacity, saved->n_areas + 1, err));
    HS_TRY(saved_plan_area(saved, target, begin, end, err));
    saved->areas[saved->n_areas++] = (struct hs_copy_area){begin, end};
    return HS_OK;
}

/* Pages that cannot be read stay zero: in the copy they are unreadable, too, or zero. */
static void saved_read_run(struct hs_memory *memory, const struct hs_copy_run *run)
{
    size_t n_bytes = run->end - run->begin;

    for (size_t done = 0; done < n_bytes;) {
        ssize_t got = hs_memory_read(memory, run->begin + done, run->bytes + done, n_bytes - done);
        done += got > 0 ? (size_t)got : SAVED_PAGE;
    }
}

/* The state that the saving threads share: each takes the next run. */
struct saving {
    const struct hs_copy_saved *saved;
    struct hs_memory memory;
    uint64_t deadline_ns; /* 0: none */
    _Atomic size_t next;
    _Atomic bool is_late;
};

static void *saving_thread(void *argument)
{
    struct saving *saving = argument;
    struct hs_memory memory = saving->memory;

    for (;;) {
        size_t at = atomic_fetch_add(&saving->next, 1);
        if (at >= saving->saved->n_runs || atomic_load(&saving->is_late))
            return NULL;
        saved_read_run(&memory, &saving->saved->runs[at]);
        if (saving->deadline_ns != 0 && hs_now_ns() > saving->deadline_ns)
            atomic_store(&saving->is_late, true);
    }
}

hs_status hs_copy_save_all(struct hs_copy_saved *saved, const struct hs_target *target,
                           struct hs_error *err)
{
    struct saving saving = {.saved = saved, .memory = target->live};
    pthread_t threads[HS_COPY_READERS_MAX];
    unsigned n = 0, n_more = target->options.n_threads;
    sigset_t all, before;

    if (target->options.max_pause_ns != 0)
        saving.deadline_ns = target->stopped_at_ns + target->options.max_pause_ns;
    if (saved->store_bytes < SAVED_WIDE_BYTES)
        n_more = 1;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    while (n + 1 < n_more && n < HS_COPY_READERS_MAX &&
           pthread_create(&threads[n], NULL, saving_thread, &saving) == 0)
        n++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)saving_thread(&saving);
    while (n > 0)
        (void)pthread_join(threads[--n], NULL);
    if (!atomic_load(&saving.is_late))
        return HS_OK;
    (void)hs_fail(err, HS_LIMIT,
                  "what a copy lacks was not read within the pause that is allowed; it runs again");
    return hs_hint(err, "allow more with --max-pause");
}

hs_status hs_copy_save_bytes(struct hs_copy_saved *saved, hs_addr begin, const void *bytes,
                             size_t n_bytes, struct hs_error *err)
{
    HS_TRY(saved_make_room(saved, n_bytes, err));
    memcpy(saved->store + saved->store_bytes, bytes, n_bytes);
    return saved_add_run(saved, begin, n_bytes, err);
}

static int saved_compare_runs(const void *a, const void *b)
{
    hs_addr x = ((const struct hs_copy_run *)a)->begin, y = ((const struct hs_copy_run *)b)->begin;
    return (x > y) - (x < y);
}

static int saved_compare_areas(const void *a, const void *b)
{
    hs_addr x = ((const struct hs_copy_area *)a)->begin;
    hs_addr y = ((const struct hs_copy_area *)b)->begin;
    return (x > y) - (x < y);
}

void hs_copy_saved_sort(struct hs_copy_saved *saved)
{
    if (saved->n_runs > 1)
        qsort(saved->runs, saved->n_runs, sizeof *saved->runs, saved_compare_runs);
    if (saved->n_areas > 1)
        qsort(saved->areas, saved->n_areas, sizeof *saved->areas, saved_compare_areas);
}

/* Bytes from `address` to the next border, at most n. */
static size_t saved_until(hs_addr address, size_t n, hs_addr border)
{
    return border > address && border - address < n ? border - address : n;
}

bool hs_copy_saved_read(const struct hs_copy_saved *saved, hs_addr address, void *bytes, size_t n,
                        size_t *ret_n)
{
    size_t run = HS_FIRST_ABOVE(saved->runs, saved->n_runs, end, address);
    size_t area = HS_FIRST_ABOVE(saved->areas, saved->n_areas, end, address);

    if (run < saved->n_runs && saved->runs[run].begin <= address) {
        n = saved_until(address, n, saved->runs[run].end);
        memcpy(bytes, saved->runs[run].bytes + (address - saved->runs[run].begin), n);
        *ret_n = n;
        return true;
    }
    if (run < saved->n_runs)
        n = saved_until(address, n, saved->runs[run].begin);
    bool is_saved = area < saved->n_areas && saved->areas[area].begin <= address;
    if (area < saved->n_areas)
        n = saved_until(address, n, is_saved ? saved->areas[area].end : saved->areas[area].begin);
    if (is_saved)
        memset(bytes, 0, n);
    *ret_n = n;
    return is_saved;
}

bool hs_copy_saved_page_runs(const struct hs_copy_saved *saved, hs_addr begin, hs_addr *end,
                             struct hs_page_run *runs, size_t n, size_t *ret_n, hs_addr *ret_told)
{
    size_t area = HS_FIRST_ABOVE(saved->areas, saved->n_areas, end, begin);
    size_t run = HS_FIRST_ABOVE(saved->runs, saved->n_runs, end, begin);

    if (area == saved->n_areas)
        return false;
    if (saved->areas[area].begin > begin) {
        if (saved->areas[area].begin < *end)
            *end = saved->areas[area].begin;
        return false;
    }
    hs_addr stop = saved->areas[area].end < *end ? saved->areas[area].end : *end;
    *ret_n = 0;
    *ret_told = stop;
    for (; run < saved->n_runs && saved->runs[run].begin < stop; run++) {
        hs_addr from = saved->runs[run].begin > begin ? saved->runs[run].begin : begin;
        hs_addr to = saved->runs[run].end < stop ? saved->runs[run].end : stop;
        if (!hs_page_runs_add(runs, n, ret_n, from, to, HS_PAGES_PRESENT)) {
            *ret_told = from;
            break;
        }
    }
    return true;
}
