/* The classification of a block and its words, as far as types, containers and interpreters say it:
 * on this the rules of verdict.h judge. */
#ifndef HS_NATIVE_SAID_H
#define HS_NATIVE_SAID_H

#include "scan.h"
#include "swiss.h"

struct hs_said {
    bool is_bare;               /* nothing is known but the block, and where it is in use: all else
                                   is as for any other such block */
    const struct hs_scan *scan; /* borrowed, as all here */
    const struct hs_native *native;
    const struct hs_flow *flow;
    const struct hs_heap_block *block; /* whose words they are */
    const struct hs_native_type *type; /* NULL: nothing is said */
    uint64_t end;                      /* where what it covers ends: [0, end) */
    uint64_t sure_end;                 /* and where what more than its size speaks for does */
    uint64_t left_from;                /* and the words from here on are earlier owners' */
    const struct hs_slack *slack;
    struct hs_object_words words;      /* as an interpreter or an allocator says */
    struct hs_native_use use;          /* what lies outside is the reserve of a vector */
    struct hs_native_listed listed;    /* and elements that are not named are in none */
    struct hs_swiss_table table;       /* whose buckets they are; all 0: of none */
    const struct hs_native_type *tail; /* of elements behind a record; NULL: there are none */
    struct hs_native_use tail_use;
    uint32_t rules;       /* that can hold for a word of it; bits of enum hs_rule_place */
    uint16_t other_words; /* bits: by these an object leads to others without owning them */
    uint8_t find_by;      /* number of the rule by which no word of it keeps anything; 0: none */
    bool are_pairs;       /* of a number and code: see pairs.h */
    bool has_rest;        /* what lies behind is the allocator's rounding, or text: no pointers */
    bool is_object;       /* an interpreter's */
    bool is_record;       /* of another runtime: hs_dump_records */
    bool is_unknown;      /* names own blocks, and nobody says what this one is */
};

/* Tells whether an allocator may have made a block of this size for `n` bytes. */
bool hs_said_is_tight(const struct hs_heap_block *block, uint64_t n);
/* Returns the pointer that the type has at this offset of an element, or NULL. O(log slots). */
const struct hs_cslot *hs_said_slot(const struct hs_native_type *type, uint64_t offset);

/* Returns the offset from which earlier owners left the words of a block (unwritten.h): of one
 * without a type, or of an array that nobody counts; UINT64_MAX: nothing says so. */
uint64_t hs_said_left_from(const struct hs_scan *scan, const struct hs_native_type *type,
                           const struct hs_heap_block *block);
/* Looks up the same of a block of which no type, object or owner tells; false where something else
 * does. */
bool hs_said_is_bare(const struct hs_scan *scan, const struct hs_heap_block *block,
                     struct hs_said *ret);
/* Looks up what types and containers say of a block; *ret is zeroed, or has what interpreters say
 * (hs_scan_said). */
void hs_said_of(const struct hs_scan *scan, const struct hs_native_type *type,
                const struct hs_heap_block *block, struct hs_said *ret);
/* Tells whether the type has a pointer at `at` that is not known to be the only owner of what it
 * leads to (borrowed.h). */
bool hs_said_is_plain(const struct hs_said *said, uint64_t at);
/* Tells whether the aligned word at `at` is the end of the block before the one that it leads to
 * (ends.h). *ret_before is that one. */
bool hs_said_is_end(const struct hs_said *said, uint64_t at, enum hs_pointer how,
                    const struct hs_heap_block *target, struct hs_heap_block *ret_before);

#endif
