/* The few pages of a large mapping, on kernels that do not list them: the page map of reserved
 * terabytes is not read to its end, for smaps tells how many pages there are to be found.
 *
 *   both ends -> where a shadow of the other mappings would lie -> inward from both ends
 *
 * until all are found, or a budget of windows is used up: then the page map is read as it stands.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/progress.h"
#include "copy/smaps.h"
#include "page_search.h"
#include "target/procfs.h"
#include "target_private.h"

#define SEARCH_PAGE ((hs_addr)4096)
#define SEARCH_WINDOW_BYTES ((hs_addr)64 << 20)
/* 32 GiB of addresses: 50 ms. */
#define SEARCH_WINDOWS_MAX ((size_t)512)
#define SEARCH_RUNS ((size_t)256)
/* Less is read as fast as it is searched. */
#define SEARCH_BYTES_MIN ((hs_addr)4 << 30)
#define SEARCH_SPARSE 16
/* AddressSanitizer's on x86-64: eight bytes of the program are one of its shadow. */
#define SEARCH_SHADOW(address) (((address) >> 3) + 0x7fff8000)

struct search {
    const struct hs_memory *memory;
    struct hs_page_search *found;
    uint64_t *seen; /* owned: a bit per window */
    size_t n_windows, n_looked;
    uint64_t left_bytes; /* still to be found */
};

/* Has the process reserved much more than it uses? */
static bool search_is_sparse(pid_t pid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t size, resident;

    if (hs_proc_read_of(pid, "statm", &text, &n, &ignored) != HS_OK)
        return false;
    const char *at = text, *end = text + n;
    return hs_proc_digits(&at, end, 10, &size) && at < end && *at++ == ' ' &&
           hs_proc_digits(&at, end, 10, &resident) && size / SEARCH_SPARSE > resident;
}

static hs_status search_add(struct search *search, const struct hs_page_run *run,
                            struct hs_error *err)
{
    struct hs_page_search *found = search->found;
    uint64_t n_bytes = run->end - run->begin;

    HS_TRY(HS_GROW(&found->runs, &found->capacity, found->n + 1, err));
    found->runs[found->n++] = *run;
    search->left_bytes -= n_bytes < search->left_bytes ? n_bytes : search->left_bytes;
    return HS_OK;
}

static hs_status search_window(struct search *search, size_t window, struct hs_error *err)
{
    struct hs_page_run runs[SEARCH_RUNS];
    hs_addr at = search->found->begin + window * SEARCH_WINDOW_BYTES, told;
    hs_addr end = at + SEARCH_WINDOW_BYTES;

    if (search->seen[window / 64] >> (window % 64) & 1)
        return HS_OK;
    search->seen[window / 64] |= (uint64_t)1 << (window % 64);
    search->n_looked++;
    if (search->found->until_ns != 0 && hs_now_ns() > search->found->until_ns)
        return hs_fail(err, HS_LIMIT, "its pages were not found in the time that is allowed");
    for (end = end < search->found->end ? end : search->found->end; at < end; at = told) {
        size_t n = hs_page_map_runs(search->memory, at, end, runs, SEARCH_RUNS, &told);
        for (size_t i = 0; i < n; i++)
            HS_TRY(search_add(search, &runs[i], err));
        if (told <= at)
            return hs_fail(err, HS_TARGET, "its page map cannot be read");
    }
    return HS_OK;
}

static bool search_is_over(const struct search *search)
{
    return search->left_bytes == 0 || search->n_looked >= SEARCH_WINDOWS_MAX;
}

static hs_status search_shadow(struct search *search, const char *smaps, size_t n_bytes,
                               struct hs_error *err)
{
    struct hs_smaps_walk walk = {smaps, smaps + n_bytes};
    struct hs_smaps_entry entry;
    const struct hs_page_search *found = search->found;

    while (!search_is_over(search) && hs_smaps_next(&walk, &entry)) {
        hs_addr begin = SEARCH_SHADOW(entry.begin), end = SEARCH_SHADOW(entry.end - 1) + 1;
        if (entry.end - entry.begin > SEARCH_WINDOW_BYTES * 64 || begin < found->begin ||
            end > found->end)
            continue;
        size_t last = (size_t)((end - 1 - found->begin) / SEARCH_WINDOW_BYTES);
        for (size_t i = (size_t)((begin - found->begin) / SEARCH_WINDOW_BYTES); i <= last; i++)
            HS_TRY(search_window(search, i, err));
    }
    return HS_OK;
}

static hs_status search_all(struct search *search, const char *smaps, size_t n_bytes,
                            struct hs_error *err)
{
    HS_TRY(search_window(search, 0, err));
    HS_TRY(search_window(search, search->n_windows - 1, err));
    HS_TRY(search_shadow(search, smaps, n_bytes, err));
    for (size_t i = 1; i < search->n_windows && !search_is_over(search); i++) {
        HS_TRY(search_window(search, i, err));
        HS_TRY(search_window(search, search->n_windows - 1 - i, err));
    }
    return HS_OK;
}

static int search_compare(const void *a, const void *b)
{
    hs_addr x = ((const struct hs_page_run *)a)->begin, y = ((const struct hs_page_run *)b)->begin;
    return (x > y) - (x < y);
}

/* Finds the mapping at `address` in the text of smaps; false when its pages cannot be searched for.
 * Only of private memory without a file do smaps and the page map count the same. */
static bool search_finds(const char *smaps, size_t n_bytes, hs_addr address,
                         struct hs_smaps_entry *ret)
{
    struct hs_smaps_walk walk = {smaps, smaps + n_bytes};

    while (hs_smaps_next(&walk, ret))
        if (ret->begin <= address && address < ret->end)
            return !ret->shared && !ret->has_file && !ret->is_hugetlb && !ret->is_device &&
                   !ret->has_own_faults && ret->end - ret->begin >= SEARCH_BYTES_MIN;
    return false;
}

/* *found knows its mapping; is_whole when all of it was found. */
static hs_status search_mapping(struct search *search, const char *smaps, size_t n_bytes,
                                struct hs_error *err)
{
    struct hs_page_search *found = search->found;

    search->n_windows = (size_t)((found->end - found->begin - 1) / SEARCH_WINDOW_BYTES) + 1;
    HS_TRY(HS_ALLOC(&search->seen, search->n_windows / 64 + 1, err));
    hs_status status = search->left_bytes != 0 ? search_all(search, smaps, n_bytes, err) : HS_OK;
    hs_free(search->seen);
    HS_TRY(status);
    if (found->n > 1)
        qsort(found->runs, found->n, sizeof *found->runs, search_compare);
    found->is_whole = search->left_bytes == 0;
    return HS_OK;
}

static hs_status search_anew(const struct hs_memory *memory, hs_addr begin, struct hs_error *err)
{
    struct hs_page_search *found = memory->search;
    struct search search = {.memory = memory, .found = found};
    struct hs_smaps_entry entry;
    hs_auto_free char *smaps = NULL;
    size_t n;

    hs_page_search_forget(found);
    HS_TRY(hs_proc_read_until(memory->pid, "smaps", found->until_ns, &smaps, &n, err));
    if (!search_finds(smaps, n, begin, &entry))
        return HS_OK;
    found->begin = entry.begin;
    found->end = entry.end;
    search.left_bytes = entry.anonymous_bytes + entry.swap_bytes;
    return search_mapping(&search, smaps, n, err);
}

void hs_page_search_forget(struct hs_page_search *search)
{
    if (search == NULL)
        return;
    search->begin = search->end = 0;
    search->n = 0;
    search->is_whole = false;
}

void hs_page_search_free(struct hs_page_search *search)
{
    if (search == NULL)
        return;
    hs_free(search->runs);
    hs_free(search);
}

struct hs_page_search *hs_page_search_new(void)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_page_search *new = NULL;

    return HS_ALLOC(&new, 1, &ignored) == HS_OK ? new : NULL;
}

bool hs_page_search_runs(const struct hs_memory *memory, hs_addr begin, hs_addr end,
                         struct hs_page_run *runs, size_t n, size_t *ret_n, hs_addr *ret_told)
{
    struct hs_page_search *found = memory->search;
    struct hs_error ignored = HS_ERROR_INIT;
    size_t n_runs = 0;

    if (found == NULL || memory->zero_page == 0)
        return false;
    bool is_known = begin >= found->begin && begin < found->end;
    if (!is_known && (end - begin < SEARCH_BYTES_MIN || !search_is_sparse(memory->pid) ||
                      search_anew(memory, begin, &ignored) != HS_OK))
        return false;
    if (!found->is_whole || begin < found->begin || begin >= found->end)
        return false;
    *ret_told = end < found->end ? end : found->end;
    size_t first = HS_FIRST_ABOVE(found->runs, found->n, end, begin);
    for (size_t i = first; i < found->n && found->runs[i].begin < *ret_told; i++) {
        hs_addr from = found->runs[i].begin > begin ? found->runs[i].begin : begin;
        hs_addr to = found->runs[i].end < *ret_told ? found->runs[i].end : *ret_told;
        if (!hs_page_runs_add(runs, n, &n_runs, from, to, found->runs[i].kind)) {
            *ret_told = from;
            break;
        }
    }
    *ret_n = n_runs;
    return true;
}
