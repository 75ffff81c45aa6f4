#include "expression.h"

#include <dwarf.h>

void hs_expression_push_(struct expression *e, uint64_t value)
{
    if (e->depth == EXPRESSION_DEPTH)
        e->failed = true;
    else
        e->stack[e->depth++] = value;
}

uint64_t hs_expression_pop_(struct expression *e)
{
    if (e->depth == 0) {
        e->failed = true;
        return 0;
    }
    return e->stack[--e->depth];
}

uint64_t hs_expression_peek_(struct expression *e, size_t below)
{
    if (below >= e->depth) {
        e->failed = true;
        return 0;
    }
    return e->stack[e->depth - 1 - below];
}

int64_t hs_expression_sleb_(struct hs_cursor *c)
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

void hs_expression_register_(struct expression *e, uint64_t number, uint64_t offset)
{
    bool is_known = number < HS_N_REGISTERS && hs_register_known(e->r, (enum hs_register)number);
    e->is_unknown |= !is_known;
    hs_expression_push_(e, is_known ? e->r->value[number] + offset : 0);
}

void hs_expression_deref_(struct expression *e, size_t n_bytes)
{
    uint64_t at = hs_expression_pop_(e), value = 0;
    e->failed |= n_bytes == 0 || n_bytes > 8;
    if (!e->failed && !e->is_unknown)
        e->is_unknown = !e->memory->read(e->memory->context, at, &value, n_bytes);
    hs_expression_push_(e, value);
}

static void expression_bregx(struct expression *e)
{
    uint64_t number = hs_cursor_varint(&e->c);
    hs_expression_register_(e, number, (uint64_t)hs_expression_sleb_(&e->c));
}

/* A constant of this operation's own size; false when `op` is none. */
static bool expression_constant(struct expression *e, uint8_t op)
{
    struct hs_cursor *c = &e->c;
    switch (op) {
    case DW_OP_const1u:
        hs_expression_push_(e, hs_cursor_u8(c));
        return true;
    case DW_OP_const1s:
        hs_expression_push_(e, (uint64_t)(int8_t)hs_cursor_u8(c));
        return true;
    case DW_OP_const2u:
        hs_expression_push_(e, hs_cursor_u16(c));
        return true;
    case DW_OP_const2s:
        hs_expression_push_(e, (uint64_t)(int16_t)hs_cursor_u16(c));
        return true;
    case DW_OP_const4u:
        hs_expression_push_(e, hs_cursor_u32(c));
        return true;
    case DW_OP_const4s:
        hs_expression_push_(e, (uint64_t)(int32_t)hs_cursor_u32(c));
        return true;
    case DW_OP_const8u:
    case DW_OP_const8s:
        hs_expression_push_(e, hs_cursor_u64(c));
        return true;
    default:
        return false;
    }
}

/* Constants and registers; false when `op` is none of them. */
static bool expression_source(struct expression *e, uint8_t op)
{
    struct hs_cursor *c = &e->c;
    if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
        hs_expression_push_(e, (uint64_t)(op - DW_OP_lit0));
    else if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
        hs_expression_register_(e, (uint64_t)(op - DW_OP_breg0), (uint64_t)hs_expression_sleb_(c));
    else if (op == DW_OP_bregx)
        expression_bregx(e);
    else if (op == DW_OP_constu)
        hs_expression_push_(e, hs_cursor_varint(c));
    else if (op == DW_OP_consts)
        hs_expression_push_(e, (uint64_t)hs_expression_sleb_(c));
    else
        return expression_constant(e, op);
    return true;
}

/* Executes stack order, memory and operations on the top entry; false when `op` is none of them. */
static bool expression_top(struct expression *e, uint8_t op)
{
    uint64_t a, b;
    switch (op) {
    case DW_OP_nop:
        return true;
    case DW_OP_deref:
        hs_expression_deref_(e, 8);
        return true;
    case DW_OP_deref_size:
        hs_expression_deref_(e, hs_cursor_u8(&e->c));
        return true;
    case DW_OP_dup:
    case DW_OP_over:
        hs_expression_push_(e, hs_expression_peek_(e, op == DW_OP_over ? 1 : 0));
        return true;
    case DW_OP_drop:
        hs_expression_pop_(e);
        return true;
    case DW_OP_swap:
        a = hs_expression_pop_(e);
        b = hs_expression_pop_(e);
        hs_expression_push_(e, a);
        hs_expression_push_(e, b);
        return true;
    case DW_OP_plus_uconst:
        a = hs_expression_pop_(e);
        hs_expression_push_(e, a + hs_cursor_varint(&e->c));
        return true;
    case DW_OP_neg:
        hs_expression_push_(e, -hs_expression_pop_(e));
        return true;
    case DW_OP_not:
        hs_expression_push_(e, ~hs_expression_pop_(e));
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

bool hs_expression_step_(struct expression *e, uint8_t op)
{
    if (expression_source(e, op) || expression_top(e, op))
        return true;
    uint64_t value = 0;
    if (!expression_arithmetic(op, hs_expression_peek_(e, 1), hs_expression_peek_(e, 0), &value))
        return false;
    hs_expression_pop_(e);
    hs_expression_pop_(e);
    hs_expression_push_(e, value);
    return true;
}
