#include "engine.h"

#include <assert.h>

#include "graph/pages.h"

#define BLOCK_BYTES ((size_t)256 << 10)

hs_status engine_array_init(struct hs_budget *budget, size_t n, const char *what, uint32_t **ret,
                            struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_budget_reserve(budget, n * sizeof **ret, what, err));
    hs_status status = hs_pages_alloc(n, sizeof **ret, &memory, err);
    if (status == HS_OK)
        *ret = memory;
    else
        hs_budget_release(budget, n * sizeof **ret);
    return status;
}

void engine_array_fini(struct hs_budget *budget, uint32_t **array, size_t n)
{
    if (*array == NULL)
        return;
    hs_budget_release(budget, n * sizeof **array);
    hs_pages_free(*array, n, sizeof **array);
    *array = NULL;
}

static uint64_t bitmap_bytes(uint64_t n_bits)
{
    return n_bits / 8 + 8;
}

hs_status engine_bitmap_init(struct hs_budget *budget, size_t n_bits, const char *what,
                             struct hs_bitmap *ret, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(budget, bitmap_bytes(n_bits), what, err));
    hs_status status = hs_bitmap_init(ret, n_bits, err);
    if (status != HS_OK)
        hs_budget_release(budget, bitmap_bytes(n_bits));
    return status;
}

void engine_bitmap_fini(struct hs_budget *budget, struct hs_bitmap *map)
{
    if (map->words == NULL)
        return;
    hs_budget_release(budget, bitmap_bytes(map->n_bits));
    hs_bitmap_fini(map);
}

hs_status engine_stack_init(struct hs_budget *budget, size_t capacity, size_t size,
                            const char *what, struct engine_stack *ret, struct hs_error *err)
{
    struct engine_stack stack = {
        .budget = budget, .what = what, .capacity = capacity, .size = size};

    assert(capacity != 0);
    HS_TRY(hs_pages_alloc(capacity, size, &stack.items, err));
    hs_status status = HS_OK;
    if (budget == NULL)
        stack.n_reserved = capacity;
    else
        status = engine_stack_reserve(&stack, 1, err);
    if (status == HS_OK)
        *ret = stack;
    else
        engine_stack_fini(&stack);
    return status;
}

hs_status engine_stack_reserve(struct engine_stack *stack, size_t n, struct hs_error *err)
{
    assert(n <= stack->capacity);
    if (n <= stack->n_reserved)
        return HS_OK;
    size_t block = BLOCK_BYTES / stack->size, more = n - stack->n_reserved;
    more += (block - more % block) % block;
    if (more > stack->capacity - stack->n_reserved)
        more = stack->capacity - stack->n_reserved;
    HS_TRY(hs_budget_reserve(stack->budget, more * stack->size, stack->what, err));
    stack->n_reserved += more;
    return HS_OK;
}

void engine_stack_fini(struct engine_stack *stack)
{
    if (stack->items == NULL)
        return;
    if (stack->budget != NULL)
        hs_budget_release(stack->budget, stack->n_reserved * stack->size);
    hs_pages_free(stack->items, stack->capacity, stack->size);
    *stack = (struct engine_stack){0};
}
