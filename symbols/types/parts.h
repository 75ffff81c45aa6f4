/* The parts of a record or a union whose words are laid out flat: its members; or, of records of
 * libraries in which a word says what of them is there, those with their conditions: the
 * alternatives of a std::variant and of nlohmann's JSON, the elements of a node of Rust's B-trees.
 */
#ifndef HS_TYPES_PARTS_H
#define HS_TYPES_PARTS_H

#include "pool.h"

enum { PARTS_MAX = 64 }; /* of one that has its own */

struct ctypes_parts {
    struct ctypes_member own[PARTS_MAX];
    uint32_t first, n; /* of the pool, unless they are its own */
    bool has_own, is_union;
    bool may_lack; /* there are alternatives without a pointer besides */
};

struct ctypes_parts hs_ctypes_parts_(struct hs_ctypes *types, hs_ctype type);

static inline struct ctypes_member hs_ctypes_part_(const struct hs_ctypes *types,
                                                   const struct ctypes_parts *parts, uint32_t i)
{
    return parts->has_own ? parts->own[i] : types->members[parts->first + i];
}

#endif
