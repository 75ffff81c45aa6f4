/* Builds the tree of roots while the runtimes enumerate them, in any order.
 *
 *   all -> kind -> binary or thread -> unit or frame [-> variable] -> variable, field or slot
 *
 * Leaves are added with the names of their groups; finish numbers the tree so that parents stand
 * before children and groups are together. Deterministic: order of first use per level, the leaves
 * that hang directly on a unit before its variables. */
#ifndef HS_PROCESS_ROOTS_H
#define HS_PROCESS_ROOTS_H

#include "base/strtab.h"
#include "snapshot/model.h"

/* A leaf to add. Strings are ids of the same table. `root.parent`, `root.level` and `root.target`
 * are ignored; `target` is the pointer found in the slot (a target address, block start). */
struct hs_root_leaf {
    struct hs_root root;
    hs_addr target;        /* start address of the block (after infix and forward resolution) */
    hs_str group_module;   /* binary or thread, e.g. "coqtop", "thread 4242" */
    hs_str group_unit;     /* unit or frame, e.g. "Stm", "#3 Stm.observe (stm/stm.ml:2420)" */
    hs_str group_variable; /* 0: hangs directly on the unit; else the variable that the slot is part
                              of, e.g. "server": its node takes module, thread, frame, function,
                              symbol, file and line from its first leaf, its address is that leaf's
                              less the leaf's offset, and its own offset is 0 */
    uint8_t n_inlined; /* of a call's variable: inlined calls of its frame that it is inside of */
    uint8_t owning;    /* enum hs_owning: what it takes with it when it is moved */
    uint8_t owning_depth; /* of records around the pointer */
    bool is_strangers;    /* held for somebody of whom nothing is known: native/strangers.h */
    bool is_handle;       /* a pointer to a record that is described nowhere */
    bool may_own;     /* a call's pointer of which no type says that it does: native/borrowed.h */
    uint32_t untold;  /* number from 1 of the union that it is in: native/unions.h; 0: none */
    bool is_owned;    /* a member of a smart pointer or container */
    bool owns_sole;   /* the only owner of what it leads to: native/sole.h */
    bool is_mains;    /* a variable of main's own */
    bool is_argument; /* of a call */
    bool may_share;   /* a call's pointer, lent where the call is a visitor: native/visits.h */
    uint32_t n_variable_bytes; /* of a call's variable */
    hs_addr object; /* of a word without a name: where its variable begins; 0: not known */
};

struct hs_roots {
    struct hs_root_leaf *leaves; /* owned */
    size_t n_leaves, leaves_capacity;
};

void hs_roots_fini(struct hs_roots *roots);
/* Sets the tier of a root, and the rule (snapshot/reasons.def) by which it has that. */
static inline void hs_root_lower(struct hs_root *root, enum hs_tier tier, unsigned reason)
{
    root->tier = (uint8_t)tier;
    root->reason = (uint8_t)reason;
}

hs_status hs_roots_add(struct hs_roots *roots, const struct hs_root_leaf *leaf,
                       struct hs_error *err);

/* The finished tree: tree[n_tree] with parents set; `node_of` maps a block's address to its node
 * number minus n_tree (rank), or HS_NO_NODE. A leaf whose target is no block keeps HS_NO_NODE.
 * The caller frees *ret_tree with hs_free. */
struct hs_rank_of {
    uint64_t (*rank)(const void *context, hs_addr block);
    const void *context;
};
hs_status hs_roots_finish(const struct hs_roots *roots, struct hs_strtab *strings,
                          const struct hs_rank_of *rank_of, struct hs_root **ret_tree,
                          uint64_t *ret_n_tree, struct hs_error *err);

#endif
