/* The DWARF expressions that frame tables use: a stack machine over registers and memory. */
#ifndef HS_DWARF_CFI_EXPRESSION_H
#define HS_DWARF_CFI_EXPRESSION_H

#include "symbols/cfi.h"

/* Evaluates bytes[0, n_bytes) with `first` on the stack when `has_first`. False when it uses an
 * operation we do not know, an unknown register, unreadable memory or too much stack. No branches,
 * hence linear. */
bool hs_cfi_evaluate_(const uint8_t *bytes, size_t n_bytes, const struct hs_registers *r,
                      const struct hs_memory_reader *memory, bool has_first, uint64_t first,
                      uint64_t *ret);

#endif
