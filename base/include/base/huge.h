/* Huge pages under memory that is about to be filled, and then looked at in no order: each of 2 MiB
 * takes one entry where those of 4 KiB take 512, which a processor must look up again and again. */
#ifndef HS_BASE_HUGE_H
#define HS_BASE_HUGE_H

#include <stddef.h>

/* Requests them for what lies whole in [memory, memory + n_bytes), a part of what hs_pages_alloc
 * gave, from the beginning of a page on. A wish alone: where the system has none, nothing changes.
 * Not for what may stay empty in part: a huge page is resident whole. */
void hs_pages_prefer_huge(void *memory, size_t n_bytes);

#endif
