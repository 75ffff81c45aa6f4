#include <string.h>

#include "base/alloc.h"
#include "stats/stacks.h"

void hs_stacks_fini(struct hs_stacks *stacks)
{
    hs_key_table_fini(&stacks->codes);
    hs_key_table_fini(&stacks->nodes);
    hs_free(stacks->last_frames);
    hs_free(stacks->last_nodes);
    *stacks = (struct hs_stacks){0};
}

static size_t shared_with_last(const struct hs_stacks *stacks, const uint64_t *frames,
                               size_t n_frames)
{
    size_t n = n_frames < stacks->n_last ? n_frames : stacks->n_last, i = 0;
    while (i < n && frames[i] == stacks->last_frames[i])
        i++;
    return i;
}

hs_status hs_stacks_add(struct hs_stacks *stacks, const uint64_t *frames, size_t n_frames,
                        struct hs_stats_memory *memory, uint32_t *ret, struct hs_error *err)
{
    size_t at = shared_with_last(stacks, frames, n_frames);
    uint32_t node = at == 0 ? 0 : stacks->last_nodes[at - 1];
    HS_TRY(hs_stats_grow(memory, (void **)&stacks->last_frames, &stacks->frames_capacity, n_frames,
                         sizeof *frames, err));
    HS_TRY(hs_stats_grow(memory, (void **)&stacks->last_nodes, &stacks->nodes_capacity, n_frames,
                         sizeof *stacks->last_nodes, err));
    stacks->n_last = at;
    for (; at < n_frames; at++) {
        uint32_t code, child;
        HS_TRY(hs_key_table_add(&stacks->codes, frames[at], memory, &code, err));
        HS_TRY(hs_key_table_add(&stacks->nodes, (uint64_t)node << 32 | code, memory, &child, err));
        node = child + 1;
        stacks->last_frames[at] = frames[at];
        stacks->last_nodes[at] = node;
        stacks->n_last = at + 1;
    }
    *ret = node;
    return HS_OK;
}
