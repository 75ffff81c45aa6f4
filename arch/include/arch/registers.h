/* The registers of a frame, in DWARF's numbering, whatever the processor. */
#ifndef HS_ARCH_REGISTERS_H
#define HS_ARCH_REGISTERS_H

#include "arch/processor.h"

struct hs_registers {
    uint64_t value[HS_N_REGISTERS];
    uint64_t known; /* bit i: value[i] is true */
};

#define HS_ALL_REGISTERS ((UINT64_C(1) << HS_N_REGISTERS) - 1)

static inline bool hs_register_known(const struct hs_registers *r, enum hs_register number)
{
    return (r->known >> number & 1) != 0;
}

/* Returns the registers of a stopped thread: all known. */
struct hs_registers hs_registers_of(const struct hs_regs *regs);

/* Returns a name such as "rax"; static. `number` is below HS_N_REGISTERS. */
const char *hs_register_name(unsigned number);

/* Tells whether a call ends right behind these HS_CALL_BYTES_MAX bytes of code. It may say so of
 * bytes that are none. */
bool hs_code_ends_in_call(const uint8_t *bytes);

/* The registers that OCaml's compiler and runtime use, by role (runtime/amd64.S,
 * asmcomp/amd64/proc.ml). In the order in which caml_call_gc saves them; and those that C
 * preserves, one of which leads back into the OCaml frame that called it. */
extern const uint8_t hs_ocaml_saved[HS_OCAML_N_SAVED];
extern const uint8_t hs_ocaml_preserved[HS_OCAML_N_PRESERVED];

#endif
