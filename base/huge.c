#include "base/huge.h"

#include <stdint.h>
#include <sys/mman.h>

#define HUGE_BYTES ((uintptr_t)2 << 20)

void hs_pages_prefer_huge(void *memory, size_t n_bytes)
{
    uintptr_t begin = (uintptr_t)memory, end = begin + n_bytes;
    uintptr_t first = (begin + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;

    if (end / HUGE_BYTES * HUGE_BYTES > first)
        (void)madvise(memory, n_bytes, MADV_HUGEPAGE); /* advice only */
}
