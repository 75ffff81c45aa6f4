/* The alternatives of a Rust enumeration (DWARF 5, 5.7.10), while its entry is walked over: which
 * of them is there is told by a number, its tag; or by a number that the fields of one alternative
 * never have, its niche: that one is the default, and has no number of its own. */
#ifndef HS_TYPES_VARIANTS_H
#define HS_TYPES_VARIANTS_H

#include "pool.h"

struct ctypes_variants {
    uint64_t at;     /* of the number */
    uint64_t value;  /* of the alternative that we are in */
    unsigned depth;  /* of the variant part; 0: we are in none */
    uint8_t n_bytes; /* of the number; 0: there is none */
    bool has_value;
    uint32_t default_member; /* number from 1 in the pool */
    uint32_t first_when;     /* those of the values, one each, then of the default */
};

/* Begins a variant part whose number is so large and stands there; of no bytes: there is none. */
void hs_ctypes_variants_begin_(const struct hs_ctypes *types, unsigned depth, uint64_t at,
                               uint64_t n_bytes, struct ctypes_variants *ret);
/* Enters an alternative. */
void hs_ctypes_variants_enter_(struct debug_info *info, const struct debug_entry *variant,
                               struct ctypes_variants *variants);
/* Ends an alternative: the last member of the pool is that of it. */
void hs_ctypes_variants_added_(struct hs_ctypes *types, struct ctypes_variants *variants);
/* Ends the part after the last alternative. */
void hs_ctypes_variants_end_(struct hs_ctypes *types, struct ctypes_variants *variants);

#endif
