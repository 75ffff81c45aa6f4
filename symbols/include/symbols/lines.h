/* Source places of code addresses and global variables, by asking the box (symbols/dwarf_box.h).
 *
 * What libdwarf says of DWARF 2 to 5, within the limits of boxed/line_reader.h. A file that breaks
 * the box has no names from then on, which is no error: the box notes it. */
#ifndef HS_SYMBOLS_LINES_H
#define HS_SYMBOLS_LINES_H

#include "symbols/dwarf_box.h"
#include "symbols/elf.h"

struct hs_lines;

/* A place in the source. Texts are never NULL, "" when unknown, any bytes but NUL, and last until
 * the box is asked again. Line 0 means unknown. */
struct hs_source {
    const char *file; /* as the compiler named it: directory joined unless absolute */
    const char *name; /* the function that covers the address, or the variable */
    uint32_t line;
    uint32_t bytes_before; /* of code: how far before it its row of the line table begins; what has
                              no row of its own has that of the code before it */
};

/* Tells whether the file has DWARF worth opening (.debug_info with contents). */
bool hs_dwarf_present(const struct hs_elf *elf);

/* Opens the debug information of `elf` (the program itself or its debug file) in the box; both are
 * borrowed until close. `name` is for notes, NULL: that of the file. Fails with HS_FORMAT when
 * there is none or it is refused or breaks the box, HS_LIMIT, HS_IO when there is no box. */
hs_status hs_lines_open(struct hs_dwarf_box *box, struct hs_elf *elf, const char *name,
                        struct hs_lines **ret, struct hs_error *err);
void hs_lines_close(struct hs_lines *lines);
HS_DEFINE_AUTO(hs_lines, close)

/* Finds the source of the instruction at `vaddr` (give a return address minus 1). Never fails:
 * unknown when it cannot be told. */
struct hs_source hs_lines_find_code(struct hs_lines *lines, hs_addr vaddr);

/* Finds the declaration of the global or static variable that starts at `vaddr` exactly,
 * likewise. */
struct hs_source hs_lines_find_variable(struct hs_lines *lines, hs_addr vaddr);

/* Counts units, entries and tables left out because they are damaged or over a limit, as of the
 * last answer. */
uint64_t hs_lines_n_damaged(const struct hs_lines *lines);

#endif
