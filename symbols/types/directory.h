/* The units that tell of a name: from .gdb_index, else .debug_names, where a linker or compiler
 * left one; and which unit has the code at an address, from .debug_aranges.
 *
 * Both are claims of the file about itself. Each offset and count is checked; beyond that, a
 * directory that lies costs names and nothing else: what it leads to is read as if there were none.
 *
 * Formats: DWARF 5, 6.1.1 and 6.1.2; gdb/doc "Index Section Format", versions 4 to 9. */
#ifndef HS_TYPES_DIRECTORY_H
#define HS_TYPES_DIRECTORY_H

#include "entry.h"

/* A name; `at` is where its units are listed. */
struct directory_name {
    uint32_t hash; /* upper half of hs_ctypes_hash_ */
    uint32_t at;
};

/* One table of .debug_names: linkers put those of the object files side by side. */
struct directory_table {
    uint64_t begin, entries, end; /* in the section; `entries` is the pool's beginning */
    uint64_t units, abbreviations;
    uint32_t n_units;
    uint8_t n_offset_bytes;
};

enum directory_kind { DIRECTORY_NONE, DIRECTORY_GDB_INDEX, DIRECTORY_DEBUG_NAMES };

struct debug_directory {
    uint8_t kind;                 /* .gdb_index has qualified names, .debug_names their last part */
    struct directory_name *names; /* owned, ascending by hash */
    size_t n_names, names_capacity;
    struct directory_table *tables; /* owned, ascending */
    size_t n_tables, tables_capacity;
    uint64_t units, pool; /* .gdb_index: its lists of units and of constants */
    uint32_t n_units;
    uint64_t *covered; /* owned: a bit per unit that the directory tells of */
};

/* Reads what there is; linear in the section. Fails with HS_LIMIT only. */
hs_status hs_directory_open_(struct debug_info *info, struct debug_directory *ret,
                             struct hs_error *err);
void hs_directory_close_(struct debug_directory *directory);
bool hs_directory_covers_(const struct debug_directory *directory, size_t unit);

/* The units of a name: calls `visit` with their numbers in `info` until it is false. */
typedef bool directory_visit(void *context, size_t unit);
void hs_directory_units_(struct debug_info *info, const struct debug_directory *directory,
                         uint64_t hash, directory_visit *visit, void *context);

/* Lists the code of units in info->ranges, and sets the bit of each unit in `told` that
 * .debug_aranges speaks of (aranges.c). */
void hs_directory_ranges_(struct debug_info *info, uint64_t *told);

#endif
