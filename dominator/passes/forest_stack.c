#include "forest_stack.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"

#define TAKE_FRAMES ((uint64_t)1 << 12)

hs_status forest_stack_init(struct hs_budget *budget, uint64_t max_frames, uint64_t half,
                            struct forest_stack *ret, struct hs_error *err)
{
    void *frames;

    if (half == 0) {
        half = max_frames / (FOREST_STACK_SPILLS / 2) + 1;
        half = half < FOREST_STACK_HALF ? FOREST_STACK_HALF : half;
    }
    HS_TRY(hs_pages_alloc(2 * half, sizeof(struct forest_frame), &frames, err));
    *ret = (struct forest_stack){.frames = frames, .half = half, .budget = budget};
    return HS_OK;
}

void forest_stack_fini(struct forest_stack *stack)
{
    if (stack->frames == NULL)
        return;
    while (stack->n_spills != 0)
        hs_spill_close(&stack->spills[--stack->n_spills]);
    hs_pages_free(stack->frames, 2 * stack->half, sizeof *stack->frames);
    hs_budget_release(stack->budget, stack->reserved * sizeof *stack->frames);
    *stack = (struct forest_stack){0};
}

static hs_status frames_write(struct hs_spill *spill, const struct forest_frame *frames, uint64_t n,
                              struct hs_error *err)
{
    int64_t above = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct forest_cursor cursor = forest_frame_cursor(&frames[i]);
        int64_t depth = forest_frame_depth(&frames[i]);
        HS_TRY(hs_spill_put_varint(spill, hs_zigzag_encode(depth - above), err));
        HS_TRY(hs_spill_put_varint(spill, cursor.child << 1 | cursor.has_more, err));
        HS_TRY(hs_spill_put_varint(spill, cursor.at, err));
        above = depth;
    }
    return HS_OK;
}

/* The older half goes to disk, in some 9 bytes a frame. */
static hs_status stack_spill(struct forest_stack *stack, struct hs_error *err)
{
    if (stack->n_spills == FOREST_STACK_SPILLS)
        return hs_fail(err, HS_BUG, "more nodes are pending than there are");
    struct hs_spill *spill = &stack->spills[stack->n_spills];
    HS_TRY(hs_spill_open(stack->budget, "the way through the forest", spill, err));
    stack->n_spills++;
    HS_TRY(frames_write(spill, stack->frames, stack->half, err));
    HS_TRY(hs_spill_seal(spill, err));
    stack->n -= stack->half;
    memmove(stack->frames, stack->frames + stack->half, stack->n * sizeof *stack->frames);
    return HS_OK;
}

hs_status forest_stack_push(struct forest_stack *stack, const struct forest_cursor *cursor,
                            uint32_t depth, struct hs_error *err)
{
    if (stack->n == stack->reserved) {
        if (stack->n == 2 * stack->half) {
            HS_TRY(stack_spill(stack, err));
        } else {
            uint64_t left = 2 * stack->half - stack->reserved;
            uint64_t more = left < TAKE_FRAMES ? left : TAKE_FRAMES;
            HS_TRY(hs_budget_reserve(stack->budget, more * sizeof *stack->frames,
                                     "the way through the forest", err));
            stack->reserved += more;
        }
    }
    stack->frames[stack->n++] = forest_frame_make(cursor, depth);
    return HS_OK;
}

static hs_status stack_read(struct forest_stack *stack, struct hs_spill_reader *reader,
                            struct hs_error *err)
{
    uint32_t depth = 0;

    for (uint64_t i = 0; i < stack->half; i++) {
        struct forest_cursor cursor;
        uint64_t step, child;
        HS_TRY(hs_spill_get_varint(reader, &step, err));
        HS_TRY(hs_spill_get_varint(reader, &child, err));
        HS_TRY(hs_spill_get_varint(reader, &cursor.at, err));
        cursor.child = child >> 1;
        cursor.has_more = child & 1;
        depth += (uint32_t)hs_zigzag_decode(step);
        stack->frames[i] = forest_frame_make(&cursor, depth);
    }
    return HS_OK;
}

hs_status forest_stack_load(struct forest_stack *stack, bool *ret_is_empty, struct hs_error *err)
{
    if (stack->n == 0 && stack->n_spills != 0) {
        struct hs_spill *spill = &stack->spills[stack->n_spills - 1];
        struct hs_spill_reader reader = {0};
        hs_status status = hs_spill_read(spill, 0, spill->n_bytes, &reader, err);
        if (status == HS_OK)
            status = stack_read(stack, &reader, err);
        hs_spill_reader_close(&reader);
        HS_TRY(status);
        hs_spill_close(spill);
        stack->n_spills--;
        stack->n = stack->half;
    }
    *ret_is_empty = stack->n == 0;
    return HS_OK;
}
