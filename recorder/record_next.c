/* Finds the functions of the allocator beneath: the next ones in the order of the modules. While
 * the loader looks for them it may allocate itself; that comes from a small buffer here. */
#include "record_interpose.h"

#include <dlfcn.h>
#include <errno.h>

#define EARLY_BYTES (64U << 10)

static uint8_t early[EARLY_BYTES] __attribute__((aligned(64)));
static size_t n_early;
static __thread uint32_t is_finding __attribute__((tls_model("initial-exec")));

bool hs_record_is_early(const void *block)
{
    return (uintptr_t)block - (uintptr_t)early < sizeof early;
}

/* The size stands before the block, for realloc. Never given back. */
static void *early_block(size_t alignment, size_t n_bytes)
{
    size_t room = (n_bytes + 15) / 16 * 16 + 16, at;

    if (n_bytes > EARLY_BYTES || alignment > 16 ||
        (at = __atomic_fetch_add(&n_early, room, __ATOMIC_RELAXED)) > EARLY_BYTES - room) {
        errno = ENOMEM;
        return NULL;
    }
    *(size_t *)(void *)(early + at + 8) = n_bytes;
    hs_record_filter_mark(early + at + 16);
    return early + at + 16;
}

/* Finds a function: dlsym gives data pointers for functions. */
static void find(const char *name, void *ret)
{
    void *found = dlsym(RTLD_NEXT, name);

    if (found != NULL)
        __atomic_store_n((void **)ret, found, __ATOMIC_RELEASE);
}

static bool find_all(void)
{
    struct hs_record_next *next = &hs_record_next;

    if (is_finding != 0)
        return false;
    is_finding = 1;
    find("free", &next->free);
    find("calloc", &next->calloc);
    find("realloc", &next->realloc);
    find("reallocarray", &next->reallocarray);
    find("aligned_alloc", &next->aligned_alloc);
    find("memalign", &next->memalign);
    find("posix_memalign", &next->posix_memalign);
    find("valloc", &next->valloc);
    find("pvalloc", &next->pvalloc);
    find("dlclose", &next->dlclose);
    find("malloc", &next->malloc);
    is_finding = 0;
    return true;
}

static void *first_malloc(size_t n_bytes)
{
    if (!find_all() || hs_record_next.malloc == first_malloc)
        return early_block(16, n_bytes);
    return hs_record_next.malloc(n_bytes);
}

static void *first_calloc(size_t n, size_t each_bytes)
{
    size_t n_bytes;

    if (find_all() && hs_record_next.calloc != first_calloc)
        return hs_record_next.calloc(n, each_bytes);
    return __builtin_mul_overflow(n, each_bytes, &n_bytes) ? NULL : early_block(16, n_bytes);
}

static void *first_realloc(void *block, size_t n_bytes)
{
    if (!find_all() || hs_record_next.realloc == first_realloc)
        return block == NULL ? early_block(16, n_bytes) : NULL;
    return hs_record_next.realloc(block, n_bytes);
}

static void *first_reallocarray(void *block, size_t n, size_t each_bytes)
{
    size_t n_bytes;

    if (find_all() && hs_record_next.reallocarray != first_reallocarray)
        return hs_record_next.reallocarray(block, n, each_bytes);
    if (__builtin_mul_overflow(n, each_bytes, &n_bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return hs_record_next.realloc(block, n_bytes);
}

static void first_free(void *block)
{
    if (find_all() && hs_record_next.free != first_free)
        hs_record_next.free(block);
}

static void *first_aligned_alloc(size_t alignment, size_t n_bytes)
{
    if (!find_all() || hs_record_next.aligned_alloc == first_aligned_alloc)
        return early_block(alignment, n_bytes);
    return hs_record_next.aligned_alloc(alignment, n_bytes);
}

static void *first_memalign(size_t alignment, size_t n_bytes)
{
    if (!find_all() || hs_record_next.memalign == first_memalign)
        return early_block(alignment, n_bytes);
    return hs_record_next.memalign(alignment, n_bytes);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t n_bytes)
{
    if (find_all() && hs_record_next.posix_memalign != first_posix_memalign)
        return hs_record_next.posix_memalign(ret, alignment, n_bytes);
    *ret = early_block(alignment, n_bytes);
    return *ret == NULL ? ENOMEM : 0;
}

static void *first_valloc(size_t n_bytes)
{
    if (find_all() && hs_record_next.valloc != first_valloc)
        return hs_record_next.valloc(n_bytes);
    errno = ENOMEM;
    return NULL;
}

static void *first_pvalloc(size_t n_bytes)
{
    if (find_all() && hs_record_next.pvalloc != first_pvalloc)
        return hs_record_next.pvalloc(n_bytes);
    errno = ENOMEM;
    return NULL;
}

static int first_dlclose(void *library)
{
    return find_all() && hs_record_next.dlclose != first_dlclose ? hs_record_next.dlclose(library)
                                                                 : -1;
}

struct hs_record_next hs_record_next = {
    .malloc = first_malloc,
    .calloc = first_calloc,
    .realloc = first_realloc,
    .reallocarray = first_reallocarray,
    .free = first_free,
    .aligned_alloc = first_aligned_alloc,
    .memalign = first_memalign,
    .posix_memalign = first_posix_memalign,
    .valloc = first_valloc,
    .pvalloc = first_pvalloc,
    .dlclose = first_dlclose,
};
