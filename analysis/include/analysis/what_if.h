/* The memory that would be freed if some roots let go: what each of them retains, and what each set
 * of roots keeps that has no other root in it. Without a look at the graph. */
#ifndef HS_ANALYSIS_WHAT_IF_H
#define HS_ANALYSIS_WHAT_IF_H

#include "analysis/view.h"

struct hs_what_if {
    struct hs_bitmap is_gone; /* owned: by node of the root tree */
    struct hs_sizes freed;
    bool is_least; /* there are sets without a list of roots: it may be more */
};

hs_status hs_what_if_init(const struct hs_view *view, struct hs_what_if *ret, struct hs_error *err);
void hs_what_if_fini(struct hs_what_if *what_if);

/* Adds roots by a name, as struct hs_object_spec has them: a root, a slot (for its variable), or a
 * node above roots, for all of them. O(tree). */
void hs_what_if_add(const struct hs_view *view, struct hs_what_if *what_if, hs_node tree_node);
/* Finds what they free. O(tree + roots of all sets). */
void hs_what_if_find(const struct hs_view *view, struct hs_what_if *what_if);

/* The roots that free most together, so many of each number from 1 on. */
#define HS_BEST_MOST 8
struct hs_best {
    hs_node roots[HS_BEST_MOST]; /* ascending */
    unsigned n_roots;            /* fewer than asked for when more free nothing more */
    struct hs_sizes freed;
};
/* Finds the best sets of roots: ret[i] for i + 1 roots, 1 <= n <= HS_BEST_MOST. The single one and
 * the pair are the best there are; larger ones are found from each of the HS_BEST_SEEDS sets with
 * most words and from the best smaller one, step by step by the largest gain: a bound from below.
 * O(roots of small sets * seeds). */
#define HS_BEST_SEEDS 64
hs_status hs_best_find(const struct hs_view *view, unsigned n, struct hs_best *ret,
                       struct hs_error *err);

#endif
