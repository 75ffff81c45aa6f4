/* The joins of source types: what two types that lead to one block both say.
 *
 * Types of one head (instances of one declaration) are ordered by what they say: `'a list`, of
 * whose elements nothing is known, is below `int list`, and two instances with different arguments
 * are below one that keeps the head and has forgotten the argument. The join of two is the smallest
 * type above both: one of the two, or a new one, made once. A block's type only ever rises, so a
 * flow of types ends. */
#ifndef HS_SOURCE_TYPES_JOINS_H
#define HS_SOURCE_TYPES_JOINS_H

#include "tables.h"

struct hs_sjoin_pair {
    hs_stype a, b;
};

struct hs_sjoins {
    struct hs_stables *tables; /* borrowed; new types are added */
    size_t most_types;
    struct hs_dict below, joined;       /* by pair */
    struct hs_sjoin_pair *asked, *made; /* owned */
    size_t n_asked, asked_capacity, n_made, made_capacity;
    uint64_t n_steps; /* in all: a hostile answer must not cost its square */
};

void hs_sjoins_fini(struct hs_sjoins *joins);

/* Finds the join of two types; HS_STYPE_NONE when they have nothing in common, or there is no room
 * for more types. Fails with HS_LIMIT when out of memory. A dict probe for a pair that was asked
 * before. */
hs_status hs_sjoin(struct hs_sjoins *joins, hs_stype a, hs_stype b, hs_stype *ret,
                   struct hs_error *err);

#endif
