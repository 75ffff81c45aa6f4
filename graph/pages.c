#include "graph/pages.h"

#include <sys/mman.h>

/* Below this, rounding up to huge pages would cost more memory than it saves time. */
#define DENSE_MIN_BYTES ((size_t)8 << 20)

hs_status hs_dense_pages(size_t n, size_t size, void **ret, struct hs_error *err)
{
    HS_TRY(hs_pages_alloc(n, size, ret, err));
    if (n * size >= DENSE_MIN_BYTES)
        (void)madvise(*ret, n * size, MADV_HUGEPAGE); /* a wish: refused is as good */
    return HS_OK;
}
