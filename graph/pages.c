#include "graph/pages.h"

#include <assert.h>
#include <sys/mman.h>

/* Below this, rounding up to huge pages would cost more memory than it saves time. */
#define DENSE_MIN_BYTES ((size_t)8 << 20)

void hs_dense_advise(void *memory, size_t n_bytes)
{
    enum { PAGE_BYTES = 4096 };
    assert((uintptr_t)memory % PAGE_BYTES == 0);
    if (n_bytes >= DENSE_MIN_BYTES)
        (void)madvise(memory, n_bytes, MADV_HUGEPAGE); /* advice only */
}

hs_status hs_dense_pages(size_t n, size_t size, void **ret, struct hs_error *err)
{
    HS_TRY(hs_pages_alloc(n, size, ret, err));
    hs_dense_advise(*ret, n * size);
    return HS_OK;
}
