/* The frame tables of an ELF file (.eh_frame, else .debug_frame), read by libdwarf in this process.
 *
 * For the program in the box, its tests and the fuzzer; everything else asks the box
 * (symbols/cfi.h). The tables are hostile: they are checked before libdwarf sees them.
 *
 * Cost: opening checks and lists the file's frame descriptions, 0.8 microseconds and 350 bytes each
 * (coqtop: 29,294 in 23 ms); a row is then a binary search and one short program, 1 microsecond. */
#ifndef HS_BOXED_FRAMES_H
#define HS_BOXED_FRAMES_H

#include "symbols/elf.h"

struct hs_frame_tables;
struct frame_row; /* frame_row.h of symbols */

/* Opens the tables of `elf`, which is borrowed until close. Fails with HS_FORMAT when it has none
 * or they are damaged, HS_LIMIT. */
hs_status hs_frame_tables_open(struct hs_elf *elf, struct hs_frame_tables **ret,
                               struct hs_error *err);
void hs_frame_tables_close(struct hs_frame_tables *tables);
HS_DEFINE_AUTO(hs_frame_tables, close)

/* Returns the number of functions described. */
size_t hs_frame_tables_n_functions(const struct hs_frame_tables *tables);

/* Finds the row for `vaddr`: without function when none holds it, without rules when they cannot be
 * told. `expressions` has room for FRAME_ROW_EXPRESSION_BYTES. Never fails. */
void hs_frame_tables_row(struct hs_frame_tables *tables, hs_addr vaddr, struct frame_row *ret,
                         uint8_t *expressions);

#endif
