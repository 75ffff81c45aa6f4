#include "arch/operands.h"

#include <Zydis/Zydis.h>

#include "base/load.h"

/* The lowest address that is mapped: smaller immediates are counts and flags. */
enum { OPERAND_LOWEST = 4096 };

struct harvest_step {
    const ZydisDecodedInstruction *insn;
    const ZydisDecodedOperand *operands;
    hs_addr at;
};

/* Code that is decoded one instruction after the other. */
struct code_walk {
    const uint8_t *code;
    size_t n_bytes, at; /* `at`: of the next instruction */
    hs_addr vaddr;
    ZydisDecoder decoder;
    ZydisDecodedInstruction insn;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static struct code_walk code_walk_of(const uint8_t *code, size_t n_bytes, hs_addr vaddr)
{
    struct code_walk walk = {.code = code, .n_bytes = n_bytes, .vaddr = vaddr};
    if (!ZYAN_SUCCESS(
            ZydisDecoderInit(&walk.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
        walk.n_bytes = 0;
    return walk;
}

/* Decodes the next instruction, valid until the one after it; false at the end of the code and
 * where the bytes are no instruction. */
static bool code_walk_next(struct code_walk *walk, struct harvest_step *ret)
{
    if (walk->at >= walk->n_bytes || !ZYAN_SUCCESS(ZydisDecoderDecodeFull(
                                         &walk->decoder, walk->code + walk->at,
                                         walk->n_bytes - walk->at, &walk->insn, walk->operands)))
        return false;
    *ret = (struct harvest_step){&walk->insn, walk->operands, walk->vaddr + walk->at};
    walk->at += walk->insn.length;
    return true;
}

/* The address a memory operand names without knowing any register but rip; an index is ignored,
 * for the table it indexes is what is named. */
static bool operand_memory_target(const struct harvest_step *step, const ZydisDecodedOperand *o,
                                  hs_addr *ret)
{
    if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
        return false;
    if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS)
        return false; /* thread-local: an offset, not an address */
    if (o->mem.base == ZYDIS_REGISTER_RIP)
        *ret = step->at + step->insn->length + (uint64_t)o->mem.disp.value;
    else if (o->mem.base == ZYDIS_REGISTER_NONE)
        *ret = (uint64_t)o->mem.disp.value;
    else
        return false;
    return true;
}

static enum hs_operand_kind operand_memory_kind(const struct harvest_step *step,
                                                const ZydisDecodedOperand *o)
{
    switch (step->insn->meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_UNCOND_BR:
        return HS_OPERAND_CALL_THROUGH;
    default:
        break;
    }
    bool reads = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
    bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
        return HS_OPERAND_ADDRESS;
    if (reads && writes)
        return HS_OPERAND_MODIFY;
    if (writes)
        return HS_OPERAND_STORE;
    bool is_move = step->insn->meta.category == ZYDIS_CATEGORY_DATAXFER;
    return is_move ? HS_OPERAND_LOAD : HS_OPERAND_READ;
}

/* A number that a mov or push treats as 32 or 64 bits may be the address of something. */
static bool operand_immediate_target(const struct harvest_step *step, const ZydisDecodedOperand *o,
                                     hs_addr *ret)
{
    bool moves =
        step->insn->mnemonic == ZYDIS_MNEMONIC_MOV || step->insn->mnemonic == ZYDIS_MNEMONIC_PUSH;
    if (o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || o->imm.is_relative || !moves || o->size < 32 ||
        o->imm.value.u < OPERAND_LOWEST)
        return false;
    *ret = o->imm.value.u;
    return true;
}

static bool operand_branch_target(const struct harvest_step *step, const ZydisDecodedOperand *o,
                                  hs_addr *ret)
{
    if (o->type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !o->imm.is_relative)
        return false;
    *ret = step->at + step->insn->length + (uint64_t)o->imm.value.s;
    return true;
}

static bool operand_take(const struct harvest_step *step, const ZydisDecodedOperand *o,
                         struct hs_operand *ret)
{
    hs_addr target;
    uint8_t kind;
    uint16_t n_access = 0;
    bool is_absolute = false;
    if (operand_branch_target(step, o, &target)) {
        bool is_call = step->insn->meta.category == ZYDIS_CATEGORY_CALL;
        kind = is_call ? HS_OPERAND_CALL : HS_OPERAND_JUMP;
    } else if (operand_immediate_target(step, o, &target)) {
        kind = HS_OPERAND_ADDRESS;
        is_absolute = true;
    } else if (operand_memory_target(step, o, &target)) {
        /* An endbr or a long nop mentions an address that it does not touch. */
        if (step->insn->meta.category == ZYDIS_CATEGORY_NOP ||
            step->insn->meta.category == ZYDIS_CATEGORY_WIDENOP)
            return false;
        kind = (uint8_t)operand_memory_kind(step, o);
        n_access = kind == HS_OPERAND_ADDRESS ? 0 : (uint16_t)(o->size / 8);
        is_absolute = o->mem.base == ZYDIS_REGISTER_NONE;
    } else {
        return false;
    }
    *ret = (struct hs_operand){.insn = step->at,
                               .target = target,
                               .kind = kind,
                               .n_insn_bytes = step->insn->length,
                               .is_absolute = is_absolute,
                               .n_access_bytes = n_access};
    return true;
}

/* A displacement counts from the end of its instruction, which may have an immediate of up to four
 * bytes behind it. All of it modulo 2^32: code and data of a binary are never so far apart. */
bool hs_operands_hint(const uint8_t *code, size_t n_bytes, hs_addr vaddr, hs_addr low, hs_addr high,
                      size_t *at, hs_addr *ret_first)
{
    enum { DISPLACEMENT = 4, IMMEDIATE = HS_OPERAND_HINT_BYTES - 1 };
    const uint32_t span = (uint32_t)(high - low) + IMMEDIATE;
    const uint32_t end = (uint32_t)vaddr + DISPLACEMENT + IMMEDIATE - (uint32_t)low;

    if (high - low > UINT32_MAX - IMMEDIATE)
        return false;
    for (size_t i = *at; i + DISPLACEMENT <= n_bytes; i++) {
        uint32_t from_low = end + (uint32_t)i + hs_load_u32(code + i);
        if (from_low >= span)
            continue;
        *at = i + 1;
        *ret_first = low - IMMEDIATE + from_low;
        return true;
    }
    return false;
}

bool hs_operands_hint_absolute(const uint8_t *code, size_t n_bytes, hs_addr low, hs_addr high,
                               size_t *at, hs_addr *ret_first)
{
    for (size_t i = *at; i + sizeof(uint32_t) <= n_bytes; i++) {
        uint32_t word = hs_load_u32(code + i);
        if (word < low || word >= high)
            continue;
        *at = i + 1;
        *ret_first = word;
        return true;
    }
    return false;
}

struct hs_harvest hs_operands_harvest(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                      struct hs_operand *ret, size_t capacity)
{
    struct hs_harvest harvest = {0};
    struct code_walk walk = code_walk_of(code, n_bytes, vaddr);
    struct harvest_step step;
    while (code_walk_next(&walk, &step)) {
        size_t n_operands = harvest.n_operands;
        for (uint8_t i = 0; i < step.insn->operand_count_visible; i++) {
            struct hs_operand found;
            if (!operand_take(&step, &step.operands[i], &found))
                continue;
            if (n_operands == capacity)
                return harvest; /* the whole instruction, or none of it */
            ret[n_operands++] = found;
        }
        harvest.n_operands = n_operands;
        harvest.n_decoded_bytes = walk.at;
    }
    return harvest;
}

/* ---- words read through a register that has a known address */

enum { FIELD_REGISTERS = 16 };

struct field_walk {
    hs_addr address[FIELD_REGISTERS];
    bool is_known[FIELD_REGISTERS], is_absolute[FIELD_REGISTERS];
};

/* Returns the number of the general register that all or a part of is meant; -1: of another. */
static int field_register(ZydisRegister name)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
    bool is_general = whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15;
    return is_general ? (int)whole - (int)ZYDIS_REGISTER_RAX : -1;
}

static bool field_take(const struct field_walk *walk, const struct harvest_step *step,
                       const ZydisDecodedOperand *o, struct hs_operand *ret)
{
    int base = o->type == ZYDIS_OPERAND_TYPE_MEMORY ? field_register(o->mem.base) : -1;

    if (base < 0 || !walk->is_known[base] || o->mem.index != ZYDIS_REGISTER_NONE ||
        o->mem.type != ZYDIS_MEMOP_TYPE_MEM || (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) == 0)
        return false;
    *ret = (struct hs_operand){.insn = step->at,
                               .target = walk->address[base] + (uint64_t)o->mem.disp.value,
                               .kind = (uint8_t)operand_memory_kind(step, o),
                               .n_insn_bytes = step->insn->length,
                               .is_absolute = walk->is_absolute[base],
                               .n_access_bytes = (uint16_t)(o->size / 8)};
    return true;
}

/* Applies one instruction to what is known of the registers. */
static void field_follow(struct field_walk *walk, const struct harvest_step *step)
{
    const ZydisDecodedOperand *o = step->operands;
    hs_addr target = 0;
    bool is_lea = step->insn->mnemonic == ZYDIS_MNEMONIC_LEA;
    bool is_constant = step->insn->operand_count_visible == 2 &&
                       (is_lea ? operand_memory_target(step, &o[1], &target)
                               : operand_immediate_target(step, &o[1], &target));

    if (step->insn->meta.category == ZYDIS_CATEGORY_CALL) {
        *walk = (struct field_walk){0};
        return;
    }
    for (uint8_t i = 0; i < step->insn->operand_count; i++) {
        int number = o[i].type == ZYDIS_OPERAND_TYPE_REGISTER ? field_register(o[i].reg.value) : -1;
        if (number >= 0 && (o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
            walk->is_known[number] = false;
    }
    int to = is_constant && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER
                 ? field_register(o[0].reg.value)
                 : -1;
    if (to >= 0) {
        walk->address[to] = target;
        walk->is_known[to] = true;
        walk->is_absolute[to] = !is_lea;
    }
}

struct hs_harvest hs_operands_fields(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                     struct hs_operand *ret, size_t capacity)
{
    struct hs_harvest harvest = {0};
    struct field_walk known = {0};
    struct code_walk walk = code_walk_of(code, n_bytes, vaddr);
    struct harvest_step step;
    while (code_walk_next(&walk, &step)) {
        for (uint8_t i = 0; i < step.insn->operand_count_visible; i++) {
            struct hs_operand found;
            if (!field_take(&known, &step, &step.operands[i], &found))
                continue;
            if (harvest.n_operands == capacity)
                return harvest;
            ret[harvest.n_operands++] = found;
        }
        field_follow(&known, &step);
        harvest.n_decoded_bytes = walk.at;
    }
    return harvest;
}

/* ---- constants in the second argument: rsi in the System V ABI */

struct constant_walk {
    size_t furthest; /* where a jump leads to, at the furthest */
    uint64_t second;
    bool is_known;
};

static bool constant_is_second(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value) ==
               ZYDIS_REGISTER_RSI;
}

/* Applies one instruction to the known constant of a register. */
static void constant_follow(struct constant_walk *walk, const struct harvest_step *step)
{
    const ZydisDecodedOperand *o = step->operands;

    if (step->insn->mnemonic == ZYDIS_MNEMONIC_MOV && constant_is_second(&o[0]) &&
        o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        walk->second = o[1].imm.value.u;
        walk->is_known = true;
        return;
    }
    for (uint8_t i = 0; i < step->insn->operand_count; i++)
        if ((o[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0 && constant_is_second(&o[i]))
            walk->is_known = false;
}

/* Notes where a jump within the code leads; true when nothing goes on behind the instruction. */
static bool constant_ends(struct constant_walk *known, const struct harvest_step *step,
                          const struct code_walk *walk)
{
    ZydisInstructionCategory category = step->insn->meta.category;
    bool is_jump = category == ZYDIS_CATEGORY_UNCOND_BR || category == ZYDIS_CATEGORY_COND_BR;
    struct hs_operand to;

    if (is_jump && operand_take(step, &step->operands[0], &to) && to.kind == HS_OPERAND_JUMP &&
        to.target - walk->vaddr < walk->n_bytes && to.target - walk->vaddr > known->furthest)
        known->furthest = (size_t)(to.target - walk->vaddr);
    bool goes_on = category != ZYDIS_CATEGORY_UNCOND_BR && category != ZYDIS_CATEGORY_RET;
    return !goes_on && walk->at > known->furthest;
}

size_t hs_operands_constant_calls(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                  struct hs_constant_call *ret, size_t capacity)
{
    struct constant_walk known = {0};
    struct code_walk walk = code_walk_of(code, n_bytes, vaddr);
    struct harvest_step step;
    size_t n = 0;

    while (n < capacity && code_walk_next(&walk, &step)) {
        ZydisInstructionCategory category = step.insn->meta.category;
        bool is_call = category == ZYDIS_CATEGORY_CALL;
        if (known.is_known && (is_call || category == ZYDIS_CATEGORY_UNCOND_BR) &&
            operand_take(&step, &step.operands[0], &ret[n].to))
            ret[n++].second = known.second;
        if (constant_ends(&known, &step, &walk))
            break;
        constant_follow(&known, &step);
        known.is_known = known.is_known && !is_call;
    }
    return n;
}
