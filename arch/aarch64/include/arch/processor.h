/* AArch64, as far as it goes: its registers, so that what stands above compiles for it. Nothing is
 * read of it yet: no system call is made, no signal frame written, no operand decoded.
 *
 * Sources: AAPCS64, AADWARF64 (DWARF's numbers), arch/arm64/include/uapi/asm/ptrace.h, OCaml's
 * runtime/arm64.S. */
#ifndef HS_ARCH_PROCESSOR_H
#define HS_ARCH_PROCESSOR_H

#include <elf.h>

#include "base/types.h"

#define HS_ARCH_NAME "AArch64"
#define HS_ARCH_ELF_MACHINE EM_AARCH64
#define HS_ARCH_ELF_RELATIVE R_AARCH64_RELATIVE /* the loader adds the bias to the word */
#define HS_ARCH_AUDIT AUDIT_ARCH_AARCH64
#define HS_ARCH_LIBRARIES "aarch64-linux-gnu"
#define HS_ARCH_STATE_NOTE NT_FPREGSET
#define HS_USER_END (UINT64_C(1) << 48)
#define HS_RED_ZONE_BYTES 0
#define HS_CALL_BYTES_MAX 4
#define HS_ENTRY_SP_BELOW_CFA 0

enum { HS_PRSTATUS_BYTES = 392, HS_PRSTATUS_REGS_BYTES = 34 * 8 };

/* The registers of NT_PRSTATUS, and what further notes tell. */
struct hs_regs {
    uint64_t x[31], sp, pc, pstate;
    uint64_t tpidr;      /* NT_ARM_TLS */
    int64_t system_call; /* NT_ARM_SYSTEM_CALL; -1: in none */
};

static inline hs_addr hs_regs_pc(const struct hs_regs *regs)
{
    return regs->pc;
}

static inline hs_addr hs_regs_sp(const struct hs_regs *regs)
{
    return regs->sp;
}

static inline hs_addr hs_regs_thread_pointer(const struct hs_regs *regs)
{
    return regs->tpidr;
}

/* Returns another base of the program's own: there is none. */
static inline hs_addr hs_regs_second_base(const struct hs_regs *regs)
{
    (void)regs;
    return 0;
}

/* Limit: glibc keeps it in a variable of the loader. */
#define HS_ARCH_POINTER_GUARD_AT 0
static inline uint64_t hs_arch_unmangle(uint64_t word, uint64_t guard)
{
    return word ^ guard;
}

/* Words of glibc's jmp_buf: x19 to x29, then the mangled x30, an unused one, the mangled sp.
 * Source: sysdeps/aarch64/jmpbuf-offsets.h. */
enum { HS_ARCH_JUMP_SP = 13, HS_ARCH_JUMP_PC = 11 };

static inline bool hs_regs_in_call(const struct hs_regs *regs)
{
    return regs->system_call >= 0;
}

/* The registers by DWARF's numbers: x0 to x30, sp, pc. */
enum hs_register {
    HS_REG_FP = 29,
    HS_REG_SP = 31,
    HS_REG_PC = 32,
    HS_N_REGISTERS,
    HS_N_DATA_REGISTERS = HS_REG_PC,
    HS_REG_OCAML_YOUNG = 27,
    HS_REG_OCAML_STATE = 28,
};

#define HS_REGS_CALLEE_SAVED (UINT64_C(0x7ff) << 19) /* x19 to x29 */
#define HS_REGS_CALLER_SAVED ((UINT64_C(1) << 19) - 1)

enum { HS_OCAML_N_SAVED = 26, HS_OCAML_N_ARGUMENTS = 16, HS_OCAML_N_PRESERVED = 7 };

#endif
