/* malloc and its kin. The quick functions have no frame: they jump to the allocator beneath, or to
 * the slow ones, which thus find the stack as the caller left it. */
#ifdef HS_RECORD_WRAP /* for programs without a loader: see record_next_static.c */
#define malloc __wrap_malloc
#define calloc __wrap_calloc
#define realloc __wrap_realloc
#define reallocarray __wrap_reallocarray
#define free __wrap_free
#define aligned_alloc __wrap_aligned_alloc
#define memalign __wrap_memalign
#define posix_memalign __wrap_posix_memalign
#define valloc __wrap_valloc
#define pvalloc __wrap_pvalloc
#endif
#include "record_interpose.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define EXPORT HS_RECORD_EXPORT
#define SLOW HS_RECORD_SLOW

static inline void sampled(void *block, size_t n_bytes, uint32_t n_samples,
                           const struct hs_record_frame *frame)
{
    if (n_samples != 0 && block != NULL)
        hs_record_allocated(block, n_bytes, n_samples, frame);
}

SLOW static void *slow_malloc(size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);
    void *block = hs_record_next.malloc(n_bytes);

    sampled(block, n_bytes, n_samples, hs_record_caller());
    return block;
}

EXPORT void *malloc(size_t n_bytes)
{
    return hs_record_passes(n_bytes) ? slow_malloc(n_bytes) : hs_record_next.malloc(n_bytes);
}

/* Returns the product; 0 when it overflows: the allocator beneath refuses such a request. */
static inline size_t product(size_t n, size_t each_bytes)
{
    size_t n_bytes;

    return __builtin_mul_overflow(n, each_bytes, &n_bytes) ? 0 : n_bytes;
}

SLOW static void *slow_calloc(size_t n, size_t each_bytes)
{
    uint32_t n_samples = hs_record_decide(product(n, each_bytes));
    void *block = hs_record_next.calloc(n, each_bytes);

    sampled(block, product(n, each_bytes), n_samples, hs_record_caller());
    return block;
}

EXPORT void *calloc(size_t n, size_t each_bytes)
{
    return hs_record_passes(product(n, each_bytes)) ? slow_calloc(n, each_bytes)
                                                    : hs_record_next.calloc(n, each_bytes);
}

SLOW static void slow_free(void *block)
{
    int error = errno;

    if (hs_record_is_early(block))
        return;
    hs_record_freed(block);
    hs_record_next.free(block);
    errno = error;
}

EXPORT void free(void *block)
{
    if (__builtin_expect(hs_record_maybe(block), 0))
        slow_free(block);
    else
        hs_record_next.free(block);
}

/* A block that moves or changes its size is a new one, also where it stays in place. */
static inline bool is_plain_realloc(void *block, size_t n_bytes)
{
    return !hs_record_maybe(block) && !hs_record_passes(n_bytes);
}

static void *early_realloc(void *block, size_t n_bytes)
{
    size_t n_old = ((size_t *)block)[-1];
    uint8_t *moved = hs_record_next.malloc(n_bytes);

    for (size_t i = 0; moved != NULL && i < n_bytes && i < n_old; i++)
        moved[i] = ((uint8_t *)block)[i];
    return moved;
}

/* The old block leaves the table before another thread may be given its address. Part of the slow
 * functions: if they jumped here, the frame that the backtrace begins with would be gone. */
static inline __attribute__((always_inline)) void *traced_realloc(
    void *block, size_t n_bytes, const struct hs_record_frame *frame)
{
    struct hs_record_slot old;
    uint32_t n_samples = 0;
    bool was_sample = block != NULL && hs_record_maybe(block) && hs_record_take_out(block, &old);
    void *moved = hs_record_next.realloc(block, n_bytes);

    if (was_sample && moved == NULL && n_bytes != 0)
        hs_record_put_back(&old);
    else if (was_sample)
        hs_record_gone(&old);
    if (moved != NULL && hs_record_passes(n_bytes))
        n_samples = hs_record_decide(n_bytes);
    sampled(moved, n_bytes, n_samples, frame);
    return moved;
}

SLOW static void *slow_realloc(void *block, size_t n_bytes)
{
    if (block != NULL && hs_record_is_early(block))
        return early_realloc(block, n_bytes);
    return traced_realloc(block, n_bytes, hs_record_caller());
}

EXPORT void *realloc(void *block, size_t n_bytes)
{
    return is_plain_realloc(block, n_bytes) ? hs_record_next.realloc(block, n_bytes)
                                            : slow_realloc(block, n_bytes);
}

SLOW static void *slow_reallocarray(void *block, size_t n, size_t each_bytes)
{
    if (block != NULL && hs_record_is_early(block))
        return early_realloc(block, product(n, each_bytes));
    return traced_realloc(block, product(n, each_bytes), hs_record_caller());
}

EXPORT void *reallocarray(void *block, size_t n, size_t each_bytes)
{
    size_t n_bytes;

    if (__builtin_mul_overflow(n, each_bytes, &n_bytes) || is_plain_realloc(block, n_bytes))
        return hs_record_next.reallocarray(block, n, each_bytes);
    return slow_reallocarray(block, n, each_bytes);
}

SLOW static void *slow_aligned_alloc(size_t alignment, size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);
    void *block = hs_record_next.aligned_alloc(alignment, n_bytes);

    sampled(block, n_bytes, n_samples, hs_record_caller());
    return block;
}

EXPORT void *aligned_alloc(size_t alignment, size_t n_bytes)
{
    return hs_record_passes(n_bytes) ? slow_aligned_alloc(alignment, n_bytes)
                                     : hs_record_next.aligned_alloc(alignment, n_bytes);
}

SLOW static void *slow_memalign(size_t alignment, size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);
    void *block = hs_record_next.memalign(alignment, n_bytes);

    sampled(block, n_bytes, n_samples, hs_record_caller());
    return block;
}

EXPORT void *memalign(size_t alignment, size_t n_bytes)
{
    return hs_record_passes(n_bytes) ? slow_memalign(alignment, n_bytes)
                                     : hs_record_next.memalign(alignment, n_bytes);
}

SLOW static int slow_posix_memalign(void **ret, size_t alignment, size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);
    int error = hs_record_next.posix_memalign(ret, alignment, n_bytes);

    if (error == 0)
        sampled(*ret, n_bytes, n_samples, hs_record_caller());
    return error;
}

EXPORT int posix_memalign(void **ret, size_t alignment, size_t n_bytes)
{
    return hs_record_passes(n_bytes) ? slow_posix_memalign(ret, alignment, n_bytes)
                                     : hs_record_next.posix_memalign(ret, alignment, n_bytes);
}

SLOW static void *slow_valloc(size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);
    void *block = hs_record_next.valloc(n_bytes);

    sampled(block, n_bytes, n_samples, hs_record_caller());
    return block;
}

EXPORT void *valloc(size_t n_bytes)
{
    return hs_record_passes(n_bytes) ? slow_valloc(n_bytes) : hs_record_next.valloc(n_bytes);
}

SLOW static void *slow_pvalloc(size_t n_bytes)
{
    uint32_t n_samples = hs_record_decide(n_bytes);
    void *block = hs_record_next.pvalloc(n_bytes);

    sampled(block, n_bytes, n_samples, hs_record_caller());
    return block;
}

EXPORT void *pvalloc(size_t n_bytes)
{
    return hs_record_passes(n_bytes) ? slow_pvalloc(n_bytes) : hs_record_next.pvalloc(n_bytes);
}

#ifndef HS_RECORD_WRAP
/* Addresses of its code may mean something else afterwards. */
EXPORT int dlclose(void *library)
{
    int result = hs_record_next.dlclose(library);

    hs_record_unloaded();
    return result;
}
#endif
