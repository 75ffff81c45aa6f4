/* Blocks whose first word nobody wrote since the memory was another's, where no type tells.
 *
 * glibc keeps free blocks in lists (malloc.c, tcache_entry and PROTECT_PTR, from 2.32 on): what
 * malloc gives out begins with the address of the next one exclusive-or its own address / 4096, and
 * with 0 behind that. Where this still stands there, whole or but for a text of at most two
 * characters over its first bytes, the block is room of which little or nothing is used, such as a
 * line editor's line, and its words are those of its last owner: they are doubtful. */
#ifndef HS_NATIVE_UNWRITTEN_H
#define HS_NATIVE_UNWRITTEN_H

#include "heaps/heap_map.h"

/* Tells whether a block is one of these. O(1); the block's words must be at hand. */
bool hs_unwritten_is(const struct hs_heap_block *block);

#endif
