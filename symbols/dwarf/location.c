#include "location.h"

#include <dwarf.h>

#include "expression.h"

struct machine {
    struct expression e;
    struct location_frame *frame;
    struct location *ret;
    struct location_piece now; /* of the piece being described */
    uint64_t offset_bytes;     /* of it in the variable */
    bool is_described; /* `now` says what it is; else it is memory at the top of the stack */
    bool has_entry_value;
};

static void describe(struct machine *m, enum location_kind kind)
{
    m->now.kind = (uint8_t)kind;
    m->is_described = true;
}

static void describe_register(struct machine *m, uint64_t number)
{
    bool is_ours = number < HS_N_REGISTERS;
    bool is_known = is_ours && hs_register_known(m->e.r, (enum hs_register)number);
    m->now.reg = is_known ? (uint8_t)number : HS_N_REGISTERS;
    describe(m, is_known ? LOCATION_REGISTER : is_ours ? LOCATION_NOWHERE : LOCATION_VALUE);
}

/* The stack pointer at entry is told by the frame address; what a callee must keep is in the caller
 * what it was at entry. */
static void push_entry_register(struct machine *m, uint64_t number)
{
    const struct hs_registers *caller = m->frame->caller;
    bool is_kept = number < HS_N_REGISTERS && (HS_REGS_CALLEE_SAVED >> number & 1) != 0;
    if (number == HS_REG_SP) {
        hs_expression_push_(&m->e, m->frame->cfa - HS_ENTRY_SP_BELOW_CFA);
    } else if (is_kept && caller != NULL && hs_register_known(caller, (enum hs_register)number)) {
        hs_expression_push_(&m->e, caller->value[number]);
    } else {
        m->e.is_unknown = true;
        hs_expression_push_(&m->e, 0);
    }
    m->has_entry_value = true;
}

/* A block that is one register, as all compilers write; another one is not known. */
static void push_entry_value(struct machine *m)
{
    uint64_t n = hs_cursor_varint(&m->e.c);
    if (n > hs_cursor_left(&m->e.c)) {
        m->e.failed = true;
        return;
    }
    struct hs_cursor block = hs_cursor_make(hs_cursor_bytes(&m->e.c, (size_t)n), (size_t)n);
    uint8_t op = hs_cursor_u8(&block);
    uint64_t number = HS_N_REGISTERS;
    if (op >= DW_OP_reg0 && op <= DW_OP_reg31)
        number = (uint64_t)(op - DW_OP_reg0);
    else if (op == DW_OP_regx)
        number = hs_cursor_varint(&block);
    if (block.failed || hs_cursor_left(&block) != 0)
        number = HS_N_REGISTERS;
    push_entry_register(m, number);
}

static void push_indexed(struct machine *m, bool is_address)
{
    hs_addr address = 0;
    uint64_t index = hs_cursor_varint(&m->e.c);
    const struct location_frame *frame = m->frame;
    if (frame->info == NULL || frame->unit == NULL || m->e.c.failed ||
        !hs_debug_indexed_address_(frame->info, frame->unit, index, &address))
        m->e.is_unknown = true;
    hs_expression_push_(&m->e, is_address ? address + frame->bias : address);
}

static void push_frame_base(struct machine *m)
{
    uint64_t offset = (uint64_t)hs_expression_sleb_(&m->e.c);
    m->e.is_unknown |= !m->frame->has_frame_base;
    hs_expression_push_(&m->e, m->frame->frame_base + offset);
}

/* Addresses of the program and of the frame; false when `op` is none of them. */
static bool step_address(struct machine *m, uint8_t op)
{
    switch (op) {
    case DW_OP_addr:
        hs_expression_push_(&m->e, hs_cursor_u64(&m->e.c) + m->frame->bias);
        return true;
    case DW_OP_addrx:
    case DW_OP_GNU_addr_index:
        push_indexed(m, true);
        return true;
    case DW_OP_constx:
    case DW_OP_GNU_const_index:
        push_indexed(m, false);
        return true;
    case DW_OP_fbreg:
        push_frame_base(m);
        return true;
    case DW_OP_call_frame_cfa:
        hs_expression_push_(&m->e, m->frame->cfa);
        return true;
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
        push_entry_value(m);
        return true;
    default:
        return false;
    }
}

static void skip_block(struct machine *m, uint64_t n)
{
    if (n > hs_cursor_left(&m->e.c))
        m->e.failed = true;
    else
        hs_cursor_skip(&m->e.c, (size_t)n);
}

/* Executes an operation that describes what holds the variable, where that is not the memory at the
 * top of the stack; false for other operations. */
static bool step_description(struct machine *m, uint8_t op)
{
    struct hs_cursor *c = &m->e.c;
    switch (op) {
    case DW_OP_regx:
        describe_register(m, hs_cursor_varint(c));
        return true;
    case DW_OP_implicit_value:
        skip_block(m, hs_cursor_varint(c));
        describe(m, LOCATION_VALUE);
        return true;
    case DW_OP_implicit_pointer: /* to a variable that has no place itself */
    case DW_OP_GNU_implicit_pointer:
        skip_block(m, m->frame->unit == NULL ? 4 : m->frame->unit->n_offset_bytes);
        hs_expression_sleb_(c);
        describe(m, LOCATION_VALUE);
        return true;
    case DW_OP_form_tls_address: /* in a thread's block: nowhere in the frame */
    case DW_OP_GNU_push_tls_address:
        hs_expression_pop_(&m->e);
        describe(m, LOCATION_VALUE);
        return true;
    case DW_OP_stack_value:
        hs_expression_pop_(&m->e);
        describe(m, m->has_entry_value ? LOCATION_ENTRY : LOCATION_VALUE);
        return true;
    case DW_OP_GNU_uninit:
        return true;
    default:
        if (op < DW_OP_reg0 || op > DW_OP_reg31)
            return false;
        describe_register(m, (uint64_t)(op - DW_OP_reg0));
        return true;
    }
}

/* Operations on typed values, of floating point mostly: their results are values, never places. */
static bool step_typed(struct machine *m, uint8_t op)
{
    struct hs_cursor *c = &m->e.c;
    switch (op) {
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
        hs_cursor_varint(c);
        skip_block(m, hs_cursor_u8(c));
        hs_expression_push_(&m->e, 0);
        break;
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
        hs_cursor_varint(c);
        hs_cursor_varint(c);
        hs_expression_push_(&m->e, 0);
        break;
    case DW_OP_deref_type:
    case DW_OP_GNU_deref_type:
        hs_cursor_u8(c);
        hs_cursor_varint(c);
        break;
    case DW_OP_convert:
    case DW_OP_GNU_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_reinterpret:
        hs_cursor_varint(c);
        break;
    default:
        return false;
    }
    m->e.is_unknown = true;
    return true;
}

static void step_divide(struct machine *m, uint8_t op)
{
    uint64_t b = hs_expression_pop_(&m->e), a = hs_expression_pop_(&m->e);
    if (b == 0 || (op == DW_OP_div && a == UINT64_C(1) << 63 && b == UINT64_MAX))
        m->e.is_unknown = true;
    else
        a = op == DW_OP_mod ? a % b : (uint64_t)((int64_t)a / (int64_t)b);
    hs_expression_push_(&m->e, m->e.is_unknown ? 0 : a);
}

static void step_shift_signed(struct machine *m)
{
    uint64_t n = hs_expression_pop_(&m->e), a = hs_expression_pop_(&m->e);
    uint64_t fill = a >> 63 != 0 ? UINT64_MAX : 0;
    uint64_t shifted = n < 64 ? a >> n | (n == 0 ? 0 : fill << (64 - n)) : fill;
    hs_expression_push_(&m->e, shifted);
}

/* A branch stays inside the expression; that it ends is the counter's care. */
static void step_branch(struct machine *m, bool is_conditional)
{
    struct hs_cursor *c = &m->e.c;
    int16_t distance = (int16_t)hs_cursor_u16(c);
    int64_t to = (int64_t)c->at + distance;
    m->e.failed |= is_conditional && m->e.is_unknown; /* which way is not known either */
    if (is_conditional && hs_expression_pop_(&m->e) == 0)
        return;
    if (to < 0 || (uint64_t)to > c->n_bytes)
        m->e.failed = true;
    else if (!c->failed)
        hs_cursor_seek(c, (size_t)to);
}

static void step_rotate(struct machine *m)
{
    uint64_t a = hs_expression_pop_(&m->e), b = hs_expression_pop_(&m->e),
             c = hs_expression_pop_(&m->e);
    hs_expression_push_(&m->e, a);
    hs_expression_push_(&m->e, c);
    hs_expression_push_(&m->e, b);
}

/* Executes an operation that frame tables do without; false when `op` is none of them. */
static bool step_rare(struct machine *m, uint8_t op)
{
    uint64_t a;
    switch (op) {
    case DW_OP_div:
    case DW_OP_mod:
        step_divide(m, op);
        return true;
    case DW_OP_shra:
        step_shift_signed(m);
        return true;
    case DW_OP_abs:
        a = hs_expression_pop_(&m->e);
        hs_expression_push_(&m->e, a >> 63 != 0 ? -a : a);
        return true;
    case DW_OP_pick:
        hs_expression_push_(&m->e, hs_expression_peek_(&m->e, hs_cursor_u8(&m->e.c)));
        return true;
    case DW_OP_rot:
        step_rotate(m);
        return true;
    case DW_OP_skip:
    case DW_OP_bra:
        step_branch(m, op == DW_OP_bra);
        return true;
    default:
        return false;
    }
}

/* Ends the description of a piece, n_bytes long (0: the whole variable). */
static void end_piece(struct machine *m, uint64_t n_bytes)
{
    struct location *ret = m->ret;
    if (!m->is_described && m->e.depth == 0) {
        describe(m, LOCATION_NOWHERE);
    } else if (!m->is_described) {
        m->now.address = hs_expression_pop_(&m->e);
        m->e.failed |= m->e.is_unknown;
        describe(m, LOCATION_MEMORY);
    }
    if (ret->n_pieces == LOCATION_MAX_PIECES || n_bytes > UINT64_MAX - m->offset_bytes) {
        m->e.failed = true;
        return;
    }
    m->now.offset_bytes = m->offset_bytes;
    m->now.n_bytes = n_bytes;
    ret->pieces[ret->n_pieces++] = m->now;
    m->offset_bytes += n_bytes;
    m->now = (struct location_piece){.reg = HS_N_REGISTERS};
    m->is_described = m->has_entry_value = m->e.is_unknown = false;
    m->e.depth = 0;
}

static bool step_piece(struct machine *m, uint8_t op)
{
    uint64_t n;
    switch (op) {
    case DW_OP_piece:
        n = hs_cursor_varint(&m->e.c);
        m->e.failed |= n == 0;
        break;
    case DW_OP_bit_piece:
        n = hs_cursor_varint(&m->e.c) / 8;
        if (hs_cursor_varint(&m->e.c) != 0 || n == 0) /* bits from the middle, or of a byte */
            describe(m, LOCATION_VALUE);
        break;
    default:
        return false;
    }
    end_piece(m, n);
    return true;
}

/* Executes one operation. False when it is unknown or misplaced. A description ends its piece:
 * nothing but a piece may follow. */
static bool machine_step(struct machine *m, uint8_t op)
{
    if (step_piece(m, op))
        return true;
    if (m->is_described)
        return op == DW_OP_GNU_uninit;
    return step_description(m, op) || step_address(m, op) || step_rare(m, op) ||
           step_typed(m, op) || hs_expression_step_(&m->e, op);
}

/* Executes the expression to its end; false when it cannot be evaluated. */
static bool machine_run(struct machine *m)
{
    struct expression *e = &m->e;
    for (int n = 0; hs_cursor_left(&e->c) > 0; n++) {
        uint8_t op = hs_cursor_u8(&e->c);
        if (n == LOCATION_MAX_OPERATIONS || m->frame->n_operations_left == 0)
            return false;
        m->frame->n_operations_left--;
        if (!machine_step(m, op) || e->failed || e->c.failed)
            return false;
    }
    return !e->c.failed;
}

void hs_location_evaluate_(struct location_frame *frame, const uint8_t *bytes, size_t n_bytes,
                           struct location *ret)
{
    struct machine m = {
        .e = {.c = hs_cursor_make(bytes, n_bytes), .r = frame->registers, .memory = frame->memory},
        .frame = frame,
        .ret = ret,
        .now = {.reg = HS_N_REGISTERS},
    };
    *ret = (struct location){0};
    ret->is_known = machine_run(&m);
    if (ret->is_known && (m.is_described || m.e.depth > 0 || ret->n_pieces == 0))
        end_piece(&m, 0);
    ret->is_known = ret->is_known && !m.e.failed;
    if (!ret->is_known)
        ret->n_pieces = 0;
}

bool hs_location_frame_base_(struct location_frame *frame, const uint8_t *bytes, size_t n_bytes,
                             uint64_t *ret)
{
    struct location location;
    hs_location_evaluate_(frame, bytes, n_bytes, &location);
    if (!location.is_known || location.n_pieces != 1)
        return false;
    const struct location_piece *piece = &location.pieces[0];
    if (piece->kind != LOCATION_REGISTER && piece->kind != LOCATION_MEMORY)
        return false;
    *ret = piece->kind == LOCATION_MEMORY ? piece->address : frame->registers->value[piece->reg];
    return true;
}
