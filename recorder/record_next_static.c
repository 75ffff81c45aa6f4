/* The allocator beneath a program without a loader: glibc's own, under the names that it keeps for
 * this. The linker's --wrap leads the program's calls to us. */
#include "record_interpose.h"

#include <errno.h>

void *__libc_malloc(size_t n_bytes);
void *__libc_calloc(size_t n, size_t each_bytes);
void *__libc_realloc(void *block, size_t n_bytes);
void __libc_free(void *block);
void *__libc_memalign(size_t alignment, size_t n_bytes);
void *__libc_valloc(size_t n_bytes);
void *__libc_pvalloc(size_t n_bytes);

bool hs_record_is_early(const void *block)
{
    (void)block;
    return false;
}

static void *next_reallocarray(void *block, size_t n, size_t each_bytes)
{
    size_t n_bytes;

    if (!__builtin_mul_overflow(n, each_bytes, &n_bytes))
        return __libc_realloc(block, n_bytes);
    errno = ENOMEM;
    return NULL;
}

static int next_posix_memalign(void **ret, size_t alignment, size_t n_bytes)
{
    int error = errno;
    void *block;

    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    block = __libc_memalign(alignment, n_bytes);
    errno = error;
    if (block == NULL)
        return ENOMEM;
    *ret = block;
    return 0;
}

struct hs_record_next hs_record_next = {
    .malloc = __libc_malloc,
    .calloc = __libc_calloc,
    .realloc = __libc_realloc,
    .reallocarray = next_reallocarray,
    .free = __libc_free,
    .aligned_alloc = __libc_memalign,
    .memalign = __libc_memalign,
    .posix_memalign = next_posix_memalign,
    .valloc = __libc_valloc,
    .pvalloc = __libc_pvalloc,
};
