/* x86-64: its registers, and the numbers that follow from it. What other folders use of it is named
 * by its role (HS_REG_PC, hs_regs_sp); a register's own name stands in arch/ alone.
 *
 * Sources: System V ABI for x86-64 (3.2.2 red zone, 3.2.1 registers kept, figure 3.36 DWARF's
 * numbers), arch/x86/include/asm/user_64.h. */
#ifndef HS_ARCH_PROCESSOR_H
#define HS_ARCH_PROCESSOR_H

#include <elf.h>

#include "base/types.h"

#define HS_ARCH_NAME "x86-64"
#define HS_ARCH_ELF_MACHINE EM_X86_64
#define HS_ARCH_ELF_RELATIVE R_X86_64_RELATIVE /* the loader adds the bias to the word */
#define HS_ARCH_AUDIT AUDIT_ARCH_X86_64        /* linux/audit.h: of a seccomp filter */
#define HS_ARCH_LIBRARIES "x86_64-linux-gnu"   /* the folder of its libraries below lib */
#define HS_ARCH_STATE_NOTE NT_X86_XSTATE       /* floating point and vector registers */
#define HS_USER_END (UINT64_C(1) << 47)        /* of user space with four levels of pages */
#define HS_RED_ZONE_BYTES 128   /* below the stack pointer a function may keep data */
#define HS_CALL_BYTES_MAX 7     /* the longest call through memory, without prefixes */
#define HS_ENTRY_SP_BELOW_CFA 8 /* of the stack pointer when a function is entered */

/* The sizes of struct elf_prstatus of a core, and of the registers in it. */
enum { HS_PRSTATUS_BYTES = 336, HS_PRSTATUS_REGS_BYTES = 27 * 8 };

/* The registers as the kernel gives them: PTRACE_GETREGS, NT_PRSTATUS (struct user_regs_struct). */
struct hs_regs {
    uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
    uint64_t orig_rax, rip, cs, eflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};

static inline hs_addr hs_regs_pc(const struct hs_regs *regs)
{
    return regs->rip;
}

static inline hs_addr hs_regs_sp(const struct hs_regs *regs)
{
    return regs->rsp;
}

/* Returns the address of the thread's control block; static thread-local storage ends there. */
static inline hs_addr hs_regs_thread_pointer(const struct hs_regs *regs)
{
    return regs->fs_base;
}

/* Returns another base of the program's own; 0: it has none. */
static inline hs_addr hs_regs_second_base(const struct hs_regs *regs)
{
    return regs->gs_base;
}

/* The offset in the control block of glibc's pointer guard (PTR_MANGLE, in jmp_buf). */
#define HS_ARCH_POINTER_GUARD_AT 48
static inline uint64_t hs_arch_unmangle(uint64_t word, uint64_t guard)
{
    return (word >> 17 | word << 47) ^ guard;
}

/* Words of glibc's jmp_buf: rbx, rbp (mangled), r12 to r15, then these two, mangled. Source:
 * sysdeps/x86_64/jmpbuf-offsets.h. */
enum { HS_ARCH_JUMP_SP = 6, HS_ARCH_JUMP_PC = 7 };

/* Tells whether the thread was stopped inside of a system call. */
static inline bool hs_regs_in_call(const struct hs_regs *regs)
{
    return (int64_t)regs->orig_rax >= 0;
}

/* The registers by DWARF's numbers. */
enum hs_register {
    HS_RAX,
    HS_RDX,
    HS_RCX,
    HS_RBX,
    HS_RSI,
    HS_RDI,
    HS_RBP,
    HS_RSP,
    HS_R8,
    HS_R9,
    HS_R10,
    HS_R11,
    HS_R12,
    HS_R13,
    HS_R14,
    HS_R15,
    HS_RIP, /* "RA": the instruction of this frame; in a caller, its return address */
    HS_N_REGISTERS,
    HS_N_DATA_REGISTERS = HS_RIP, /* those in front of the instruction pointer */
    HS_REG_PC = HS_RIP,
    HS_REG_SP = HS_RSP,
    HS_REG_FP = HS_RBP,          /* with frame pointers: {the caller's, return address} lie there */
    HS_REG_OCAML_YOUNG = HS_R15, /* while OCaml code runs: its allocation pointer */
    HS_REG_OCAML_STATE = HS_R14, /* and the state of its domain */
};

/* The registers that a function preserves (the stack pointer apart), and those that it may
 * overwrite. */
#define HS_REGS_CALLEE_SAVED                                                 \
    (UINT64_C(1) << HS_RBX | UINT64_C(1) << HS_RBP | UINT64_C(1) << HS_R12 | \
     UINT64_C(1) << HS_R13 | UINT64_C(1) << HS_R14 | UINT64_C(1) << HS_R15)
#define HS_REGS_CALLER_SAVED                                                                       \
    (UINT64_C(1) << HS_RAX | UINT64_C(1) << HS_RDX | UINT64_C(1) << HS_RCX |                       \
     UINT64_C(1) << HS_RSI | UINT64_C(1) << HS_RDI | UINT64_C(1) << HS_R8 | UINT64_C(1) << HS_R9 | \
     UINT64_C(1) << HS_R10 | UINT64_C(1) << HS_R11)

enum {
    HS_OCAML_N_SAVED = 13,     /* in a gc_regs block */
    HS_OCAML_N_ARGUMENTS = 10, /* the first of them: those that hold arguments */
    HS_OCAML_N_PRESERVED = 4,
};

#endif
