#include "pass_stack.h"

#include "base/alloc.h"
#include "base/buffer.h"

/* The rows that are reserved in the budget at a time. */
#define STEP_ROWS 4096
/* The rest of rows is read again where that is so many times as much at the most. */
#define REST_TIMES 4

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
    assert(row_bytes % sizeof(uint64_t) == 0);
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

/* ---- rows in a file: word by word, as differences from the row before ---- */

static hs_status rows_write(struct hs_spill *spill, const uint64_t *rows, uint64_t n,
                            size_t n_words, size_t n_written, struct hs_error *err)
{
    for (uint64_t i = 0; i < n; i++, rows += n_words) {
        for (size_t k = 0; k < n_written; k++) {
            uint64_t step = i == 0 ? rows[k] : rows[k] - rows[(ptrdiff_t)k - (ptrdiff_t)n_words];
            HS_TRY(hs_spill_put_varint(spill, hs_zigzag_encode((int64_t)step), err));
        }
    }
    return HS_OK;
}

static hs_status rows_decode(struct hs_spill_reader *reader, uint64_t *rows, uint64_t n,
                             size_t n_words, size_t n_written, struct hs_error *err)
{
    for (uint64_t i = 0; i < n; i++, rows += n_words) {
        for (size_t k = 0; k < n_written; k++) {
            uint64_t code;
            HS_TRY(hs_spill_get_varint(reader, &code, err));
            rows[k] = (uint64_t)hs_zigzag_decode(code);
            rows[k] += i == 0 ? 0 : rows[(ptrdiff_t)k - (ptrdiff_t)n_words];
        }
    }
    return HS_OK;
}

/* The last spill into the lower half. */
static hs_status rows_read(struct pass_stack *stack, struct hs_error *err)
{
    const struct hs_spill *spill = &stack->spills[stack->n_spills - 1];
    bool is_thin = stack->is_thin[stack->n_spills - 1];
    size_t n_words = stack->row_bytes / sizeof(uint64_t);
    uint64_t *rows = (uint64_t *)stack->rows;
    struct hs_spill_reader reader = {0};

    HS_TRY(hs_spill_read(spill, 0, spill->n_bytes, &reader, err));
    hs_status status = rows_decode(&reader, rows, stack->half, n_words, is_thin ? 1 : n_words, err);
    hs_spill_reader_close(&reader);
    if (status != HS_OK || !is_thin)
        return status;
    return stack->rest.fill(stack->rest.context, rows, stack->half, err);
}

static bool rows_are_near(const struct pass_stack *stack)
{
    const uint64_t *rows = (const uint64_t *)stack->rows;
    uint64_t last = rows[(stack->half - 1) * (stack->row_bytes / sizeof *rows)];
    return last - rows[0] < REST_TIMES * stack->half;
}

/* ---- up and down ---- */

/* The lower half of the rows becomes the last spill. */
static hs_status stack_lower(struct pass_stack *stack, struct hs_error *err)
{
    struct hs_spill *spill = &stack->spills[stack->n_spills];
    size_t n_bytes = stack->half * stack->row_bytes, n_words = stack->row_bytes / sizeof(uint64_t);
    bool is_thin = stack->rest.fill != NULL && rows_are_near(stack);

    if (stack->n_spills == PASS_STACK_SPILLS)
        return hs_fail(err, HS_BUG, "%s is deeper than said", stack->what);
    HS_TRY(hs_spill_open(stack->budget, stack->what, spill, err));
    stack->is_thin[stack->n_spills++] = is_thin;
    HS_TRY(rows_write(spill, (const uint64_t *)stack->rows, stack->half, n_words,
                      is_thin ? 1 : n_words, err));
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
            HS_TRY(rows_read(stack, err));
        hs_spill_close(spill);
        stack->n_spills--;
        stack->n_below -= stack->half;
    }
    stack->n = n_rows - stack->n_below;
    return HS_OK;
}
