/* The carving of blocks out of what another allocator, or the system, has given (private to
 * snapshot/heaps). */
#ifndef HS_HEAPS_CARVE_H
#define HS_HEAPS_CARVE_H

#include "heaps/allocator.h"

struct hs_extent {
    hs_addr begin, end;
};

/* Is it all of one mapping, as what malloc or mmap gives is? */
bool hs_carve_is_one_piece(const struct hs_process_copy *process, hs_addr begin, hs_addr end);
/* Has none of them memory of another one? Sorts them. O(n log n). */
bool hs_carve_are_disjoint(struct hs_extent *extents, size_t n);
/* A text of less than n bytes that one of the program's binaries brought along and nobody can have
 * written to: what a program made up itself may be anybody's data, and is not stored. */
bool hs_carve_constant_text(const struct hs_process_copy *process, hs_addr at, char *text,
                            size_t n);
/* Is the span in the map as it was added? Another allocator may have had what it lies in. */
bool hs_carve_is_placed(const struct hs_heap_map *map, const struct hs_heap_span *expected);
/* Memory of another allocator becomes `owner`'s: what begins there is no block of the other's any
 * longer. Nothing to do for memory that nobody else has. */
hs_status hs_carve_take_over(struct hs_heap_map *map, struct hs_ledger *ledger,
                             const struct hs_strtab *strings, unsigned owner, hs_addr begin,
                             hs_addr end, struct hs_error *err);

#endif
