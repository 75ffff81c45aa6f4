/* What malloc knows of a made process: its blocks. Programs that read such a process include
 * fake_malloc_allocator.h. */
#ifndef HS_TESTS_FAKE_MALLOC_H
#define HS_TESTS_FAKE_MALLOC_H

#include "base/types.h"

enum { FAKE_MALLOC_SPARE = 8 }; /* a block of malloc's has a little more than was asked for */

struct fake_malloc_block {
    hs_addr begin, end;
    uint32_t context; /* who asked for it, by the number of his that the fake gives him */
};

/* Of the process that is read. Borrowed; none: nobody knows any blocks. */
extern const struct fake_malloc_block *fake_malloc_blocks;
extern size_t fake_malloc_n_blocks;

#endif
