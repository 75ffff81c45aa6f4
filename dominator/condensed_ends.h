/* Ends (dominator/condensed.h): read one by one, and credited to searches that have met a node that
 * leads to them. */
#ifndef HS_CONDENSED_ENDS_H
#define HS_CONDENSED_ENDS_H

#include "base/bitmap.h"
#include "dominator/condensed.h"

struct ends_reader {
    struct hs_spill_reader spill;
    uint32_t n_nodes, n_ends;
};

/* Opens the ends for reading; without any there is nothing to read. */
hs_status condensed_ends_open(const struct hs_condensed *condensed, struct ends_reader *ret,
                              struct hs_error *err);
void condensed_ends_close(struct ends_reader *reader);
/* Reads the next end; *ret_more is false when there is none left. */
hs_status condensed_ends_next(struct ends_reader *reader, uint32_t *ret_end, bool *ret_more,
                              struct hs_error *err);
/* Reads the nodes that lead to it, until *ret_node is HS_NONE. */
hs_status condensed_ends_node(struct ends_reader *reader, uint32_t *ret_node, struct hs_error *err);

/* Returns at least the number of ends that a node leads to, and less than twice that; 0 where there
 * are none. */
static inline uint64_t condensed_ends_of(const struct hs_condensed *condensed, uint32_t node)
{
    const uint8_t *degree = condensed->ends.degree;
    return degree == NULL ? 0 : ((uint64_t)1 << degree[node]) - 1;
}

/* A batch of searches with the nodes that each has visited. When there is no room for more, the
 * ends are read once, each search gets the weights of the ends to which a node that it met leads,
 * and the next batch begins. */
struct ends_batch {
    const struct hs_condensed *condensed;
    struct hs_sizes *sums;   /* borrowed: by search */
    const uint64_t *numbers; /* borrowed: by search, what it adds to signatures; NULL: nothing.
                                Set by whoever has any */
    uint32_t n_searches;
    uint32_t *node, *search;   /* owned pages: met, in pairs */
    uint32_t *by_node, *begin; /* owned pages: the searches of each node that was met */
    uint32_t *last;            /* owned pages: by search, 1 + the last end that it got */
    struct hs_bitmap is_met;   /* by node */
    uint64_t n, capacity;
    uint64_t reserved_bytes;
};

/* Returns the least that condensed_ends_batch_init takes of the budget. */
uint64_t condensed_ends_batch_bytes(const struct hs_condensed *condensed, uint64_t least,
                                    uint32_t n_searches);
/* Begins a batch with room for at least `least` pairs. */
hs_status condensed_ends_batch_init(const struct hs_condensed *condensed, uint64_t least,
                                    struct hs_sizes *sums, uint32_t n_searches,
                                    struct ends_batch *ret, struct hs_error *err);
void condensed_ends_batch_fini(struct ends_batch *batch);
/* Makes room for as many pairs more, at most `least`. */
hs_status condensed_ends_batch_reserve(struct ends_batch *batch, uint64_t n, struct hs_error *err);
static inline void condensed_ends_batch_put(struct ends_batch *batch, uint32_t node,
                                            uint32_t search)
{
    batch->node[batch->n] = node;
    batch->search[batch->n++] = search;
}
hs_status condensed_ends_batch_credit(struct ends_batch *batch, struct hs_error *err);

#endif
