/* A compact array of sizes, 8 bytes each: most are small and on the heap. The others have an entry
 * in a table beside.
 *
 *   packed:  0 | words 38 bits | objects 25 bits
 *            1 | index into `wide`
 *
 * Reserved in the budget before it is allocated, where there is one. */
#ifndef HS_DOMINATOR_UNIT_SIZES_H
#define HS_DOMINATOR_UNIT_SIZES_H

#include "base/budget.h"
#include "dominator/weights.h"

#define HS_UNIT_WIDE ((uint64_t)1 << 63)
#define HS_UNIT_OBJECTS_BITS 25
#define HS_UNIT_MAX_OBJECTS (((uint64_t)1 << HS_UNIT_OBJECTS_BITS) - 1)
#define HS_UNIT_MAX_WORDS (((uint64_t)1 << (63 - HS_UNIT_OBJECTS_BITS)) - 1)

struct hs_unit_sizes {
    uint64_t n;
    uint64_t *packed;      /* owned pages */
    struct hs_sizes *wide; /* owned */
    size_t n_wide, wide_capacity;
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

/* Returns the largest number of sizes that need wide entries, given all words and objects on the
 * heap. */
static inline uint64_t hs_unit_sizes_wide(uint64_t n_words, uint64_t n_objects)
{
    return n_words / HS_UNIT_MAX_WORDS + n_objects / HS_UNIT_MAX_OBJECTS;
}

/* Returns the most bytes that n sizes take of which n_wide are wide. */
uint64_t hs_unit_sizes_bytes(uint64_t n, uint64_t n_wide);

/* Allocates n sizes, all zero. */
hs_status hs_unit_sizes_init(uint64_t n, struct hs_budget *budget, struct hs_unit_sizes *ret,
                             struct hs_error *err);
void hs_unit_sizes_fini(struct hs_unit_sizes *sizes);

/* Adds to one of them; fails where there is no room for a wide one. */
hs_status hs_unit_sizes_add(struct hs_unit_sizes *sizes, uint64_t at, const struct hs_sizes *more,
                            struct hs_error *err);

/* Adds one of them to a sum. */
static inline void hs_unit_sizes_sum(const struct hs_unit_sizes *sizes, uint64_t at,
                                     struct hs_sizes *sum)
{
    uint64_t packed = sizes->packed[at];
    if (packed & HS_UNIT_WIDE) {
        hs_sizes_add(sum, &sizes->wide[packed & ~HS_UNIT_WIDE]);
        return;
    }
    sum->words += packed >> HS_UNIT_OBJECTS_BITS;
    sum->objects += packed & HS_UNIT_MAX_OBJECTS;
}

#endif
