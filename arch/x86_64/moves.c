#include "arch/moves.h"

#include "base/load.h"
#include "shape.h"

enum {
    REX_MASK = 0xf0,
    REX = 0x40,
    REX_W = 8,
    OP_LONG = 0x0f,
    OP_LONG_NOP = 0x1f, /* behind it */
    OP_STORE = 0x89,
    OP_LOAD = 0x8b,
    OP_LEA = 0x8d,
    OP_CALL = 0xe8,
    OP_JUMP = 0xe9,
    OP_JUMP_SHORT = 0xeb,
    OP_RETURN = 0xc3,
    OP_GROUP = 0xff,
    OP_TRAP = 0xcc,
    BRANCH_MASK = 0xf0,
    BRANCH = 0x70,
    BRANCH_LONG = 0x80, /* behind 0f */
    GROUP_CALL = 2,
    GROUP_JUMP = 4,
    MOD_REGISTER = 3,
    RM_SIB = 4,
    RM_RELATIVE = 5
};
enum { AX = 1 << 0, CX = 1 << 1, DX = 1 << 2, SI = 1 << 6, DI = 1 << 7, ALL = 0xffff };

/* An instruction in its parts. */
struct insn {
    struct insn_shape shape;
    const uint8_t *opcode; /* behind 0f where is_long */
    uint8_t rex;
    bool is_long, is_prefixed;
    uint8_t mod, reg, rm;
};

static bool is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x64 ||
           byte == 0x65 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26;
}

static bool take_apart(const uint8_t *code, size_t n, struct insn *ret)
{
    const uint8_t *p = code;

    *ret = (struct insn){.rex = 0};
    if (!hs_insn_shape_(code, n, &ret->shape))
        return false;
    for (; is_prefix(*p); p++)
        ret->is_prefixed = true;
    if ((*p & REX_MASK) == REX)
        ret->rex = *p++;
    ret->is_long = *p == OP_LONG;
    p += ret->is_long;
    ret->opcode = p;
    if (p + 1 < code + ret->shape.n_bytes) {
        ret->mod = p[1] >> 6;
        ret->reg = (uint8_t)((p[1] >> 3 & 7) | (ret->rex & 4) << 1);
        ret->rm = (uint8_t)((p[1] & 7) | (ret->rex & 1) << 3);
    }
    return true;
}

/* Reads the place that ModRM names, without an index. False: it has one. */
static bool read_place(const struct insn *insn, hs_addr next, struct hs_move *ret)
{
    const uint8_t *at = insn->opcode + 2;
    uint8_t low = insn->rm & 7;

    ret->base = insn->rm;
    if (low == RM_SIB) {
        uint8_t sib = *at++;
        if ((sib >> 3 & 7) != RM_SIB || (insn->rex & 2) != 0 ||
            ((sib & 7) == RM_RELATIVE && insn->mod == 0))
            return false;
        ret->base = (uint8_t)((sib & 7) | (insn->rex & 1) << 3);
    } else if (low == RM_RELATIVE && insn->mod == 0) {
        ret->base = HS_MOVE_NONE;
        ret->target = next + (uint64_t)(int64_t)insn->shape.displacement;
        return true;
    }
    ret->displacement = insn->mod == 1   ? (int8_t)*at
                        : insn->mod == 2 ? (int32_t)hs_load_u32(at)
                                         : 0;
    return true;
}

/* The registers that an instruction may change, by its opcode: those that it names, where nothing
 * else is said. */
enum changes {
    NAMED,
    NOTHING,
    PLACE,    /* the operand that may be a place in memory */
    LOW_BITS, /* the one in the opcode's low bits */
    PRODUCT,  /* rax and rdx, too */
    STRING,   /* those of moves of strings */
};
static const uint8_t changes[256] = {[0x38] = NOTHING,
                                     [0x39] = NOTHING,
                                     [0x3a] = NOTHING,
                                     [0x3b] = NOTHING,
                                     [0x50 ... 0x57] = NOTHING,
                                     [0x58 ... 0x5f] = LOW_BITS,
                                     [0x70 ... 0x7f] = NOTHING,
                                     [0x80] = PLACE,
                                     [0x81] = PLACE,
                                     [0x83] = PLACE,
                                     [0x84] = NOTHING,
                                     [0x85] = NOTHING,
                                     [0x88] = PLACE,
                                     [0x89] = PLACE,
                                     [0x90] = NOTHING,
                                     [0x91 ... 0x99] = PRODUCT,
                                     [0xa4 ... 0xaf] = STRING,
                                     [0xb8 ... 0xbf] = LOW_BITS,
                                     [0xc0] = PLACE,
                                     [0xc1] = PLACE,
                                     [0xc6] = PLACE,
                                     [0xc7] = PLACE,
                                     [0xd0 ... 0xd3] = PLACE,
                                     [0xf6] = PRODUCT,
                                     [0xf7] = PRODUCT,
                                     [0xfe] = PLACE,
                                     [0xff] = PLACE};

static unsigned changed_by(const struct insn *insn)
{
    uint8_t op = *insn->opcode;
    unsigned place = insn->mod == MOD_REGISTER ? 1u << insn->rm : 0,
             named = 1u << insn->reg | place;

    if (insn->is_long)
        return (op & BRANCH_MASK) == BRANCH_LONG || op == OP_LONG_NOP ? 0 : named;
    switch ((enum changes)changes[op]) {
    case NOTHING:
        return 0;
    case PLACE:
        return place;
    case LOW_BITS:
        return 1u << ((op & 7) | (insn->rex & 1) << 3);
    case PRODUCT:
        return named | AX | DX;
    case STRING:
        return AX | CX | SI | DI;
    default:
        return named;
    }
}

/* The last byte of an instruction of two: how far it jumps. */
static uint8_t op_end(const struct insn *insn)
{
    return insn->opcode[1];
}

static bool is_jump(const struct insn *insn)
{
    uint8_t op = *insn->opcode, group = insn->reg & 7;

    if (insn->is_long)
        return (op & BRANCH_MASK) == BRANCH_LONG;
    return op == OP_CALL || op == OP_JUMP || op == OP_JUMP_SHORT || (op & BRANCH_MASK) == BRANCH ||
           (op == OP_GROUP && (group == GROUP_CALL || group == GROUP_JUMP));
}

static void read_jump(const struct insn *insn, hs_addr next, struct hs_move *ret)
{
    uint8_t op = *insn->opcode, group = insn->reg & 7;
    bool is_group = op == OP_GROUP && !insn->is_long;
    bool is_far = op == OP_CALL || op == OP_JUMP || insn->is_long;

    if (!is_group)
        ret->target =
            next + (is_far ? insn->shape.immediate : (uint64_t)(int64_t)(int8_t)op_end(insn));
    if (insn->is_long || (op & BRANCH_MASK) == BRANCH) {
        ret->kind = HS_MOVE_BRANCH;
        return;
    }
    ret->kind = op == OP_CALL || (is_group && group == GROUP_CALL) ? HS_MOVE_CALL : HS_MOVE_LEAVE;
    ret->changed = ALL;
}

/* Reads an instruction that moves a word or an address. False: it is none. */
static bool move_word(const struct insn *insn, hs_addr next, struct hs_move *ret)
{
    uint8_t op = *insn->opcode;
    bool is_whole = !insn->is_long && !insn->is_prefixed && (insn->rex & REX_W) != 0;

    if (!is_whole || (op != OP_LOAD && op != OP_STORE && op != OP_LEA))
        return false;
    if (insn->mod == MOD_REGISTER) {
        ret->kind = HS_MOVE_COPY;
        ret->reg = op == OP_LOAD ? insn->reg : insn->rm;
        ret->base = op == OP_LOAD ? insn->rm : insn->reg;
        return op != OP_LEA;
    }
    if (!read_place(insn, next, ret))
        return false;
    ret->kind = op == OP_LOAD ? HS_MOVE_LOAD : op == OP_STORE ? HS_MOVE_STORE : HS_MOVE_ADDRESS;
    return true;
}

bool hs_code_move(const uint8_t *code, size_t n, hs_addr vaddr, struct hs_move *ret)
{
    struct insn insn;

    if (n == 0)
        return false;
    *ret = (struct hs_move){.n_bytes = 1, .kind = HS_MOVE_LEAVE, .changed = ALL};
    if (*code == OP_TRAP || *code == OP_RETURN)
        return true;
    if (!take_apart(code, n, &insn))
        return false;
    hs_addr next = vaddr + insn.shape.n_bytes;
    *ret = (struct hs_move){.n_bytes = insn.shape.n_bytes, .reg = insn.reg};
    if (is_jump(&insn)) {
        read_jump(&insn, next, ret);
        return true;
    }
    if (move_word(&insn, next, ret))
        return true;
    *ret = (struct hs_move){.n_bytes = insn.shape.n_bytes, .changed = (uint16_t)changed_by(&insn)};
    return true;
}
