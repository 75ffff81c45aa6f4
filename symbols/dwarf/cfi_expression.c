#include "cfi_expression.h"

#include "expression.h"

enum { EXPRESSION_MAX_OPERATIONS = 256 };

bool hs_cfi_evaluate_(const uint8_t *bytes, size_t n_bytes, const struct hs_registers *r,
                      const struct hs_memory_reader *memory, bool has_first, uint64_t first,
                      uint64_t *ret)
{
    struct expression e = {.c = hs_cursor_make(bytes, n_bytes), .r = r, .memory = memory};
    if (has_first)
        hs_expression_push_(&e, first);
    for (int n = 0; hs_cursor_left(&e.c) > 0 && !e.failed && !e.is_unknown; n++)
        if (n == EXPRESSION_MAX_OPERATIONS || !hs_expression_step_(&e, hs_cursor_u8(&e.c)))
            return false;
    if (e.failed || e.is_unknown || e.c.failed || e.depth == 0)
        return false;
    *ret = hs_expression_pop_(&e);
    return true;
}
