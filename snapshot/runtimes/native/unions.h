/* Pointers in unions of C and C++ of which debug information does not say when they are there.
 *
 * A struct { int tag; union { long i; struct node *p; } u; } whose tag says "number" keeps in p
 * what was there before. What the tag means only the program knows; but all values of the type
 * together tell: by which number beside the union (symbols/types/untold.c lists them) do words
 * differ that are addresses of blocks from such as are none? A word is sure when the value of that
 * number goes with addresses (ONE_IN of them may be others, in LEAST or more), and when no other
 * number that tells nearly as well says otherwise. All else is doubtful: it keeps what nothing
 * surer leads to.
 *
 * Addresses that are left look like those that are there, where all they led to is still alive. So
 * what else is firm is marked first, and a value whose words lead to nothing new, while those of
 * another value do, has what was left by others; of the number 0 alone, "nothing", it is enough
 * that nothing new is there.
 *
 * Nothing of these numbers leaves the dump. Resident: 8 KiB for each union that is met, 256 at
 * most; two bits a block while learning, of which one may stay. Cost: one more walk over the heap,
 * where there are such. */
#ifndef HS_NATIVE_UNIONS_H
#define HS_NATIVE_UNIONS_H

#include "base/bitmap.h"
#include "base/table.h"
#include "symbols/ctypes.h"

struct hs_native;
struct hs_native_variable;
struct hs_scan;

enum { HS_UNION_VALUES = 32 };

struct hs_union_value {
    uint64_t value;
    uint32_t n_good, n_bad, n_sole; /* words that are addresses, that are none, that alone lead to
                                       what they lead to */
    bool is_left;                   /* they were left by others */
};

struct hs_union_tag {
    struct hs_ctag at; /* of no bytes: one value for all */
    struct hs_union_value values[HS_UNION_VALUES];
    size_t n_values;
    bool is_eligible; /* it tells nearly as well as any */
};

struct hs_union {
    hs_ctype record; /* and where the slot is in it */
    uint64_t offset;
    struct hs_union_tag *tags; /* owned */
    size_t n_tags, chosen;     /* n_tags: none of them tells */
    uint64_t n_counted;
};

struct hs_unions {
    struct hs_union *unions; /* owned */
    size_t n, capacity;
    struct hs_table by_place;
    struct hs_union_variable {
        uint64_t begin;
        hs_ctype type;
    } * variables; /* owned: roots that have such slots */
    size_t n_variables, variables_capacity;
    struct hs_bitmap surer; /* by rank: what leads there is sure; no bits: it need not be known */
    bool is_known;          /* all that is to be learnt was; until then none is sure */
};

void hs_unions_fini(struct hs_unions *unions);

/* Notes a slot of a variable that is one of a union, while roots are collected; *ret is the number
 * of the union from 1, 0 where it is none that can be told. Fails with HS_LIMIT. */
hs_status hs_unions_note(struct hs_native *native, const struct hs_native_variable *variable,
                         const struct hs_cslot *slot, uint32_t *ret, struct hs_error *err);

/* Learns what all values tell, and lowers the roots that are not sure; once types have flowed,
 * before anything is marked. Fails with HS_LIMIT. */
hs_status hs_unions_learn(struct hs_scan *scan, struct hs_error *err);

/* Tells whether the word of such a slot owns the block of this rank, which it leads to. One of
 * which too little is known does where nothing surer leads there. O(tags). */
struct hs_value_bytes;
bool hs_unions_owns(const struct hs_native *native, const struct hs_cslot *slot,
                    const struct hs_value_bytes *place, uint64_t target_rank);

#endif
