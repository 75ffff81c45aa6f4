/* A stack of rows of fixed size, of which only the top is looked at: the way down in a region, or
 * sums that wait for their parent. Deep ones (a list of millions of cells) do not stay in memory:
 * the upper part does, older rows go to spills of `half` rows each and come back when they are on
 * top. There a row is what it differs by from the one below: small, for numbers that ascend with
 * the depth, and for sums of few blocks.
 *
 *   spill | spill | ... | rows: up to 2 * half in memory |      n_below rows are in spills */
#ifndef HS_PASS_STACK_H
#define HS_PASS_STACK_H

#include <assert.h>
#include <string.h>

#include "base/spill.h"

#define PASS_STACK_SPILLS 64
/* The least for `half`. */
#define PASS_STACK_HALF ((uint64_t)1 << 14)

/* A source of the words behind the first of each row, which ascends: where they can be read again
 * quickly, rows on disk are stored without them. Fills in words 1 ... of n rows. */
struct pass_stack_rest {
    hs_status (*fill)(void *context, uint64_t *rows, uint64_t n, struct hs_error *err);
    void *context;
};

struct pass_stack {
    uint8_t *rows; /* owned pages: 2 * half */
    uint64_t n, half, n_below;
    uint64_t reserved; /* rows that are reserved in the budget */
    size_t row_bytes;
    struct hs_spill spills[PASS_STACK_SPILLS];
    bool is_thin[PASS_STACK_SPILLS]; /* only the first words are there */
    unsigned n_spills;
    struct pass_stack_rest rest; /* set before the first row; or NULL */
    struct hs_budget *budget;
    const char *what;
};

/* Begins a stack of at most max_rows of whole words. */
hs_status pass_stack_init(struct hs_budget *budget, const char *what, uint64_t max_rows,
                          size_t row_bytes, struct pass_stack *ret, struct hs_error *err);
void pass_stack_fini(struct pass_stack *stack);
/* Returns the most that it will take of the budget. */
uint64_t pass_stack_max_bytes(uint64_t max_rows, size_t row_bytes);

/* Makes room for one more row in memory. */
hs_status pass_stack_spill(struct pass_stack *stack, struct hs_error *err);
/* Brings n_rows back to memory where they are not, the top among them. */
hs_status pass_stack_load(struct pass_stack *stack, uint64_t n_rows, struct hs_error *err);

static inline uint64_t pass_stack_n(const struct pass_stack *stack)
{
    return stack->n_below + stack->n;
}

/* Keeps the lowest n_rows only; at least one of them is in memory then, when there is any. */
static inline hs_status pass_stack_cut(struct pass_stack *stack, uint64_t n_rows,
                                       struct hs_error *err)
{
    assert(n_rows <= pass_stack_n(stack));
    if (n_rows <= stack->n_below && stack->n_below != 0)
        return pass_stack_load(stack, n_rows, err);
    stack->n = n_rows - stack->n_below;
    return HS_OK;
}

static inline uint8_t *pass_stack_top(const struct pass_stack *stack)
{
    assert(stack->n != 0);
    return stack->rows + (stack->n - 1) * stack->row_bytes;
}

static inline hs_status pass_stack_push(struct pass_stack *stack, const void *row,
                                        struct hs_error *err)
{
    if (stack->n == stack->reserved)
        HS_TRY(pass_stack_spill(stack, err));
    memcpy(stack->rows + stack->n++ * stack->row_bytes, row, stack->row_bytes);
    return HS_OK;
}

#endif
