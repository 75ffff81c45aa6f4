/* One shortest path from the roots to each of many blocks, as a tree of parents.
 *
 *   entries:  block, its parent on the path, its distance from the roots; parents before children
 *
 * All ways to a block pass through its dominators, so the path to a block is that to its immediate
 * dominator with a search back from the block to it, which ends where a path is known. Mostly the
 * dominator points to the block, and nothing is searched at all. Whatever stands on a path keeps
 * its entry, and what searches have passed a bound of its distance, which ends later ones early.
 *
 * Resident, reserved in the budget: some 50 bytes per entry, and 40 per node with a bound, of which
 * there are at most SHORTEST_SEEN at a time. */
#ifndef HS_ANALYSIS_SHORTEST_H
#define HS_ANALYSIS_SHORTEST_H

#include "analysis/view.h"
#include "base/table.h"

#define SHORTEST_SEEN 4000000

struct shortest_entry {
    hs_node node;      /* a leaf of the tree of roots, or a block */
    uint64_t distance; /* blocks on the path, this one included; 0 for a leaf */
    uint32_t parent;   /* HS_NO_NUMBER for a leaf */
};

struct shortest_met {
    hs_node node;
    uint32_t from;  /* the one nearer to the block that is searched from */
    uint32_t seen;  /* its number among what was seen */
    uint32_t steps; /* to the block */
};

/* A node that an earlier search met, with a lower bound of its distance to the roots, by which
 * later searches are cut short. */
struct shortest_seen {
    hs_node node;
    uint32_t search; /* the last that met it */
    uint32_t bound;  /* least distance */
};

struct shortest {
    struct hs_view *view;
    struct hs_table by_node;
    struct shortest_entry *entries; /* owned */
    size_t n, capacity;
    hs_node *above; /* owned: of one climb */
    size_t n_above, above_capacity;
    struct shortest_met *met; /* owned: of one search */
    size_t n_met, met_capacity;
    struct hs_table by_seen;
    struct shortest_seen *seen; /* owned */
    size_t n_seen, seen_capacity;
    uint64_t seen_bytes; /* reserved for both */
    uint32_t search;     /* number of the one under way, from 1 on */
    uint64_t n_searched; /* nodes that searches have met, in all */
    uint64_t taken_bytes;
};

void shortest_init(struct hs_view *view, struct shortest *ret);
void shortest_fini(struct shortest *paths);

/* The entry of a block that a root reaches. */
hs_status shortest_find(struct shortest *paths, hs_node block, uint32_t *ret, struct hs_error *err);

#endif
