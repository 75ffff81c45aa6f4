#include "arch/registers.h"

struct hs_registers hs_registers_of(const struct hs_regs *regs)
{
    return (struct hs_registers){.value = {[HS_RAX] = regs->rax,
                                           [HS_RDX] = regs->rdx,
                                           [HS_RCX] = regs->rcx,
                                           [HS_RBX] = regs->rbx,
                                           [HS_RSI] = regs->rsi,
                                           [HS_RDI] = regs->rdi,
                                           [HS_RBP] = regs->rbp,
                                           [HS_RSP] = regs->rsp,
                                           [HS_R8] = regs->r8,
                                           [HS_R9] = regs->r9,
                                           [HS_R10] = regs->r10,
                                           [HS_R11] = regs->r11,
                                           [HS_R12] = regs->r12,
                                           [HS_R13] = regs->r13,
                                           [HS_R14] = regs->r14,
                                           [HS_R15] = regs->r15,
                                           [HS_RIP] = regs->rip},
                                 .known = HS_ALL_REGISTERS};
}

const char *hs_register_name(unsigned number)
{
    static const char *const names[HS_N_REGISTERS] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                      "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                      "r12", "r13", "r14", "r15", "rip"};
    return names[number];
}

/* Tells whether the code ends in a call: E8 rel32, or FF /2 with any operand. */
bool hs_code_ends_in_call(const uint8_t *bytes)
{
    if (bytes[HS_CALL_BYTES_MAX - 5] == 0xe8)
        return true;
    for (unsigned i = 0; i + 1 < HS_CALL_BYTES_MAX; i++)
        if (bytes[i] == 0xff && (bytes[i + 1] >> 3 & 7) == 2)
            return true;
    return false;
}

const uint8_t hs_ocaml_saved[HS_OCAML_N_SAVED] = {HS_RAX, HS_RBX, HS_RDI, HS_RSI, HS_RDX,
                                                  HS_RCX, HS_R8,  HS_R9,  HS_R12, HS_R13,
                                                  HS_R10, HS_R11, HS_RBP};
const uint8_t hs_ocaml_preserved[HS_OCAML_N_PRESERVED] = {HS_RBP, HS_RBX, HS_R12, HS_R13};
