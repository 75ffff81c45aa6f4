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

/* The marking of an allocator's spans as they were added; those in which another one has cut its
 * own pool are told block by block. */
struct hs_carve_marking {
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    unsigned owner;
    uint64_t n_missing; /* blocks that no span was found for */
};
/* One block of a span that is not there as it was added lives; where another allocator's pool fills
 * it, its blocks do. */
hs_status hs_carve_mark_one(struct hs_carve_marking *marking, hs_addr begin, uint64_t n_bytes,
                            struct hs_error *err);
/* The blocks of a span that are set in `live` live. */
hs_status hs_carve_mark(struct hs_carve_marking *marking, const struct hs_heap_span *expected,
                        const uint64_t *live, struct hs_error *err);

#endif
