/* The set of lost blocks, with the lost block that each of them hangs on.
 *
 * Lost is what no chain of sure edges (hs_edge_is_sure) leads to from a root that is firm or a
 * runtime's own; static data and unclaimed mappings are never lost. Lost blocks that point at each
 * other form bundles: each hangs on one *head*, a block to which no lost block outside its own
 * cycle points.
 *
 *   lost blocks:  head -> a -> b      cycle: c <-> d      e.g. of a cycle the first found is the
 *                  \-> e               \-> f              head
 *
 * Lost blocks are numbered by ascending node: their *rank*. Resident, and reserved in the budget:
 * 2 bits per node; to know what surely lives the graph of sure edges (12 bytes per node or so),
 * which is not needed where no edge is doubtful; then 20 bytes per lost block and 4 per edge
 * between them. */
#ifndef HS_ANALYSIS_LEAK_SET_H
#define HS_ANALYSIS_LEAK_SET_H

#include "analysis/view.h"
#include "base/bitmap.h"
#include "graph/graph.h"

struct hs_leak_set {
    struct hs_bitmap lost; /* by node, indexed */
    /* A bit for each rank: a chain of sure edges leads there from a register, or from a slot of a
     * stack, where no variable is known to live. */
    struct hs_bitmap on_stack;
    uint64_t n_lost;
    uint32_t *head;   /* owned pages, by rank: the rank of its head */
    uint32_t *parent; /* owned pages, by rank: the lost block through which it hangs on its head;
                         HS_NONE for heads */
    uint32_t *order;  /* owned pages: ranks, parents before children */
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

/* `holds(context, root)`: what the root leads to counts as held, however doubtful; may be NULL.
 * O(n + m). HS_LIMIT when out of memory, over the budget or interrupted. */
struct hs_leak_holders {
    bool (*holds)(const void *context, const struct hs_root *root);
    const void *context;
};
hs_status hs_leak_set_find(struct hs_view *view, const struct hs_leak_holders *holders,
                           struct hs_leak_set *ret, struct hs_error *err);
void hs_leak_set_fini(struct hs_leak_set *set);

/* Returns the number of a lost block within the set. */
static inline uint64_t hs_leak_rank(const struct hs_leak_set *set, hs_node node)
{
    return hs_bitmap_rank(&set->lost, node);
}
/* O(log nodes). */
hs_node hs_leak_node(const struct hs_leak_set *set, uint64_t rank);

#endif
