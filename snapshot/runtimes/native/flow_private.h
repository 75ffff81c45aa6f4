/* The state that the parts of flow.c share: flow_within.c, flow_judge.c, flow_look.c, flow_wait.c,
 * flow_settle.c, flow_vote.c, flow_smaller.c, flow_sizes.c, flow_stale.c. */
#ifndef HS_NATIVE_FLOW_PRIVATE_H
#define HS_NATIVE_FLOW_PRIVATE_H

#include "enclosing.h"
#include "fits.h"
#include "flow.h"
#include "queue.h"

/* The mark of a scalar that a pointer leads to, which may as well be one behind the end of another
 * block. No type has such a number. */
#define HS_FLOW_MAY_BE_END ((hs_ctype)1 << 31)

/* The strength of the evidence for the type of a block, before anything else is compared. */
enum hs_flow_strength {
    HS_FLOW_NOTHING,
    HS_FLOW_MAY_BE_OF_OTHER, /* numbers, by a pointer that may belong to something else */
    HS_FLOW_SCALAR,          /* text and numbers: a char * may lead to anything */
    HS_FLOW_BEGINNING,       /* a record that is less than the block, or an array that nobody says
                                it is: the beginning of something larger has both */
    HS_FLOW_WHOLE            /* it fills the block, or its owner says how much of it */
};

struct flow {
    struct hs_native *native; /* borrowed */
    struct hs_flow *result;   /* borrowed */
    struct hs_block_queue queue;
    struct hs_rtti rtti;
    struct hs_fit fit;
    uint64_t n_far_looks;
    struct flow_tentative {
        hs_ctype pointee; /* what the block may be */
        hs_ntype had;     /* the type that it has */
        hs_ntype rest;    /* and what else it may be: another of these; 0: nothing */
    } * tentative;        /* owned: each once */
    size_t n_tentative, tentative_capacity;
    struct hs_table tentative_of;
    struct hs_enclosing enclosing;
    struct flow_part {
        uint64_t rank, offset;
        hs_ctype type;
    } * parts; /* owned: members of blocks whose type is not known, to go on from */
    size_t n_parts, parts_capacity;
    struct hs_bitmap led_on; /* by rank: in this pass */
    struct hs_bitmap late;   /* by rank: of strength BEGINNING, and nothing flowed from it yet */
    bool is_late;            /* types have flowed from such, too */
    struct flow_changed {
        uint64_t rank;
        hs_ntype had;
    } * changed; /* owned: blocks that got another type after types had flowed from them */
    size_t n_changed, changed_capacity;
    struct hs_dict settled;   /* by rank: the only type from which types may flow, of such */
    struct hs_dict contested; /* by rank: blocks that are said to be records of which none begins
                                 with the other; a number for each */
    struct hs_dict decided;   /* by rank: the record that such a block is */
    struct hs_dict smaller;   /* by rank: the heir that a block may be, which does not fill it; 0:
                                 that   is denied */
    bool is_denying;          /* nothing is given a type: what denies such is noted */
    struct hs_dict votes; /* while counting: by number of `contested` and type, FLOW_VOTE each */
    bool is_counting;     /* nothing is given a type */
    struct hs_bitmap suspected; /* by rank: blocks whose virtual table may be of what was there
                                   before; empty until there is one */
    struct hs_bitmap stale;     /* by rank: those of which it is */
    bool has_stale_room, lacks_stale_room; /* for these, once asked */
    bool is_confirming; /* nothing is given a type: what agrees with tables is noted */
    bool is_of_call;    /* what is said is said by a variable of a call */
    bool is_bare;       /* by one that is a plain pointer */
};

static inline bool hs_flow_may_have_type_(const struct hs_heap_block *block)
{
    return block->bytes != NULL && block->n_bytes >= sizeof(uint64_t) &&
           (block->span->states & HS_BLOCK_MAPPING) == 0;
}

/* Gives the block a type, and queues it when types flow on from there. Fails with HS_LIMIT, as all
 * here. */
hs_status hs_flow_give_(struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                        struct hs_error *err);
/* Notes what a pointer to the start of a block that is not at hand says, until its words are. *ret
 * is false when too many types wait for the block. */
hs_status hs_flow_wait_(struct flow *f, const struct hs_heap_block *block, hs_ctype pointee,
                        bool *ret, struct hs_error *err);
/* Gives a block whose words are at hand the best of the types that waited for them. */
hs_status hs_flow_waited_(struct flow *f, const struct hs_heap_block *block, struct hs_error *err);
/* Returns the type that a block has, whatever waits. */
hs_ntype hs_flow_had_(const struct flow *f, uint64_t rank);
/* ---- flow_look.c: gives a block whose words are at hand the type that a pointer to `pointee`
 * says, if these allow it and it has no stronger one. */
hs_status hs_flow_look_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                        hs_ctype pointee, struct hs_error *err);
/* Does the same, also of an array that has the number of its elements before them. */
hs_status hs_flow_look_within_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                               hs_ctype pointee, struct hs_error *err);
/* Returns the elements in use behind a record: its own numbers say it, or its owner. */
struct hs_native_use hs_flow_tail_use_(const struct flow *f, const struct hs_heap_block *block,
                                       hs_ntype record, uint64_t element_bytes);

/* ---- flow_judge.c */
bool hs_flow_is_weak_(const struct flow *f, hs_ntype type);
enum hs_flow_strength hs_flow_strength_(const struct flow *f, const struct hs_heap_block *block,
                                        hs_ntype type);
/* Tells whether types flow from such a block at once, also from pointers that may be less than all
 * of it: what buckets lead to, region by region, is else found along a chain that goes from region
 * to region. */
bool hs_flow_is_early_(const struct flow *f, const struct hs_heap_block *block, hs_ntype type);
/* Tells whether more speaks for `type` than for `had` (0: nothing). One of two different types
 * always wins. */
bool hs_flow_is_stronger_(const struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                          hs_ntype had);
/* Tells whether a type is one record of the debug information, no array. */
bool hs_flow_is_record_(const struct hs_native_type *type);
/* Tells whether two records exclude each other: neither begins with the other. */
bool hs_flow_are_others_(const struct flow *f, hs_ntype a, hs_ntype b);
/* Compares two types by strength and kind alone, which count before the number of pointers. Greater
 * than 0: more speaks for `type`. */
int hs_flow_compare_classes_(const struct flow *f, const struct hs_heap_block *block, hs_ntype type,
                             hs_ntype other);
/* Tells whether a block's own words say that it has the type `had`. Then no pointer changes it but
 * one to a `one` of greater strength. Fails with HS_LIMIT. */
hs_status hs_flow_says_itself_(struct flow *f, const struct hs_heap_block *block, hs_ntype had,
                               hs_ntype one, bool *ret, struct hs_error *err);
/* Finds the type that a pointer to `pointee` may give the block in the place of the one that it
 * has, before a look at its words; 0: none. */
hs_status hs_flow_judge_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                         hs_ctype pointee, hs_ntype *ret, struct hs_error *err);

/* ---- flow_heads.c: gives the blocks before the first known one of a list of all objects their
 * header's type. *ret, whether there were any. Where no type is a header O(1), else O(blocks). */
hs_status hs_flow_heads_(struct flow *f, bool *ret, struct hs_error *err);

/* ---- flow_objects.c: gives blocks that have a header's type that of the record that begins with
 * it, where their words tell. When nothing flows. *ret, whether there were any. Where no type is a
 * header O(1), else O(words). */
hs_status hs_flow_objects_(struct flow *f, bool *ret, struct hs_error *err);

/* ---- flow_alike.c: tells arrays of a type without pointers from records that begin with one such
 * value. Only pointers behind that value tell them apart, and these may be old: so all blocks of
 * one size that pointers to one such type lead to are taken for one or the other together. After
 * all types have flowed. */
hs_status hs_flow_alike_(struct flow *f, struct hs_error *err);

/* ---- flow_settle.c: withdraws what a block said of others while it had another type: types flow
 * once more, and from such a block only what its last type says. */

/* Notes that a block is given a `type` in the place of one from which types may have flowed. Fails
 * with HS_LIMIT. */
hs_status hs_flow_note_(struct flow *f, const struct hs_heap_block *block, hs_ntype had,
                        hs_ntype type, struct hs_error *err);
/* Tells whether types may flow from a block by this type. */
static inline bool hs_flow_may_flow_(const struct flow *f, uint64_t rank, hs_ntype type)
{
    return f->settled.n == 0 || hs_dict_get(&f->settled, rank, type) == type;
}
/* Tells whether types must flow once more: something said has an effect that nothing says any more.
 */
hs_status hs_flow_is_unsettled_(struct flow *f, bool *ret, struct hs_error *err);

/* ---- flow_vote.c: decides between two unrelated records that a block is said to be, because of a
 * wrong cast, a member of a union, a variable of a call that is not written yet. Where one is as
 * strong as the other, the number of pointers decides; variables of calls come after all others,
 * whatever they say. All that is said is counted after types have flowed, which they do once more
 * where another record won. */

/* Counts one pointer, while is_counting: for the type that the block has, if that begins with the
 * pointee or the pointer is to a member of it. */
hs_status hs_flow_count_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                         hs_ctype pointee, struct hs_error *err);
/* Decides by what was counted. *ret: types must flow once more. */
hs_status hs_flow_decide_(struct flow *f, bool *ret, struct hs_error *err);
/* Tells whether there is anything to be counted for. */
bool hs_flow_is_contested_(const struct flow *f);

/* ---- flow_smaller.c: finds blocks that are an heir of 16 bytes less than the one that fills them:
 * nearly all that the arrays which lead to them have is such, and the larger heirs are in arrays of
 * their own. After types have flowed. */

/* Fills f->smaller. Where no base has two such heirs O(groups), else O(words of arrays). Fails with
 * HS_LIMIT. */
hs_status hs_flow_find_smaller_(struct flow *f, struct hs_error *err);
/* Notes, while is_denying, a pointer to another record than the smaller heir. */
void hs_flow_deny_smaller_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee);
/* Gives those that nothing denies their type. Types flow on from them. Fails with HS_LIMIT. */
hs_status hs_flow_give_smaller_(struct flow *f, struct hs_error *err);

/* ---- flow_sizes.c: takes the smallest block of each class that its virtual table alone tells for
 * the size of its objects: all have one, whatever room they got. */
void hs_flow_learn_sizes_(const struct hs_native *native, struct hs_flow *flow);

/* ---- flow_stale.c: finds blocks whose first word is the virtual table of an object that is gone,
 * and variables of calls that lead to one.
 * An object of C++ that is freed leaves its table in memory, where the allocator leaves it, until
 * whoever has that memory next writes the word. A record that begins with a number has no table, so
 * the pointer to it or the table is of what is gone: the table, if no pointer agrees with it. */

/* Suspects the table of a block of type `had` when a pointer to a `one`, which has none, leads to
 * its start. Where the budget has no room for two bits a block, none is suspected. Fails with
 * HS_LIMIT. */
hs_status hs_flow_suspect_(struct flow *f, const struct hs_heap_block *block, hs_ntype one,
                           hs_ntype had, struct hs_error *err);
/* Tells whether the block's first word is a table of what was there before. */
static inline bool hs_flow_is_stale_(const struct flow *f, uint64_t rank)
{
    return f->stale.n_bits != 0 && hs_bitmap_get(&f->stale, rank);
}
/* Tells whether a pointer to a `pointee` at the start of a block, in a variable of a call, may be
 * left from the object whose table the block still has. */
bool hs_flow_is_left_(const struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                      hs_ctype pointee);
/* Tells whether a plain pointer of C or C++ in a variable of a call, which leads to the start of
 * the block, is not written yet, or is left from what the memory held before: more of the block's
 * words speak against the `pointee`, a record, than for it. What the heap or a global variable says
 * is not asked. O(words of the record). Fails with HS_LIMIT. */
hs_status hs_flow_denies_(struct flow *f, const struct hs_heap_block *block, hs_ctype pointee,
                          bool *ret, struct hs_error *err);
/* Takes a pointer into a block with a suspected table, while is_confirming. If the two may agree
 * the block is an object, and is queued: what it leads to may be, too. */
hs_status hs_flow_confirm_(struct flow *f, const struct hs_heap_block *block, hs_ctype pointee,
                           struct hs_error *err);
/* Makes the suspected tables stale with which no pointer agreed. *ret: there are some. */
hs_status hs_flow_take_stale_(struct flow *f, bool *ret, struct hs_error *err);

/* Goes on from the member at `offset` of a block without a type, once in each pass. */
hs_status hs_flow_lead_on_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee, struct hs_error *err);
/* Flows the types that every block says of itself. Sequential in memory. */
hs_status hs_flow_from_within_(struct flow *f, struct hs_error *err);

#endif
