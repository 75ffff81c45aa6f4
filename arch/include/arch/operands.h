/* Operand harvest: which addresses does a function's code mention, in order, and how?
 *
 * For finding the C `static` variables of a runtime whose binary is stripped: the variable has no
 * name, but an exported function that uses it has. Decodes with Zydis; never executes, never
 * follows a jump. Pure and allocation-free; any bytes may be given. Decoding stops at the first
 * bytes that are no instruction. */
#ifndef HS_ARCH_OPERANDS_H
#define HS_ARCH_OPERANDS_H

#include "base/types.h"

enum hs_operand_kind {
    HS_OPERAND_ADDRESS, /* lea, or an immediate that may be an address (non-PIE code) */
    HS_OPERAND_LOAD,    /* mov and its extending kin: memory to register */
    HS_OPERAND_STORE,   /* mov to memory */
    HS_OPERAND_READ,    /* any other read: cmp, test, add reg, push */
    HS_OPERAND_MODIFY,  /* read and written: add to memory, inc, xchg */
    HS_OPERAND_CALL,    /* direct call: target is code */
    HS_OPERAND_JUMP,    /* direct jump, conditional ones and those within the function included */
    HS_OPERAND_CALL_THROUGH, /* call or jump through the word at target */
};

struct hs_operand {
    hs_addr insn;   /* vaddr of the instruction */
    hs_addr target; /* vaddr mentioned; never checked to exist */
    uint8_t kind;   /* enum hs_operand_kind */
    uint8_t n_insn_bytes;
    bool is_absolute; /* the target is a constant, in code that is never moved; else it is counted
                         from the instruction */
    uint16_t n_access_bytes; /* bytes read or written at target; 0 for address, call, jump */
};

struct hs_harvest {
    size_t n_operands;      /* written to the caller's array */
    size_t n_decoded_bytes; /* from the start; less than given when stopped by a non-instruction or
                               a full array */
};

/* Finds the next place in code that may mention an address in [low, high), by its distance from the
 * code or as a constant: a quick look before a harvest, at about 1 ns per byte. Goes on from *at, 0
 * at first. False: there is none. Else the mentioned address is one of [*ret_first, *ret_first +
 * HS_OPERAND_HINT_BYTES), as so many bytes of the instruction may follow. */
enum { HS_OPERAND_HINT_BYTES = 5 };
bool hs_operands_hint(const uint8_t *code, size_t n_bytes, hs_addr vaddr, hs_addr low, hs_addr high,
                      size_t *at, hs_addr *ret_first);
bool hs_operands_hint_absolute(const uint8_t *code, size_t n_bytes, hs_addr low, hs_addr high,
                               size_t *at, hs_addr *ret_first);

/* Harvests code[0, n_bytes), which lies at `vaddr`, into ret[0, capacity): memory operands relative
 * to the instruction pointer or at a constant (with or without index), immediates of 4096 and more
 * that are moved as 32 or 64 bits or pushed, targets of direct calls and jumps. In order of
 * address. About 50 ns per instruction. */
struct hs_harvest hs_operands_harvest(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                      struct hs_operand *ret, size_t capacity);

/* Harvests likewise the words that are read through a register which the code before has set to a
 * constant or to a place counted from the instruction pointer: `lea rax, [rip + 0x3000]; mov rdi,
 * [rax + 520]`. A call forgets all registers; jumps are not followed, so that what is found behind
 * a label is likely, and not certain. */
struct hs_harvest hs_operands_fields(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                     struct hs_operand *ret, size_t capacity);

/* A call, or a jump, and the constant that its second argument (an integer) is. */
struct hs_constant_call {
    struct hs_operand to; /* HS_OPERAND_CALL, JUMP or CALL_THROUGH */
    uint64_t second;
};

/* Finds such calls of one function that begins with `code`, up to where it ends: behind a return or
 * a jump, unless a jump before leads further. Returns how many, `capacity` at the most. As fast as
 * a harvest. */
size_t hs_operands_constant_calls(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                  struct hs_constant_call *ret, size_t capacity);

#endif
