/* The stack machine of DWARF expressions: the operations that frame tables and locations share.
 *
 * Expressions are hostile. `failed`: it is none (stack over- or underflow, a cut operand). What it
 * needs may also be unknown (a register that nobody saved, memory that cannot be read): then
 * `is_unknown` and the values mean nothing any more, but it still runs to its end and says what
 * kind of place it describes. */
#ifndef HS_DWARF_EXPRESSION_H
#define HS_DWARF_EXPRESSION_H

#include "base/cursor.h"
#include "symbols/cfi.h"

enum { EXPRESSION_DEPTH = 32 };

struct expression {
    struct hs_cursor c;
    const struct hs_registers *r;
    const struct hs_memory_reader *memory;
    uint64_t stack[EXPRESSION_DEPTH];
    size_t depth;
    bool failed, is_unknown;
};

void hs_expression_push_(struct expression *e, uint64_t value);
uint64_t hs_expression_pop_(struct expression *e);
/* Returns the entry `below` the top, or 0 and failed. */
uint64_t hs_expression_peek_(struct expression *e, size_t below);
/* Pushes the register's value plus `offset`; unknown when the register is. */
void hs_expression_register_(struct expression *e, uint64_t number, uint64_t offset);
/* Replaces the address on top by the n_bytes it holds. */
void hs_expression_deref_(struct expression *e, size_t n_bytes);
int64_t hs_expression_sleb_(struct hs_cursor *c);

/* Runs one operation, its operands taken from `c`. False when it is none of constants, registers,
 * memory, stack order, arithmetic without division, and comparison; the stack is as before then. */
bool hs_expression_step_(struct expression *e, uint8_t op);

#endif
