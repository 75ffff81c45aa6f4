/* Allocation with overflow checks, a count and injected failures. */
#include "base/alloc.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic uint64_t alloc_calls, alloc_live;
/* Number of the call that fails (0: none), and whether all later ones do, too. */
static _Atomic uint64_t alloc_fails_at;
static _Atomic bool alloc_fails_on;

void hs_alloc_fail_at(uint64_t nth, bool sticky)
{
    uint64_t at = nth == 0 ? 0 : atomic_load(&alloc_calls) + nth;
    atomic_store(&alloc_fails_on, sticky);
    atomic_store(&alloc_fails_at, at);
}

uint64_t hs_alloc_count(void)
{
    return atomic_load(&alloc_calls);
}

uint64_t hs_alloc_live(void)
{
    return atomic_load(&alloc_live);
}

/* Counts one call; false when it is the one that was told to fail. */
static bool alloc_permitted(void)
{
    uint64_t call = atomic_fetch_add(&alloc_calls, 1) + 1;
    uint64_t at = atomic_load(&alloc_fails_at);
    if (at == 0 || call < at)
        return true;
    return call > at && !atomic_load(&alloc_fails_on);
}

/* Computes n * size; false when that is too large: an object may not be larger than pointers into
 * it can be subtracted. */
static bool alloc_size(size_t n, size_t size, size_t *ret)
{
    return !__builtin_mul_overflow(n, size, ret) && *ret <= PTRDIFF_MAX;
}

static hs_status alloc_too_large(size_t n, size_t size, struct hs_error *err)
{
    return hs_fail(err, HS_LIMIT, "cannot allocate %zu times %zu bytes: too large", n, size);
}

static hs_status alloc_exhausted(size_t n_bytes, struct hs_error *err)
{
    return hs_fail(err, HS_LIMIT, "cannot allocate %zu bytes: out of memory", n_bytes);
}

hs_status hs_alloc(size_t n, size_t size, void **ret, struct hs_error *err)
{
    size_t n_bytes;
    if (!alloc_size(n, size, &n_bytes))
        return alloc_too_large(n, size, err);
    void *memory = alloc_permitted() ? calloc(1, n_bytes == 0 ? 1 : n_bytes) : NULL;
    if (memory == NULL)
        return alloc_exhausted(n_bytes, err);
    atomic_fetch_add(&alloc_live, 1);
    *ret = memory;
    return HS_OK;
}

/* Returns at least the double, from 16 elements up, so that n appends cost O(n). */
static size_t alloc_next_capacity(size_t capacity, size_t needed)
{
    size_t doubled;
    if (__builtin_mul_overflow(capacity, 2, &doubled))
        doubled = needed;
    if (doubled < 16)
        doubled = 16;
    return doubled < needed ? needed : doubled;
}

hs_status hs_grow(void **array, size_t *capacity, size_t needed, size_t size, struct hs_error *err)
{
    size_t n_bytes;

    assert(size != 0);
    if (needed <= *capacity)
        return HS_OK;
    size_t target = alloc_next_capacity(*capacity, needed);
    if (!alloc_size(target, size, &n_bytes)) {
        target = needed; /* doubling goes too far: try what is asked for */
        if (!alloc_size(target, size, &n_bytes))
            return alloc_too_large(needed, size, err);
    }
    void *memory = alloc_permitted() ? realloc(*array, n_bytes) : NULL;
    if (memory == NULL)
        return alloc_exhausted(n_bytes, err);
    atomic_fetch_add(&alloc_live, *array == NULL);
    memset((char *)memory + *capacity * size, 0, (target - *capacity) * size);
    *array = memory;
    *capacity = target;
    return HS_OK;
}

hs_status hs_strdup(const char *text, char **ret, struct hs_error *err)
{
    size_t n_bytes = strlen(text) + 1;
    void *copy = NULL;
    HS_TRY(hs_alloc(n_bytes, 1, &copy, err));
    memcpy(copy, text, n_bytes);
    *ret = copy;
    return HS_OK;
}

void hs_free(void *memory)
{
    atomic_fetch_sub(&alloc_live, memory != NULL);
    free(memory);
}

hs_status hs_pages_alloc(size_t n, size_t size, void **ret, struct hs_error *err)
{
    size_t n_bytes;
    if (!alloc_size(n, size, &n_bytes))
        return alloc_too_large(n, size, err);
    if (!alloc_permitted())
        return alloc_exhausted(n_bytes, err);
    /* Not reserved: an upper bound may be generous, only pages that are touched cost memory. */
    void *pages = mmap(NULL, n_bytes == 0 ? 1 : n_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return hs_fail_errno(err, HS_LIMIT, "cannot map %zu bytes of memory", n_bytes);
    atomic_fetch_add(&alloc_live, 1);
    *ret = pages;
    return HS_OK;
}

void hs_pages_discard(void *memory, size_t n_bytes)
{
    enum { PAGE_BYTES = 4096 };
    size_t n_whole = n_bytes / PAGE_BYTES * PAGE_BYTES;
    if (n_whole != 0 && madvise(memory, n_whole, MADV_DONTNEED) != 0)
        memset(memory, 0, n_whole);
    memset((uint8_t *)memory + n_whole, 0, n_bytes - n_whole);
}

void hs_pages_free(void *memory, size_t n, size_t size)
{
    if (memory == NULL)
        return;
    int saved = errno;
    size_t n_bytes = n * size; /* fitted when it was allocated */
    int failed = munmap(memory, n_bytes == 0 ? 1 : n_bytes);
    assert(failed == 0 && "hs_pages_free takes what hs_pages_alloc gave");
    (void)failed;
    atomic_fetch_sub(&alloc_live, 1);
    errno = saved;
}

void hs_auto_free_(void *pointer_to_pointer)
{
    void *memory;
    memcpy(&memory, pointer_to_pointer, sizeof memory);
    hs_free(memory);
}
