/* links: hs_base */
#include "fake_malloc.h"

const struct fake_malloc_block *fake_malloc_blocks;
size_t fake_malloc_n_blocks;
