#include "cfi_expression.h"

#include <dwarf.h>

#include "base/cursor.h"

enum { EXPRESSION_DEPTH = 32, EXPRESSION_MAX_OPERATIONS = 256 };

struct expression {
    struct hs_cursor c;
    const struct hs_registers *r;
    const struct hs_memory_reader *memory;
    uint64_t stack[EXPRESSION_DEPTH];
    size_t depth;
    bool failed;
};

static void expression_push(struct expression *e, uint64_t value)
{
    if (e->depth == EXPRESSION_DEPTH)
        e->failed = true;
    else
        e->stack[e->depth++] = value;
}

static uint64_t expression_pop(struct expression *e)
{
    if (e->depth == 0) {
        e->failed = true;
        return 0;
    }
    return e->stack[--e->depth];
}

/* The entry `below` the top, or 0 and failed. */
static uint64_t expression_peek(struct expression *e, size_t below)
{
    if (below >= e->depth) {
        e->failed = true;
        return 0;
    }
    return e->stack[e->depth - 1 - below];
}

static int64_t expression_sleb(struct hs_cursor *c)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = hs_cursor_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0 && !c->failed);
    if (shift < 64 && (byte & 0x40) != 0)
        value |= UINT64_MAX << shift;
    return (int64_t)value;
}

static void expression_register(struct expression *e, uint64_t number)
{
    uint64_t offset = (uint64_t)expression_sleb(&e->c);
    if (number >= HS_N_REGISTERS || !hs_register_known(e->r, (enum hs_register)number))
        e->failed = true;
    else
        expression_push(e, e->r->value[number] + offset);
}

static void expression_deref(struct expression *e, size_t n_bytes)
{
    uint64_t at = expression_pop(e), value = 0;
    if (e->failed || n_bytes == 0 || n_bytes > 8 ||
        !e->memory->read(e->memory->context, at, &value, n_bytes))
        e->failed = true;
    else
        expression_push(e, value);
}

/* Constants and what reads the world; false when `op` is none of them. */
static bool expression_source(struct expression *e, uint8_t op)
{
    struct hs_cursor *c = &e->c;
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        expression_push(e, (uint64_t)(op - DW_OP_lit0));
    else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
        expression_register(e, (uint64_t)(op - DW_OP_breg0));
    else if (op == DW_OP_bregx)
        expression_register(e, hs_cursor_varint(c));
    else if (op == DW_OP_const1u)
        expression_push(e, hs_cursor_u8(c));
    else if (op == DW_OP_const1s)
        expression_push(e, (uint64_t)(int8_t)hs_cursor_u8(c));
    else if (op == DW_OP_const2u)
        expression_push(e, hs_cursor_u16(c));
    else if (op == DW_OP_const2s)
        expression_push(e, (uint64_t)(int16_t)hs_cursor_u16(c));
    else if (op == DW_OP_const4u)
        expression_push(e, hs_cursor_u32(c));
    else if (op == DW_OP_const4s)
        expression_push(e, (uint64_t)(int32_t)hs_cursor_u32(c));
    else if (op == DW_OP_const8u || op == DW_OP_const8s)
        expression_push(e, hs_cursor_u64(c));
    else if (op == DW_OP_constu)
        expression_push(e, hs_cursor_varint(c));
    else if (op == DW_OP_consts)
        expression_push(e, (uint64_t)expression_sleb(c));
    else
        return false;
    return true;
}

/* Stack order, memory and operations on the top entry; false when `op` is none of them. */
static bool expression_top(struct expression *e, uint8_t op)
{
    uint64_t a, b;
    switch (op) {
    case DW_OP_nop:
        return true;
    case DW_OP_deref:
        expression_deref(e, 8);
        return true;
    case DW_OP_deref_size:
        expression_deref(e, hs_cursor_u8(&e->c));
        return true;
    case DW_OP_dup:
    case DW_OP_over:
        expression_push(e, expression_peek(e, op == DW_OP_over ? 1 : 0));
        return true;
    case DW_OP_drop:
        expression_pop(e);
        return true;
    case DW_OP_swap:
        a = expression_pop(e);
        b = expression_pop(e);
        expression_push(e, a);
        expression_push(e, b);
        return true;
    case DW_OP_plus_uconst:
        a = expression_pop(e);
        expression_push(e, a + hs_cursor_varint(&e->c));
        return true;
    case DW_OP_neg:
        expression_push(e, -expression_pop(e));
        return true;
    case DW_OP_not:
        expression_push(e, ~expression_pop(e));
        return true;
    default:
        return false;
    }
}

static bool expression_compare(uint8_t op, int64_t a, int64_t b, uint64_t *ret)
{
    switch (op) {
    case DW_OP_eq:
        *ret = a == b;
        return true;
    case DW_OP_ne:
        *ret = a != b;
        return true;
    case DW_OP_lt:
        *ret = a < b;
        return true;
    case DW_OP_le:
        *ret = a <= b;
        return true;
    case DW_OP_gt:
        *ret = a > b;
        return true;
    case DW_OP_ge:
        *ret = a >= b;
        return true;
    default:
        return false;
    }
}

static bool expression_arithmetic(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
    switch (op) {
    case DW_OP_plus:
        *ret = a + b;
        return true;
    case DW_OP_minus:
        *ret = a - b;
        return true;
    case DW_OP_mul:
        *ret = a * b;
        return true;
    case DW_OP_and:
        *ret = a & b;
        return true;
    case DW_OP_or:
        *ret = a | b;
        return true;
    case DW_OP_xor:
        *ret = a ^ b;
        return true;
    case DW_OP_shl:
        *ret = b < 64 ? a << b : 0;
        return true;
    case DW_OP_shr:
        *ret = b < 64 ? a >> b : 0;
        return true;
    default:
        return expression_compare(op, (int64_t)a, (int64_t)b, ret);
    }
}

bool hs_cfi_evaluate_(const uint8_t *bytes, size_t n_bytes, const struct hs_registers *r,
                      const struct hs_memory_reader *memory, bool has_first, uint64_t first,
                      uint64_t *ret)
{
    struct expression e = {.c = hs_cursor_make(bytes, n_bytes), .r = r, .memory = memory};
    if (has_first)
        expression_push(&e, first);
    for (int n = 0; hs_cursor_left(&e.c) > 0 && !e.failed; n++) {
        uint8_t op = hs_cursor_u8(&e.c);
        if (n == EXPRESSION_MAX_OPERATIONS)
            return false;
        if (expression_source(&e, op) || expression_top(&e, op))
            continue;
        uint64_t b = expression_pop(&e), a = expression_pop(&e), value;
        if (!expression_arithmetic(op, a, b, &value))
            return false;
        expression_push(&e, value);
    }
    if (e.failed || e.c.failed || e.depth == 0)
        return false;
    *ret = expression_pop(&e);
    return true;
}
