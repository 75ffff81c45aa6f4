#include "pass_stack.h"

#include "base/alloc.h"

/* Rows that are reserved in the budget at a time. */
#define STEP_ROWS 4096

static uint64_t stack_half(uint64_t max_rows)
{
    uint64_t half = max_rows / PASS_STACK_SPILLS + 1;
    half = (half + STEP_ROWS - 1) / STEP_ROWS * STEP_ROWS;
    return half < PASS_STACK_HALF ? PASS_STACK_HALF : half;
}

uint64_t pass_stack_max_bytes(uint64_t max_rows, size_t row_bytes)
{
    uint64_t most = 2 * stack_half(max_rows);
    if (max_rows < most)
        most = (max_rows + STEP_ROWS - 1) / STEP_ROWS * STEP_ROWS;
    return most * row_bytes;
}

hs_status pass_stack_init(struct hs_budget *budget, const char *what, uint64_t max_rows,
                          size_t row_bytes, struct pass_stack *ret, struct hs_error *err)
{
    uint64_t half = stack_half(max_rows);
    void *rows;

    static_assert(PASS_STACK_HALF % STEP_ROWS == 0);
    HS_TRY(hs_pages_alloc(2 * half, row_bytes, &rows, err));
    *ret = (struct pass_stack){
        .rows = rows, .half = half, .row_bytes = row_bytes, .budget = budget, .what = what};
    return HS_OK;
}

void pass_stack_fini(struct pass_stack *stack)
{
    hs_pages_free(stack->rows, 2 * stack->half, stack->row_bytes);
    hs_budget_release(stack->budget, stack->reserved * stack->row_bytes);
    for (unsigned i = 0; i < stack->n_spills; i++)
        hs_spill_close(&stack->spills[i]);
    *stack = (struct pass_stack){0};
}

/* The lower half of the rows becomes the last spill. */
static hs_status stack_lower(struct pass_stack *stack, struct hs_error *err)
{
    struct hs_spill *spill = &stack->spills[stack->n_spills];
    size_t n_bytes = stack->half * stack->row_bytes;

    if (stack->n_spills == PASS_STACK_SPILLS)
        return hs_fail(err, HS_BUG, "%s is deeper than said", stack->what);
    HS_TRY(hs_spill_open(stack->budget, stack->what, spill, err));
    stack->n_spills++;
    HS_TRY(hs_spill_write(spill, stack->rows, n_bytes, err));
    HS_TRY(hs_spill_seal(spill, err));
    stack->n -= stack->half;
    stack->n_below += stack->half;
    memcpy(stack->rows, stack->rows + n_bytes, stack->n * stack->row_bytes);
    return HS_OK;
}

hs_status pass_stack_spill(struct pass_stack *stack, struct hs_error *err)
{
    if (stack->n == 2 * stack->half)
        return stack_lower(stack, err);
    HS_TRY(hs_budget_reserve(stack->budget, STEP_ROWS * stack->row_bytes, stack->what, err));
    stack->reserved += STEP_ROWS;
    return HS_OK;
}

hs_status pass_stack_load(struct pass_stack *stack, uint64_t n_rows, struct hs_error *err)
{
    while (n_rows <= stack->n_below && stack->n_below != 0) {
        struct hs_spill *spill = &stack->spills[stack->n_spills - 1];
        bool is_wanted = n_rows > stack->n_below - stack->half;
        if (is_wanted)
            HS_TRY(hs_spill_read_at(spill, 0, stack->rows, stack->half * stack->row_bytes, err));
        hs_spill_close(spill);
        stack->n_spills--;
        stack->n_below -= stack->half;
    }
    stack->n = n_rows - stack->n_below;
    return HS_OK;
}
