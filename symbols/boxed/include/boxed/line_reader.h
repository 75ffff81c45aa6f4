/* Source places from DWARF 2 to 5: of code addresses and of global variables.
 *
 * Lazy: opening reads section headers; the first code lookup lists the compilation units and what
 * addresses they cover; a unit's lines and functions are decoded at its first hit and kept; the
 * first variable lookup walks all units once. Debug information is hostile input: units, entries,
 * depth, rows and strings are bounded (limits below), walks are iterative, and what is damaged is
 * counted and otherwise as if it were not there. Split DWARF (.dwo) and dwz's supplementary files
 * are not followed: what they hold stays unnamed.
 *
 * For the program in the box, its tests and the fuzzer; everything else asks the box
 * (symbols/lines.h).
 *
 * Resident after use: 16 bytes per line row and 24 per function of the units touched, 16 per
 * variable, each name once, and what libdwarf keeps of the units it has seen. One thread at a time.
 */
#ifndef HS_BOXED_LINE_READER_H
#define HS_BOXED_LINE_READER_H

#include "symbols/elf.h"

enum {
    HS_DWARF_MAX_UNITS = 1 << 18,
    HS_DWARF_MAX_DEPTH = 64,        /* nested entries; deeper ones are left out */
    HS_DWARF_MAX_ENTRIES = 1 << 26, /* entries visited in all, over the life of a hs_dwarf */
    HS_DWARF_MAX_ROWS = 1 << 24,    /* line rows in all */
};

struct hs_dwarf;

/* A place in the source. Strings are ids for hs_dwarf_text; 0 and line 0 mean unknown. */
struct hs_dwarf_source {
    hs_str file; /* as the compiler named it: directory joined unless absolute */
    hs_str name; /* the function that covers the address, or the variable */
    uint32_t line;
    uint32_t bytes_before; /* of code: from where its row of the line table begins */
};

/* Opens the debug information of `elf` (the program itself or its debug file), which is borrowed
 * until close. Fails with HS_FORMAT when there is none or libdwarf refuses it, HS_LIMIT. */
hs_status hs_dwarf_open(struct hs_elf *elf, struct hs_dwarf **ret, struct hs_error *err);
void hs_dwarf_close(struct hs_dwarf *dwarf);
HS_DEFINE_AUTO(hs_dwarf, close)

/* Finds the source of the instruction at `vaddr` (give a return address minus 1). HS_OK with fields
 * of 0 when unknown. Fails with HS_LIMIT only. */
hs_status hs_dwarf_find_code(struct hs_dwarf *dwarf, hs_addr vaddr, struct hs_dwarf_source *ret,
                             struct hs_error *err);

/* Finds the declaration of the global or static variable that starts at `vaddr` exactly. HS_OK with
 * fields of 0 when unknown. Fails with HS_LIMIT only. */
hs_status hs_dwarf_find_variable(struct hs_dwarf *dwarf, hs_addr vaddr, struct hs_dwarf_source *ret,
                                 struct hs_error *err);

/* Returns the text of a string id, "" for 0. Valid until the next find. */
const char *hs_dwarf_text(const struct hs_dwarf *dwarf, hs_str id);

/* Counts units, entries and tables left out because they are damaged or over a limit, so far. */
uint64_t hs_dwarf_n_damaged(const struct hs_dwarf *dwarf);

#endif
