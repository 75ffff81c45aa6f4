/* Backtraces, each once, as the paths of a prefix tree: node 0 is the empty backtrace, every other
 * node adds one frame inside of its parent's. A parent's number is below its children's, so one
 * pass in order of numbers carries anything down the tree, and one back carries it up.
 *
 * Resident: 14 to 20 bytes per node and 14 to 20 per distinct code. Interning costs a comparison
 * per frame shared with the backtrace before and a probe per other frame. */
#ifndef HS_STATS_STACKS_H
#define HS_STATS_STACKS_H

#include "stats/key_table.h"

struct hs_stacks {
    struct hs_key_table codes; /* distinct codes, numbered */
    struct hs_key_table nodes; /* parent << 32 | code; the number here is the node's minus 1 */
    uint64_t *last_frames;     /* owned: of the backtrace that came last */
    uint32_t *last_nodes;      /* owned: the node of each of its frames */
    size_t n_last, frames_capacity, nodes_capacity;
};

/* Frees the stacks. A zeroed object is valid and has the empty backtrace alone. */
void hs_stacks_fini(struct hs_stacks *stacks);

/* Finds or adds the node of a backtrace, the outermost frame first. HS_LIMIT. */
hs_status hs_stacks_add(struct hs_stacks *stacks, const uint64_t *frames, size_t n_frames,
                        struct hs_stats_memory *memory, uint32_t *ret, struct hs_error *err);

static inline size_t hs_stacks_n(const struct hs_stacks *stacks)
{
    return stacks->nodes.n + 1;
}

/* Returns the parent of a node above 0: the backtrace without its innermost frame, and the number
 * of that frame's code. */
static inline uint32_t hs_stacks_parent(const struct hs_stacks *stacks, uint32_t node)
{
    return (uint32_t)(stacks->nodes.keys[node - 1] >> 32);
}

static inline uint32_t hs_stacks_code(const struct hs_stacks *stacks, uint32_t node)
{
    return (uint32_t)stacks->nodes.keys[node - 1];
}

#endif
