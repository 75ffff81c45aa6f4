/* The stack of a search of the forest: a frame per node on the way that has children
 * left. Deep ways (a list of millions of cells) do not stay in memory: the upper part does, older
 * frames go to spills of `half` frames each and come back when they are needed.
 *
 *   spill | spill | ... | frames: up to 2 * half in memory, 16 bytes each | */
#ifndef HS_FOREST_STACK_H
#define HS_FOREST_STACK_H

#include "base/spill.h"
#include "forest_lists.h"

#define FOREST_STACK_SPILLS 64
/* The least that is chosen for `half`. */
#define FOREST_STACK_HALF ((uint64_t)1 << 14)

struct forest_frame {
    uint64_t at_depth;   /* 40 bits where the list goes on | low 24 bits of the depth */
    uint64_t child_rest; /* 40 bits the next child | 1 bit whether more follow | 8 bits depth */
};

struct forest_stack {
    struct forest_frame *frames; /* owned pages: 2 * half */
    uint64_t n, half, reserved;  /* reserved: frames, in the budget */
    struct hs_spill spills[FOREST_STACK_SPILLS];
    unsigned n_spills;
    struct hs_budget *budget;
};

/* Begins a stack of so many frames at most; `half` 0: as many as it takes to get by with half of
 * the spills. */
hs_status forest_stack_init(struct hs_budget *budget, uint64_t max_frames, uint64_t half,
                            struct forest_stack *ret, struct hs_error *err);
void forest_stack_fini(struct forest_stack *stack);
hs_status forest_stack_push(struct forest_stack *stack, const struct forest_cursor *cursor,
                            uint32_t depth, struct hs_error *err);
/* Makes sure that frames[n - 1] is there; *ret_is_empty when there is none. */
hs_status forest_stack_load(struct forest_stack *stack, bool *ret_is_empty, struct hs_error *err);

static inline struct forest_frame forest_frame_make(const struct forest_cursor *cursor,
                                                    uint32_t depth)
{
    return (struct forest_frame){
        .at_depth = cursor->at | (uint64_t)depth << 40,
        .child_rest =
            cursor->child | (uint64_t)cursor->has_more << 40 | (uint64_t)(depth >> 24) << 41,
    };
}

static inline uint32_t forest_frame_depth(const struct forest_frame *frame)
{
    return (uint32_t)(frame->at_depth >> 40 | (frame->child_rest >> 41) << 24);
}

static inline struct forest_cursor forest_frame_cursor(const struct forest_frame *frame)
{
    const uint64_t low = ((uint64_t)1 << 40) - 1;
    return (struct forest_cursor){
        .at = frame->at_depth & low,
        .child = frame->child_rest & low,
        .has_more = frame->child_rest >> 40 & 1,
    };
}

#endif
