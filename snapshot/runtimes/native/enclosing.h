/* The search for the records that pointers to a member of theirs lead into (container_of).
 *
 * C's lists and trees are linked by a member of what they hold: such a pointer says `struct list`
 * and leads to offset 16 of a block of 56 bytes. The records that have a `struct list` there and
 * fill the block are few (hs_ctypes_enclosing). Blocks of one size that pointers to one member lead
 * into are a group, which is judged by their words: decision 035. A pointer to a base class of C++
 * leads into an object of an heir; where one alone has the size, it is that one, unless its words
 * deny it: decision 057. Until its group is judged a block has no type; the pointers in the member
 * itself lead on to others like it. */
#ifndef HS_NATIVE_ENCLOSING_H
#define HS_NATIVE_ENCLOSING_H

#include "agree.h"
#include "base/table.h"

enum { HS_ENCLOSING_GROUPS = 1 << 14, HS_ENCLOSING_VOTES = 128, HS_ENCLOSING_WAITING = 1 << 16 };

/* The most memory that groups take while types flow: a bit for each block, members to go on from,
 * votes. */
#define HS_ENCLOSING_BYTES(n_blocks) \
    ((n_blocks) / 7 +                \
     ((n_blocks) < HS_ENCLOSING_WAITING ? (n_blocks) : HS_ENCLOSING_WAITING) * UINT64_C(32))

enum hs_enclosing_state {
    HS_ENCLOSING_OPEN,     /* nothing speaks for a record yet, or against all of them */
    HS_ENCLOSING_ACCEPTED, /* all are the one record; of several each is what its words say */
    HS_ENCLOSING_REJECTED
};

struct hs_enclosing_group {
    hs_ctype first[HS_CTYPE_MAX_ENCLOSING];   /* what its blocks may be, by size and member alone */
    hs_ctype records[HS_CTYPE_MAX_ENCLOSING]; /* and those that their words have left */
    size_t n_first, n_records;
    uint32_t agreed; /* a bit for each of `records`: many blocks say it together */
    hs_ctype part;
    hs_ntype smaller; /* the only heir of 16 bytes less than the only one; 0: none, or not asked */
    uint64_t offset, part_bytes, n_bytes; /* of the member; of the blocks */
    uint64_t *votes;                      /* owned: ranks, a sample where there are more */
    size_t n_votes, capacity;
    uint8_t state;
    bool are_heirs; /* `first` are those of C++ that have the part as a base class */
    bool is_new;    /* judged, and its votes were not looked at since */
};

/* The answer for a block by a pointer into it. */
struct hs_enclosing_answer {
    hs_ctype record; /* what the block is; 0: not known */
    bool is_open;    /* it may become known */
    bool leads_on;   /* nothing is known: the member itself may lead to others like it */
    bool is_part;    /* of some record, as in others of its group: no array of such members */
};

struct hs_enclosing {
    struct hs_agree_by by;
    struct hs_native_types *types;     /* borrowed */
    struct hs_enclosing_group *groups; /* owned */
    size_t n_groups, capacity;
    struct hs_table by_what;
    struct hs_dict asked; /* by part, offset and size: number of the group from 1, 0 for none */
    uint64_t n_looks, most_looks; /* words of blocks held against records; then no more */
    bool has_missed;              /* a block of a group that was open, which is none of its votes */
    bool is_closed;               /* nothing is noted any more: what is open stays unknown */
};

void hs_native_enclosing_fini(struct hs_enclosing *enclosing);

/* Asks which record a block is, when a pointer leads to a `part`, a record that does not fill the
 * block, at `offset` of it. Beyond HS_ENCLOSING_GROUPS nothing becomes known. Fails with HS_LIMIT.
 * O(HS_ENCLOSING_VOTES) while its group is open, then O(1), and where the group has had several
 * records O(pointers of these). */
hs_status hs_native_enclosing_ask(struct hs_enclosing *enclosing, const struct hs_heap_block *block,
                                  hs_ctype part, uint64_t part_bytes, uint64_t offset,
                                  struct hs_enclosing_answer *ret, struct hs_error *err);

/* Judges the groups that are open, by the types that blocks have now. Reads at most
 * HS_ENCLOSING_VOTES blocks of each. */
hs_status hs_native_enclosing_settle(struct hs_enclosing *enclosing, struct hs_error *err);

/* Finds for each accepted group that has one record, an heir, the only one that is 16 bytes
 * smaller, if there is just one; puts the parts of those groups into `ret_parts`. Fails with
 * HS_LIMIT. */
hs_status hs_native_enclosing_find_smaller(struct hs_enclosing *enclosing,
                                           struct hs_dict *ret_parts, struct hs_error *err);
/* Returns that heir for a block of n_bytes that a pointer to a `part` leads into at `offset`; 0:
 * none. O(1). */
hs_ntype hs_native_enclosing_smaller(const struct hs_enclosing *enclosing, hs_ctype part,
                                     uint64_t offset, uint64_t n_bytes);

#endif
