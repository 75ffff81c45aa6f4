/* Blocks that still have what their memory held before, where no type tells.
 *
 * malloc clears nothing. Its own words in what it gives out say how far a block was written since
 * (malloc.c), and so do texts:
 *
 *   link      free blocks are kept in lists (tcache_entry and PROTECT_PTR, from 2.32 on): what was
 *             in one begins with the address of the next exclusive-or its own address / 4096, and
 *             with 0 behind that. Where this still stands there, whole or but for a text of at most
 *             two characters or one number of 32 bits over its first bytes, the block is room of
 *             which little or nothing is used, such as a line editor's line or its int[256]
 *   bin       others are kept in rings, by the addresses of both neighbours; that of a ring's head,
 *             in an arena, is nothing that a program has
 *   headers   smaller blocks that were freed and joined leave their headers: size and flags, from
 *             each to the next. Where these tile the rest of the block, nobody has written that
 *             since: what is asked for a text of ten bytes or for a table of which a part is in use
 *   pool      libstdc++ sets a block aside for exceptions that are thrown when there is no memory
 *             (libsupc++/eh_alloc.cc): while none was, all of it is one free part, which begins
 *             with its size and says that no other follows
 *   count     the dynamic linker's tables of what is mapped where have their block's own address, a
 *             count and a room; what is behind the count is not written
 *   text      whoever asks for a text asks for little more: where texts with their ends are three
 *             quarters of a block of any allocator's, the rest is what it rounds to
 *
 * The words of such a block, or of such a rest, are those of earlier owners: they are doubtful. */
#ifndef HS_NATIVE_UNWRITTEN_H
#define HS_NATIVE_UNWRITTEN_H

#include "heaps/heap_map.h"

/* Returns the offset from which the words of a block were left there by earlier owners; UINT64_MAX:
 * nothing says that any were. Linear in the words of blocks of 128 bytes to 1 MiB and of texts,
 * O(1) in those of others; the block's words must be at hand. */
uint64_t hs_unwritten_from(const struct hs_image *image, const struct hs_heap_block *block);
/* Returns the offset of the rest that such headers tile, or of the first of two that lead to the
 * same top of the heap; UINT64_MAX: there is none. */
uint64_t hs_unwritten_rest(const struct hs_heap_block *block);

#endif
