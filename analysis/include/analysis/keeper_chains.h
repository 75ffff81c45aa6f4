/* The kinds of chains by which objects are kept: the root that retains an object, and the types of
 * the blocks between it and the object in the dominator tree, runs of one type folded:
 *
 *   Cache.table > block tag 0, 4 fields > bucket array > cons > string
 *
 * All paths to the object pass through these blocks. Alike chains have one number. Of more than
 * HS_CHAIN_RUNS runs those in the middle are left out.
 *
 * Cost: each part of the tree is climbed over twice at most, however many objects hang on it.
 * Resident, reserved in the budget: 4 bytes per block of the heap (its type), 28 to 56 for every
 * 64th object passed. */
#ifndef HS_ANALYSIS_KEEPER_CHAINS_H
#define HS_ANALYSIS_KEEPER_CHAINS_H

#include "analysis/view.h"
#include "base/table.h"

#define HS_CHAIN_RUNS 32
#define HS_NO_CHAIN UINT32_MAX

struct hs_chain {
    uint64_t key;    /* a type, or HS_CHAIN_UNTYPED; of the first one a node of the tree, or n_tree:
                        several roots, or    n_tree + 1: no root reaches it */
    uint32_t parent; /* HS_NO_CHAIN: this is the first */
    uint32_t depth;  /* 0 for the first; over HS_CHAIN_RUNS: some are left out before it */
};

struct hs_chains {
    struct hs_view *view;
    uint32_t *types;         /* owned pages: by block */
    struct hs_chain *chains; /* owned */
    size_t n, capacity;
    struct hs_table by_content;
    struct hs_dict by_node;
    hs_node *stops; /* owned: where the climb that is under way is cut into pieces */
    size_t n_stops, stops_capacity;
    uint64_t reserved_bytes;
};

hs_status hs_chains_init(struct hs_view *view, struct hs_chains *ret, struct hs_error *err);
void hs_chains_fini(struct hs_chains *chains);

/* The chain of a block, its own type the last. */
hs_status hs_chains_find(struct hs_chains *chains, hs_node block, uint32_t *ret,
                         struct hs_error *err);

/* The same, but blocks of which nothing is known but their size are all alike at its end: their
 * sizes vary with what they hold. */
#define HS_CHAIN_UNTYPED (UINT32_MAX - 1) /* key in place of a type */
hs_status hs_chains_find_alike(struct hs_chains *chains, hs_node block, uint32_t *ret,
                               struct hs_error *err);

/* Returns the first link of a chain: what all of it hangs on. */
const struct hs_chain *hs_chain_first(const struct hs_chains *chains, uint32_t chain);

/* The numbers of the chain from the second on, the root's side first: at most HS_CHAIN_RUNS + 1. */
size_t hs_chain_runs(const struct hs_chains *chains, uint32_t chain,
                     uint32_t runs[HS_CHAIN_RUNS + 1]);

#endif
