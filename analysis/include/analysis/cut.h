/* The smallest set of roots, fields or blocks whose removal frees a block: a minimum vertex cut
 * between the root of all and the block (Menger), as far as it has at most HS_CUT_MOST members.
 *
 *   server ─┐                     near the roots:   server, lctx
 *   lctx ───┴─> a ─> table ─> x   near the object:  table[17]  (then the cut has one member alone)
 *
 * Of all smallest cuts the one nearest to the roots and the one nearest to the block are given;
 * both are unique. Roots may be cut, the groups above them are not: they join what is below.
 *
 * How: whatever hangs below one *unit* in the dominator tree (a root, or a block that several roots
 * share and that stands right below the groups) is reached through that unit alone, so a cut needs
 * units only, and only edges that lead to units matter. Unit capacities, augmenting paths by
 * backward breadth-first search over split units. Where in a unit the cut nearest to the block is:
 * at the nearest common dominator of all places where ways leave the unit.
 *
 * Cost: each edge to a unit that leads to the block is read and climbed from at most twice.
 * Resident, reserved in the budget: about 50 bytes per unit met and 4 per pair of them. */
#ifndef HS_ANALYSIS_CUT_H
#define HS_ANALYSIS_CUT_H

#include "analysis/view.h"

#define HS_CUT_MOST 4

enum hs_cut_kind {
    HS_CUT_ROOT,
    HS_CUT_SLOT,  /* one of the slots of a variable */
    HS_CUT_FIELD, /* one word of a block: the only one of it that leads on */
    HS_CUT_BLOCK
};
/* Returns "root", "slot", "field" or "block". */
const char *hs_cut_kind_name(enum hs_cut_kind kind);

struct hs_cut_point {
    enum hs_cut_kind kind;
    hs_node node;          /* of the tree of roots, or the block; of a field its holder */
    uint64_t offset_words; /* of a field; else HS_NO_OFFSET */
};

struct hs_cut {
    bool is_reached;
    unsigned n;            /* members; HS_CUT_MOST + 1: there are more, and none is named */
    struct hs_sizes freed; /* the blocks that were asked for, with all that they retain */
    struct hs_cut_point near_roots[HS_CUT_MOST], near_object[HS_CUT_MOST]; /* by node */
};

/* Finds the smallest cuts that free one block, or all of several that stand right below groups of
 * the tree of roots (the top units of an owner set). HS_LIMIT when over the budget or asked to
 * end. */
hs_status hs_cut_find(struct hs_view *view, const hs_node *targets, size_t n_targets,
                      struct hs_cut *ret, struct hs_error *err);
/* The same for all top units of an owner set. */
hs_status hs_cut_find_set(struct hs_view *view, uint32_t set, struct hs_cut *ret,
                          struct hs_error *err);

#endif
