#include "shape.h"

#include "base/load.h"

enum { INSN_MOST_BYTES = 15 };

/* The parts behind an opcode. The immediate is the number in the low bits. */
enum {
    NO = 0,
    I1,       /* one byte */
    I2,       /* two */
    IZ,       /* four, or two where operands are of two */
    IV,       /* the same, or eight */
    J4,       /* four, how far a jump goes */
    T1,       /* one byte, of a test in a group */
    TZ,       /* IZ, likewise */
    RARE = 8, /* another has to decode it */
    M = 16,   /* a byte that names operands (ModRM) */
    M1 = M | I1,
    MZ = M | IZ,
    XX = RARE,
    IMMEDIATE = 7,
};

static const uint8_t shape_one_byte[256] = {
    M,  M,  M,  M,  I1, IZ, XX,     XX,     M,  M,  M,  M,  I1, IZ, XX, XX, /* 00 */
    M,  M,  M,  M,  I1, IZ, XX,     XX,     M,  M,  M,  M,  I1, IZ, XX, XX, /* 10 */
    M,  M,  M,  M,  I1, IZ, XX,     XX,     M,  M,  M,  M,  I1, IZ, XX, XX, /* 20 */
    M,  M,  M,  M,  I1, IZ, XX,     XX,     M,  M,  M,  M,  I1, IZ, XX, XX, /* 30 */
    XX, XX, XX, XX, XX, XX, XX,     XX,     XX, XX, XX, XX, XX, XX, XX, XX, /* 40: REX */
    NO, NO, NO, NO, NO, NO, NO,     NO,     NO, NO, NO, NO, NO, NO, NO, NO, /* 50 */
    XX, XX, XX, M,  XX, XX, XX,     XX,     IZ, MZ, I1, M1, NO, NO, NO, NO, /* 60 */
    I1, I1, I1, I1, I1, I1, I1,     I1,     I1, I1, I1, I1, I1, I1, I1, I1, /* 70 */
    M1, MZ, XX, M1, M,  M,  M,      M,      M,  M,  M,  M,  M,  M,  M,  XX, /* 80 */
    NO, NO, NO, NO, NO, NO, NO,     NO,     NO, NO, XX, NO, NO, NO, NO, NO, /* 90 */
    XX, XX, XX, XX, NO, NO, NO,     NO,     I1, IZ, NO, NO, NO, NO, NO, NO, /* a0 */
    I1, I1, I1, I1, I1, I1, I1,     I1,     IV, IV, IV, IV, IV, IV, IV, IV, /* b0 */
    M1, M1, I2, NO, XX, XX, M1,     MZ,     XX, NO, I2, NO, NO, I1, XX, NO, /* c0 */
    M,  M,  M,  M,  XX, XX, XX,     NO,     M,  M,  M,  M,  M,  M,  M,  M,  /* d0 */
    I1, I1, I1, I1, I1, I1, I1,     I1,     J4, J4, XX, I1, NO, NO, NO, NO, /* e0 */
    XX, NO, XX, XX, NO, NO, M | T1, M | TZ, NO, NO, NO, NO, NO, NO, M,  M,  /* f0 */
};

/* Behind 0f. */
static const uint8_t shape_two_bytes[256] = {
    M,  M,  M,  M,  XX, NO, NO, NO, NO, NO, XX, NO, XX, M,  XX, XX, /* 00 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 10 */
    XX, XX, XX, XX, XX, XX, XX, XX, M,  M,  M,  M,  M,  M,  M,  M,  /* 20 */
    NO, NO, NO, NO, NO, NO, XX, NO, XX, XX, XX, XX, XX, XX, XX, XX, /* 30 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 40 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 50 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 60 */
    M1, M1, M1, M1, M,  M,  M,  NO, XX, XX, XX, XX, M,  M,  M,  M,  /* 70 */
    J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, J4, /* 80 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* 90 */
    NO, NO, NO, M,  M1, M,  XX, XX, NO, NO, NO, M,  M1, M,  M,  M,  /* a0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M1, M,  M,  M,  M,  M,  /* b0 */
    M,  M,  M1, M,  M1, M1, M1, M,  NO, NO, NO, NO, NO, NO, NO, NO, /* c0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* d0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  /* e0 */
    M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  M,  XX, /* f0 */
};

struct shape_reader {
    const uint8_t *code;
    size_t n, at;
    bool is_two, is_eight; /* bytes of an operand */
};

static bool shape_is_prefix(uint8_t byte)
{
    return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x2e ||
           byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

/* Passes over the prefixes: REX counts only where the opcode follows it. */
static void shape_prefixes(struct shape_reader *r)
{
    for (; r->at < r->n && shape_is_prefix(r->code[r->at]); r->at++)
        r->is_two |= r->code[r->at] == 0x66;
    if (r->at < r->n && (r->code[r->at] & 0xf0) == 0x40)
        r->is_eight = (r->code[r->at++] & 8) != 0;
}

/* Passes over the opcode of the VEX form. Returns its parts. */
static unsigned shape_vex(struct shape_reader *r)
{
    bool is_short = r->code[r->at] == 0xc5;
    size_t head = is_short ? 2 : 3;

    if (r->n - r->at <= head)
        return RARE;
    unsigned map = is_short ? 1 : r->code[r->at + 1] & 0x1f;
    uint8_t opcode = r->code[r->at + head];
    r->at += head + 1;
    if (map == 2 || map == 3)
        return map == 2 ? M : M1;
    return map == 1 && (shape_two_bytes[opcode] & IMMEDIATE) != J4 ? shape_two_bytes[opcode] : RARE;
}

/* Passes over the opcode. Returns its parts. */
static unsigned shape_opcode(struct shape_reader *r)
{
    if (r->at == r->n)
        return RARE;
    uint8_t opcode = r->code[r->at];
    if (opcode == 0xc4 || opcode == 0xc5)
        return shape_vex(r);
    r->at++;
    if (opcode != 0x0f)
        return shape_one_byte[opcode];
    if (r->at == r->n)
        return RARE;
    opcode = r->code[r->at++];
    if (opcode != 0x38 && opcode != 0x3a)
        return shape_two_bytes[opcode];
    r->at++;
    return opcode == 0x38 ? M : M1;
}

/* Passes over the operands that are no immediates. */
static void shape_operands(struct shape_reader *r, struct insn_shape *ret)
{
    uint8_t byte = r->code[r->at++], mod = byte >> 6, rm = byte & 7;
    size_t n_displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;

    if (mod == 3)
        return;
    if (rm == 4 && r->at < r->n && (r->code[r->at++] & 7) == 5 && mod == 0)
        n_displacement = 4;
    ret->is_rip = mod == 0 && rm == 5;
    n_displacement = ret->is_rip ? 4 : n_displacement;
    ret->has_displacement = n_displacement == 4 && r->at < r->n && r->n - r->at >= 4;
    if (ret->has_displacement)
        ret->displacement = (int32_t)hs_load_u32(r->code + r->at);
    r->at += n_displacement;
}

/* Returns how many bytes the immediate has. `tested` is of a group's opcode. */
static size_t shape_immediate(const struct shape_reader *r, unsigned parts, bool is_test)
{
    size_t z = r->is_two && !r->is_eight ? 2 : 4;

    switch (parts & IMMEDIATE) {
    case I1:
        return 1;
    case I2:
        return 2;
    case IZ:
        return z;
    case IV:
        return r->is_eight ? 8 : z;
    case J4:
        return 4;
    case T1:
        return is_test ? 1 : 0;
    case TZ:
        return is_test ? z : 0;
    default:
        return 0;
    }
}

bool hs_insn_shape_(const uint8_t *code, size_t n, struct insn_shape *ret)
{
    struct shape_reader r = {.code = code, .n = n < INSN_MOST_BYTES ? n : INSN_MOST_BYTES};
    bool is_test = false;

    *ret = (struct insn_shape){0};
    shape_prefixes(&r);
    unsigned parts = shape_opcode(&r);
    if ((parts & RARE) != 0 || ((parts & IMMEDIATE) == J4 && r.is_two))
        return false; /* processors differ about jumps with operands of two bytes */
    if ((parts & M) != 0) {
        if (r.at >= r.n)
            return false;
        is_test = (r.code[r.at] >> 3 & 7) < 2;
        shape_operands(&r, ret);
    }
    size_t n_immediate = shape_immediate(&r, parts, is_test);
    if (r.at > r.n || r.n - r.at < n_immediate)
        return false;
    ret->has_immediate = n_immediate >= 4;
    if (n_immediate == 4)
        ret->immediate = (uint64_t)(int64_t)(int32_t)hs_load_u32(code + r.at);
    else if (n_immediate == 8)
        ret->immediate = hs_load_u64(code + r.at);
    ret->n_bytes = (uint8_t)(r.at + n_immediate);
    return true;
}

/* The opcodes that write no register but those that they name, and leave others alone: by their
 * first bits, of one byte and behind 0f. */
static const uint8_t pass_is_plain[256] = {
    [0x00] = 1, [0x01] = 1, [0x02] = 1, [0x03] = 1, [0x08] = 1, [0x09] = 1, [0x0a] = 1, [0x0b] = 1,
    [0x20] = 1, [0x21] = 1, [0x22] = 1, [0x23] = 1, [0x28] = 1, [0x29] = 1, [0x2a] = 1, [0x2b] = 1,
    [0x30] = 1, [0x31] = 1, [0x32] = 1, [0x33] = 1, [0x38] = 1, [0x39] = 1, [0x3a] = 1, [0x3b] = 1,
    [0x63] = 1, [0x69] = 1, [0x6b] = 1, [0x80] = 1, [0x81] = 1, [0x83] = 1, [0x84] = 1, [0x85] = 1,
    [0x88] = 1, [0x89] = 1, [0x8a] = 1, [0x8b] = 1, [0x8d] = 1, [0xc0] = 1, [0xc1] = 1, [0xc6] = 1,
    [0xc7] = 1, [0xd0] = 1, [0xd1] = 1};

struct pass {
    const uint8_t *code;
    hs_addr vaddr, low, high;
    unsigned known; /* bits of registers that hold an address */
};

/* Returns how many bytes the operands have that `modrm` tells of, with it; `next` is behind it.
 * Branches here are not foreseen by a processor: a table takes half the time. */
static inline size_t pass_operands(uint8_t modrm, uint8_t next)
{
    static const uint8_t n_bytes[32] = {1, 1, 1, 1, 2, 5, 1, 1, 2, 2, 2, 2, 3, 2, 2, 2,
                                        5, 5, 5, 5, 6, 5, 5, 5, 1, 1, 1, 1, 1, 1, 1, 1};
    bool has_base = (modrm & 0xc7) != 4 || (next & 7) != 5;

    return n_bytes[(modrm >> 3 & 0x18) | (modrm & 7)] + (has_base ? 0U : 4U);
}

/* Tells whether an instruction of these bytes may read or write a register that holds an address;
 * a register that it does not name is taken for one at times. */
static inline bool pass_names_known(unsigned known, uint8_t rex, const uint8_t *modrm)
{
    unsigned r = rex & 4U, x = rex & 2U, b = rex & 1U; /* a register's fourth bit each */
    unsigned rm = modrm[0] & 7U, names = 1U << ((modrm[0] >> 3 & 7U) | r << 1);

    if (rm == 4 && modrm[0] < 0xc0)
        names |= 1U << ((modrm[1] & 7U) | b << 3) | 1U << ((modrm[1] >> 3 & 7U) | x << 2);
    else
        names |= 1U << (rm | b << 3);
    return (names & known) != 0;
}

/* Tells whether to pass over an instruction whose opcode, behind 0f where `is_long`, is at `p`. */
static inline bool pass_may(const struct pass *pass, uint8_t rex, bool is_long, const uint8_t *p)
{
    if (pass->known == 0)
        return true;
    if (is_long)
        return (*p & 0xf0) == 0x80 || (((*p & 0xf0) == 0x40 || (*p & 0xf6) == 0xb6) &&
                                       !pass_names_known(pass->known, rex, p + 1));
    return (*p & 0xf0) == 0x70 || (*p & 0xf8) == 0x50 ||
           (pass_is_plain[*p] != 0 && !pass_names_known(pass->known, rex, p + 1));
}

/* Returns the length of a common instruction that is passed over, or 0. Common forms have no prefix
 * but REX, and their immediates do not hang on one. */
static inline size_t pass_one(const struct pass *pass, size_t at)
{
    static const uint8_t immediate[IMMEDIATE + 1] = {
        [I1] = 1, [I2] = 2, [IZ] = 4, [J4] = 4, [IV] = 4};
    const uint8_t *begin = pass->code + at, *p = begin;
    uint8_t rex = (*p & 0xf0) == 0x40 ? *p : 0;

    p += rex != 0;
    bool is_long = *p == 0x0f;
    p += is_long;
    unsigned parts = is_long ? shape_two_bytes[*p] : shape_one_byte[*p];
    unsigned constant = parts & IMMEDIATE;
    if ((parts & RARE) != 0 || constant == T1 || constant == TZ ||
        (constant == IV && (rex & 8) != 0) || !pass_may(pass, rex, is_long, p))
        return 0;
    bool has_operands = (parts & M) != 0;
    const uint8_t *modrm = p + 1;
    size_t n_immediate = immediate[constant];
    size_t n = 1 + (has_operands ? pass_operands(modrm[0], modrm[1]) : 0) + n_immediate;
    const uint8_t *next = p + n;
    if (has_operands && (*modrm & 0xc7) == 5 &&
        pass->vaddr + (size_t)(next - pass->code) + (hs_addr)(int32_t)hs_load_u32(modrm + 1) -
                pass->low <
            pass->high - pass->low)
        return 0;
    return (size_t)(next - begin);
}

size_t hs_insn_pass_(const uint8_t *code, size_t n, hs_addr vaddr, hs_addr low, hs_addr high,
                     unsigned known)
{
    const struct pass pass = {code, vaddr, low, high, known};
    size_t at = 0;

    for (size_t length; n - at >= INSN_MOST_BYTES; at += length) {
        length = pass_one(&pass, at);
        if (length == 0)
            break;
    }
    return at;
}

/* Returns how many bytes a plain instruction touches in memory. */
static uint8_t plain_size(bool is_long, uint8_t rex, uint8_t opcode)
{
    uint8_t whole = (rex & 8) != 0 ? 8 : 4;

    if (is_long)
        return (opcode & 0xf0) == 0x40 ? whole : (opcode & 1) != 0 ? 2 : 1;
    return opcode == 0x63 ? 4 : (opcode & 1) != 0 ? whole : 1;
}

bool hs_insn_plain_(const uint8_t *code, size_t n, hs_addr vaddr, unsigned known,
                    struct insn_plain *ret)
{
    /* a pass over everything that leads nowhere: it ends where an operand leads anywhere */
    const struct pass pass = {code, vaddr, 0, 0, known};

    if (n < INSN_MOST_BYTES)
        return false;
    uint8_t rex = (*code & 0xf0) == 0x40 ? *code : 0;
    const uint8_t *p = code + (rex != 0);
    bool is_long = *p == 0x0f;
    p += is_long;
    bool is_lea = !is_long && *p == 0x8d;
    bool is_plain = is_long ? (*p & 0xf0) == 0x40 || (*p & 0xf6) == 0xb6 : pass_is_plain[*p] != 0;
    if (!is_plain || (p[1] & 0xc7) != 5 || (is_lea && (rex & 8) == 0))
        return false;
    size_t n_bytes = pass_one(&pass, 0);
    if (n_bytes == 0)
        return false;
    *ret = (struct insn_plain){
        .n_bytes = (uint8_t)n_bytes,
        .reg = (uint8_t)((p[1] >> 3 & 7) | (rex & 4) << 1),
        .n_access_bytes = plain_size(is_long, rex, *p),
        .is_lea = is_lea,
        .target = vaddr + n_bytes + (hs_addr)(int32_t)hs_load_u32(p + 2),
    };
    return true;
}
