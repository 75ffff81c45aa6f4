/* Memory of the dominator engine, reserved in a budget before it is touched. A NULL budget has no
 * limit and costs nothing. */
#ifndef HS_DOMINATOR_ENGINE_H
#define HS_DOMINATOR_ENGINE_H

#include "base/bitmap.h"
#include "base/budget.h"

/* Allocates zeroed numbers; HS_LIMIT says that `what` has no room. */
hs_status engine_array_init(struct hs_budget *budget, size_t n, const char *what, uint32_t **ret,
                            struct hs_error *err);
void engine_array_fini(struct hs_budget *budget, uint32_t **array, size_t n);

/* Allocates a bitmap without ranks. */
hs_status engine_bitmap_init(struct hs_budget *budget, size_t n_bits, const char *what,
                             struct hs_bitmap *ret, struct hs_error *err);
void engine_bitmap_fini(struct hs_budget *budget, struct hs_bitmap *map);

/* The stack of the engine, which may become large and seldom does: address space for the worst
 * case, reserved in the budget block by block as it is used. Elements [0, n_reserved) may be
 * touched. */
struct engine_stack {
    struct hs_budget *budget;
    const char *what;
    void *items;
    size_t n_reserved, capacity, size; /* elements; bytes of one */
};

/* Maps addresses for `capacity` elements (not 0); one is reserved, or all without a budget. */
hs_status engine_stack_init(struct hs_budget *budget, size_t capacity, size_t size,
                            const char *what, struct engine_stack *ret, struct hs_error *err);
/* Makes n_reserved at least n, n <= capacity. */
hs_status engine_stack_reserve(struct engine_stack *stack, size_t n, struct hs_error *err);
void engine_stack_fini(struct engine_stack *stack);

#endif
