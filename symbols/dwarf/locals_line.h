/* The source line of one instruction, from a unit's line program (DWARF 5, 6.2). */
#ifndef HS_DWARF_LOCALS_LINE_H
#define HS_DWARF_LOCALS_LINE_H

#include "types/entry.h"

/* A row of the program from which it can be run on. */
struct line_mark {
    hs_addr vaddr;
    uint64_t file, line, at; /* `at`: the operation behind the row */
};

/* The first row of each sequence and one every 2 KiB: of a unit, once it was asked. */
struct line_marks {
    struct line_mark *items; /* owned by the one who has the unit: hs_free; ascending by vaddr */
    size_t n, capacity;
    bool is_listed;
};

/* Finds the row that covers `vaddr`; false when none does or the table is damaged. `*ret_file` is
 * for hs_debug_file_name_. The first call runs the whole program, 3 ns a byte; later ones what is
 * between two marks. Marks take at most twice the program's size, mostly a 30th; without memory for
 * them each call is a first one. */
bool hs_locals_line_at_(struct debug_info *info, const struct debug_unit *unit,
                        struct line_marks *marks, hs_addr vaddr, uint64_t *ret_file,
                        uint32_t *ret_line);

#endif
