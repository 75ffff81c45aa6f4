/* The inside of a hs_dwarf: lines.c (open and find), lines_units.c (units and their addresses),
 * lines_tables.c (rows and functions of a unit, all variables), lines_entry.c (one entry's facts).
 */
#ifndef HS_BOXED_LINES_PRIVATE_H
#define HS_BOXED_LINES_PRIVATE_H

#include "base/strtab.h"
#include "boxed/line_reader.h"
#include "dwarf_object.h"

/* The part [begin, end) of the code of unit `unit`. */
struct dwarf_range {
    hs_addr begin, end;
    uint32_t unit;
};

/* A row from vaddr to the next row. Line 0 and file 0: here a sequence ends. */
struct dwarf_row {
    hs_addr vaddr;
    hs_str file;
    uint32_t line;
};

struct dwarf_function {
    hs_addr begin, end;
    Dwarf_Off entry; /* names are read when asked for */
};

struct dwarf_variable {
    hs_addr vaddr;
    Dwarf_Off entry;
};

struct dwarf_unit {
    Dwarf_Off entry; /* of its root entry */
    hs_addr low;     /* what old range lists are relative to */
    uint16_t version;
    bool loaded;
    struct dwarf_row *rows; /* owned, ascending */
    size_t n_rows, rows_capacity;
    struct dwarf_function *functions; /* owned, ascending by begin */
    size_t n_functions, functions_capacity;
};

struct hs_dwarf {
    struct dwarf_object object;
    struct hs_strtab strings;
    struct dwarf_unit *units; /* owned */
    size_t n_units, units_capacity;
    struct dwarf_range *ranges; /* owned, ascending by begin */
    size_t n_ranges, ranges_capacity;
    struct dwarf_variable *variables; /* owned, ascending */
    size_t n_variables, variables_capacity;
    bool has_units, has_variables;
    uint64_t n_damaged, n_entries, n_rows;
};

/* Counts and forgets an error that a libdwarf function gave. */
void hs_dwarf_damage_(struct hs_dwarf *dwarf, Dwarf_Error *error);

/* lines_units.c: lists units and ranges, once. */
hs_status hs_dwarf_load_units_(struct hs_dwarf *dwarf, struct hs_error *err);

/* lines_tables.c: rows and functions of one unit, once; all variables, once. */
hs_status hs_dwarf_load_unit_(struct hs_dwarf *dwarf, struct dwarf_unit *unit,
                              struct hs_error *err);
hs_status hs_dwarf_load_variables_(struct hs_dwarf *dwarf, struct hs_error *err);

/* lines_entry.c. Each is false (or NULL) when the entry does not say. */
Dwarf_Die hs_dwarf_entry_open_(struct hs_dwarf *dwarf, Dwarf_Off entry);
bool hs_dwarf_entry_low_(struct hs_dwarf *dwarf, Dwarf_Die die, hs_addr *ret);
bool hs_dwarf_entry_number_(struct hs_dwarf *dwarf, Dwarf_Die die, Dwarf_Half attribute,
                            uint64_t *ret);
bool hs_dwarf_entry_address_(struct hs_dwarf *dwarf, Dwarf_Die die, hs_addr *ret);

/* Tells whether the line table of a unit's root entry is there and safe to read; damage is
 * counted. */
bool hs_dwarf_entry_has_lines_(struct hs_dwarf *dwarf, Dwarf_Die root);

/* The facts about an entry, from itself or from the one it completes. */
struct dwarf_facts {
    hs_str name;
    uint64_t file;        /* number in the table of the unit that holds file_entry */
    Dwarf_Off file_entry; /* after link-time optimisation not the unit of the entry itself */
    uint32_t line;
    bool has_file;
};
hs_status hs_dwarf_entry_facts_(struct hs_dwarf *dwarf, Dwarf_Off entry, struct dwarf_facts *ret,
                                struct hs_error *err);

/* Calls `add` for each [begin, end) of code that the entry covers. */
typedef hs_status dwarf_range_add(void *context, hs_addr begin, hs_addr end, struct hs_error *err);
hs_status hs_dwarf_entry_ranges_(struct hs_dwarf *dwarf, const struct dwarf_unit *unit,
                                 Dwarf_Die die, dwarf_range_add *add, void *context,
                                 struct hs_error *err);

#endif
