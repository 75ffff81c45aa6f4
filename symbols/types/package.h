/* A .dwp: the .dwo files of a program in one (DWARF 5, 7.3.5 and appendix F;
 * before it as GNU's DebugFission has it). Its sections are
 * theirs, one behind the other, but for the strings, which all have together; an index says by the
 * number of a unit where in each its parts are.
 *
 *     .debug_cu_index, .debug_tu_index
 *     u16 version, u16 0 (before DWARF 5: u32) | u32 columns, rows, slots | u64 numbers[slots] |
 * u32 rows[slots], from 1 | u32 which section[columns] | u32 at[rows][columns] | u32
 * bytes[rows][columns] */
#ifndef HS_TYPES_PACKAGE_H
#define HS_TYPES_PACKAGE_H

#include "symbols/elf.h"

enum package_part {
    PACKAGE_INFO,
    PACKAGE_ABBREV,
    PACKAGE_STR_OFFSETS,
    PACKAGE_RNGLISTS,
    PACKAGE_LOCLISTS,
    PACKAGE_LOC, /* before DWARF 5, as PACKAGE_TYPES */
    PACKAGE_TYPES,
    PACKAGE_PARTS
};

struct package_index {
    const uint8_t *bytes; /* borrowed; NULL: there is none, or it is damaged */
    size_t n_columns, n_rows, n_slots;
    uint32_t version; /* 5; 2: of GNU's DebugFission, for units before DWARF 5 */
};

struct package {
    struct hs_elf *elf; /* the caller closes it; NULL: there is none, and nothing in it */
    const uint8_t *bytes[PACKAGE_PARTS], *strings;
    size_t n[PACKAGE_PARTS], n_strings;
    struct package_index units, types;
};

/* The place of the parts of one unit in the sections; all of it within these. */
struct package_row {
    size_t at[PACKAGE_PARTS], n[PACKAGE_PARTS];
};

/* Reads what is in package->elf. Fails with HS_LIMIT; what is damaged is as if it were not there.
 */
hs_status hs_package_read_(struct package *package, struct hs_error *err);
/* Finds the unit with this number (DWO id). O(1) but for a damaged index, O(slots) then. */
bool hs_package_find_(const struct package *package, uint64_t id, struct package_row *ret);
/* Finds unit of types number `number`; false behind the last. */
bool hs_package_type_(const struct package *package, size_t number, struct package_row *ret);

#endif
