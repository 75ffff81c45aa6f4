/* The nodes that a breadth-first search has met, in that order, and from which each was met.
 *
 *   node of entry:   0 target | 1 | 2 | ...             4 or 5 bytes each
 *   shape:           0 1 0 0 1 1 0 ...                  0: an entry is put, 1: the next one is
 * looked at; so the ones before an entry's 0 tell which one it was met from marks:           one
 * bit per node, a page of them resident where one is set
 *
 * Resident: what is used of it, some 4.5 bytes per entry, reserved in the budget as it grows. */
#ifndef HS_GRAPH_TRAIL_H
#define HS_GRAPH_TRAIL_H

#include "base/budget.h"

struct trail {
    uint64_t n_nodes;
    unsigned width;
    uint8_t *nodes;      /* owned pages */
    uint64_t *shape;     /* owned pages: 2 bits per entry */
    uint64_t *found;     /* owned pages: the place in `shape` of every TRAIL_STEP-th entry */
    uint64_t *marks;     /* owned pages: by node */
    uint64_t *pages;     /* owned pages: by page of marks, whether it is reserved in the budget */
    uint64_t n, at;      /* entries; entries that were looked at */
    uint64_t n_reserved; /* entries that are reserved in the budget */
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

hs_status trail_init(uint64_t n_nodes, struct hs_budget *budget, struct trail *ret,
                     struct hs_error *err);
void trail_fini(struct trail *trail);

static inline bool trail_is_marked(const struct trail *trail, hs_node node)
{
    return trail->marks[node >> 6] >> (node & 63) & 1;
}
hs_status trail_mark(struct trail *trail, hs_node node, struct hs_error *err);

/* Puts a node, at most n_nodes in all, and marks it. */
hs_status trail_put(struct trail *trail, hs_node node, struct hs_error *err);
/* Finds the next node to look at; false when there is none. */
bool trail_next(struct trail *trail, hs_node *ret);

hs_node trail_node(const struct trail *trail, uint64_t entry);
/* Returns the entry that was looked at when this one was put; entry > 0. */
uint64_t trail_from(const struct trail *trail, uint64_t entry);

/* Removes all entries; their marks, and no others, are taken away. */
void trail_clear(struct trail *trail);

#endif
