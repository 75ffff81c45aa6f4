#include "arch/followed.h"

#include <Zydis/Zydis.h>

#include "shape.h"

/* The lowest address that is mapped: smaller constants are counts and flags. */
enum { MENTION_LOWEST = 4096, MENTION_REGISTERS = 16 };

struct mention_walk {
    const struct hs_mention_taker *mentions;
    hs_addr held[MENTION_REGISTERS]; /* by register; 0: not known */
    unsigned known;                  /* bits of those that hold one */
    const ZydisDecodedInstruction *insn;
    const ZydisDecodedOperand *operands;
    hs_addr next; /* behind the instruction */
};

/* rax, rcx, rdx, rsi, rdi, r8 to r11: what a call may change (System V ABI). */
enum { MENTION_CALL_CHANGES = 0x0fc7 };

static int mention_register(ZydisRegister reg)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

    return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? (int)ZydisRegisterGetId(whole)
                                                                : -1;
}

static bool mention_is_held(const struct mention_walk *w, ZydisRegister reg, int *ret)
{
    *ret = reg == ZYDIS_REGISTER_NONE ? -1 : mention_register(reg);
    return *ret >= 0 && (w->known >> *ret & 1) != 0;
}

/* Tells a mention. Returns whether an address that it takes shall be followed. */
static bool mention_put(const struct mention_walk *w, hs_addr base, hs_addr at,
                        enum hs_mention_kind kind, const ZydisDecodedOperand *o)
{
    bool is_taken = kind == HS_MENTION_TAKEN || kind == HS_MENTION_MEMBER_TAKEN;
    const struct hs_mention mention = {base, at, (uint16_t)(is_taken ? 0 : o->size / 8),
                                       (uint8_t)kind};

    return w->mentions->take(w->mentions->context, &mention) && is_taken;
}

/* Tells a memory operand through registers: a member where the base holds an address, an array
 * where the index or a constant does. Returns the address that lea makes, or 0. */
static hs_addr mention_through(const struct mention_walk *w, const ZydisDecodedOperand *o,
                               bool is_lea)
{
    hs_addr disp = (hs_addr)o->mem.disp.value;
    int reg;

    if (mention_is_held(w, o->mem.base, &reg)) {
        hs_addr base = w->held[reg];
        if (o->mem.index != ZYDIS_REGISTER_NONE) {
            mention_put(w, base, base, HS_MENTION_INDEXED, o);
            return 0;
        }
        return mention_put(w, base, base + disp,
                           is_lea ? HS_MENTION_MEMBER_TAKEN : HS_MENTION_MEMBER, o)
                   ? base + disp
                   : 0;
    }
    if (o->mem.scale == 1 && mention_is_held(w, o->mem.index, &reg))
        mention_put(w, w->held[reg], w->held[reg], HS_MENTION_INDEXED, o);
    else if (w->mentions->has_constants && o->mem.disp.value >= MENTION_LOWEST)
        mention_put(w, disp, disp, HS_MENTION_INDEXED, o);
    return 0;
}

/* Tells one memory operand. Returns the address that lea makes, or 0. */
static hs_addr mention_memory(const struct mention_walk *w, const ZydisDecodedOperand *o)
{
    bool is_lea = o->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
    hs_addr at = (hs_addr)o->mem.disp.value;

    if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS ||
        o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
        return 0;
    if (o->mem.base == ZYDIS_REGISTER_RIP)
        at += w->next;
    else if (o->mem.base != ZYDIS_REGISTER_NONE || o->mem.index != ZYDIS_REGISTER_NONE)
        return mention_through(w, o, is_lea);
    else if (!w->mentions->has_constants || at < MENTION_LOWEST)
        return 0;
    return mention_put(w, at, at, is_lea ? HS_MENTION_TAKEN : HS_MENTION_DIRECT, o) ? at : 0;
}

/* Tells a constant that may be an address. Returns it where it goes into a register, or 0. */
static hs_addr mention_constant(const struct mention_walk *w, const ZydisDecodedOperand *o)
{
    ZydisMnemonic m = w->insn->mnemonic;

    if (!w->mentions->has_constants || o->imm.is_relative || o->size < 32 ||
        o->imm.value.u < MENTION_LOWEST ||
        (m != ZYDIS_MNEMONIC_MOV && m != ZYDIS_MNEMONIC_CMP && m != ZYDIS_MNEMONIC_PUSH))
        return 0;
    return mention_put(w, o->imm.value.u, o->imm.value.u, HS_MENTION_TAKEN, o) &&
                   m == ZYDIS_MNEMONIC_MOV
               ? o->imm.value.u
               : 0;
}

static void mention_hold(struct mention_walk *w, int reg, hs_addr address)
{
    w->held[reg] = address;
    w->known = address != 0 ? w->known | 1U << reg : w->known & ~(1U << reg);
}

/* Applies what the instruction writes: `made` goes into its first operand. */
static void mention_write(struct mention_walk *w, hs_addr made)
{
    const ZydisDecodedOperand *o = w->operands;
    int from;

    if (made == 0 && w->insn->mnemonic == ZYDIS_MNEMONIC_MOV && w->insn->operand_width == 64 &&
        o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && o[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        mention_is_held(w, o[1].reg.value, &from))
        made = w->held[from];
    for (uint8_t i = 0; i < w->insn->operand_count; i++) {
        int reg = o[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                          (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0
                      ? mention_register(o[i].reg.value)
                      : -1;
        if (reg >= 0)
            mention_hold(w, reg, i == 0 ? made : 0);
    }
}

static void mention_step(struct mention_walk *w)
{
    hs_addr made = 0;

    switch (w->insn->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP: /* names an address that it does not touch */
        return;
    default:
        break;
    }
    for (uint8_t i = 0; i < w->insn->operand_count_visible; i++) {
        const ZydisDecodedOperand *o = &w->operands[i];
        hs_addr address = o->type == ZYDIS_OPERAND_TYPE_MEMORY      ? mention_memory(w, o)
                          : o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? mention_constant(w, o)
                                                                    : 0;
        made = address != 0 ? address : made;
    }
    mention_write(w, made);
}

/* Tells whether an instruction of some shape may mention what matters, while no register holds an
 * address. */
static bool mention_may(const struct hs_mention_taker *t, const struct insn_shape *shape,
                        hs_addr next)
{
    hs_addr at = (hs_addr)shape->displacement;

    if (shape->is_rip)
        return t->matters(t->context, next + at) || (t->has_constants && shape->has_immediate &&
                                                     t->matters(t->context, shape->immediate));
    return t->has_constants && ((shape->has_displacement && t->matters(t->context, at)) ||
                                (shape->has_immediate && t->matters(t->context, shape->immediate)));
}

/* Returns how many bytes of code need not be decoded. */
static size_t mention_pass(const struct mention_walk *w, const uint8_t *code, size_t n_bytes,
                           hs_addr vaddr)
{
    const struct hs_mention_taker *t = w->mentions;
    struct insn_shape shape;

    size_t n =
        t->has_constants ? 0 : hs_insn_pass_(code, n_bytes, vaddr, t->low, t->high, w->known);
    return n != 0 || w->known != 0 || !hs_insn_shape_(code, n_bytes, &shape) ||
                   mention_may(t, &shape, vaddr + shape.n_bytes)
               ? n
               : shape.n_bytes;
}

/* Drops what is not known any more behind a call, a jump or a return. */
static void mention_leave(struct mention_walk *w, ZydisInstructionCategory category)
{
    if (category == ZYDIS_CATEGORY_CALL)
        w->known &= ~(unsigned)MENTION_CALL_CHANGES;
    else if (category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_RET)
        w->known = 0;
}

/* Tells a mention that needs no decoding. Returns the length of its instruction, or 0. */
static size_t mention_plain(struct mention_walk *w, const uint8_t *code, size_t n_bytes,
                            hs_addr vaddr)
{
    const struct hs_mention_taker *t = w->mentions;
    struct insn_plain plain;

    if (t->has_constants || !hs_insn_plain_(code, n_bytes, vaddr, w->known, &plain))
        return 0;
    const struct hs_mention mention = {plain.target, plain.target,
                                       plain.is_lea ? 0 : plain.n_access_bytes,
                                       plain.is_lea ? HS_MENTION_TAKEN : HS_MENTION_DIRECT};
    bool is_followed = t->take(t->context, &mention);
    if (plain.is_lea)
        mention_hold(w, plain.reg, is_followed ? plain.target : 0);
    return plain.n_bytes;
}

bool hs_code_is_followed(void)
{
    return true;
}

void hs_code_follow(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                    const struct hs_mention_taker *mentions)
{
    struct mention_walk w = {.mentions = mentions};
    ZydisDecoder decoder;
    ZydisDecoderContext context;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

    if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        return;
    w.insn = &insn;
    w.operands = operands;
    for (size_t at = 0, n; at < n_bytes; at += n) {
        n = mention_pass(&w, code + at, n_bytes - at, vaddr + at);
        n = n != 0 ? n : mention_plain(&w, code + at, n_bytes - at, vaddr + at);
        if (n != 0)
            continue;
        n = 1;
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, &context, code + at, n_bytes - at,
                                                        &insn))) {
            w.known = 0;
            continue;
        }
        n = insn.length;
        w.next = vaddr + at + n;
        if (ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&decoder, &context, &insn, operands,
                                                    insn.operand_count)))
            mention_step(&w);
        mention_leave(&w, insn.meta.category);
    }
}
