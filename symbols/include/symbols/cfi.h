/* One step up a stack by the call frame information of an ELF file (.eh_frame, else .debug_frame).
 *
 * The tables are read in the box (symbols/dwarf_box.h), which tells the rules for an address; they
 * are followed here. Registers and a callback that reads memory go in, the caller's registers come
 * out. Tables, rules and stack are hostile: every step is bounded and a rule that cannot be
 * evaluated makes its register unknown, or the step fail when it is the frame address or the return
 * address. Does not loop: the caller walks, and must see that the frame address rises.
 *
 * Cost: opening lists the file's frame descriptions, 0.8 microseconds and 350 bytes of the box each
 * (coqtop: 29,294 in 23 ms); a step from an address for the first time is a question to the box,
 * later ones are answered from what was kept, 350 bytes for each address. One thread at a time. */
#ifndef HS_SYMBOLS_CFI_H
#define HS_SYMBOLS_CFI_H

#include "arch/registers.h"
#include "symbols/dwarf_box.h"
#include "symbols/elf.h"

/* Reads target memory: fills [ret, ret + n_bytes) from [at, at + n_bytes) or returns false.
 * Run-time addresses. */
struct hs_memory_reader {
    bool (*read)(void *context, hs_addr at, void *ret, size_t n_bytes);
    void *context;
};

struct hs_frame {
    hs_addr cfa; /* canonical frame address: the stack pointer of the caller after the return */
    struct hs_registers caller;       /* pc and sp are known unless is_outermost */
    bool is_outermost;                /* the tables say that nothing called this frame */
    bool is_signal_frame;             /* the caller was interrupted, not calling: its pc is exact */
    hs_addr saved_at[HS_N_REGISTERS]; /* where the caller's register lies in memory; 0: nowhere */
};

struct hs_cfi;

/* Opens the frame tables of `elf` in the box; both are borrowed until close. `name` is for messages
 * and notes, NULL: that of the file. Fails with HS_FORMAT when it has none or they are damaged or
 * break the box, HS_LIMIT, HS_IO when there is no box. */
hs_status hs_cfi_open(struct hs_dwarf_box *box, struct hs_elf *elf, const char *name,
                      struct hs_cfi **ret, struct hs_error *err);
void hs_cfi_close(struct hs_cfi *cfi);
HS_DEFINE_AUTO(hs_cfi, close)

/* Returns the number of functions described. */
size_t hs_cfi_n_functions(const struct hs_cfi *cfi);

/* Finds the described function [*ret_begin, *ret_end) that holds `vaddr`; false when none does. For
 * functions that no symbol names. */
bool hs_cfi_function_at(struct hs_cfi *cfi, hs_addr vaddr, hs_addr *ret_begin, hs_addr *ret_end);

/* Computes the caller of the frame `r`. pc and sp must be known; addresses in registers are
 * run-time ones and pc - bias is looked up. `is_return_address`: pc is where a call will return
 * (every frame but the top one and those above a signal frame), so pc - 1 is looked up.
 * Registers that the tables do not mention keep their value when the ABI has them saved by the
 * callee and become unknown otherwise.
 * Fails with HS_FORMAT when no entry covers pc or it cannot be evaluated, HS_TARGET when the stack
 * cannot be read. */
hs_status hs_cfi_step(struct hs_cfi *cfi, uint64_t bias, const struct hs_registers *r,
                      bool is_return_address, const struct hs_memory_reader *memory,
                      struct hs_frame *ret, struct hs_error *err);

#endif
