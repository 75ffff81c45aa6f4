/* The inside of a hs_ctypes, for ctypes_*.c and locals*.c. Entries are read by entry.h. */
#ifndef HS_TYPES_CTYPES_PRIVATE_H
#define HS_TYPES_CTYPES_PRIVATE_H

#include "entry.h"
#include "symbols/ctypes.h"

/* Gives locals.h what it needs of types. `file` is what hs_ctypes_add gave; what is not there is
 * NULL, 0 or false. */

/* Returns the debug information of a file; NULL for a file that was never added. */
struct debug_info *hs_ctypes_info_(struct hs_ctypes *types, hs_type_file file);

/* Finds the (real, not inlined) function whose code covers `vaddr`. The functions of a unit are
 * listed at its first lookup, 24 bytes each. */
bool hs_ctypes_function_at_(struct hs_ctypes *types, hs_type_file file, hs_addr vaddr,
                            struct debug_entry *ret);

/* Finds the type an entry is of: its DW_AT_type, or that of what it completes. 0 when none. */
hs_ctype hs_ctypes_type_of_(struct hs_ctypes *types, hs_type_file file,
                            const struct debug_entry *entry);

/* Returns the name of an entry, qualified ("ns::Class::method", Rust paths), its own or that of the
 * entry it completes; NULL when it has none. Valid until the types are freed. */
const char *hs_ctypes_name_of_(struct hs_ctypes *types, hs_type_file file,
                               const struct debug_entry *entry);
/* Returns the last part of it only: "method". */
const char *hs_ctypes_short_name_of_(struct hs_ctypes *types, hs_type_file file,
                                     const struct debug_entry *entry);

/* Returns the name as hs_debug_file_name_, kept: valid until the types are freed; "" when
 * unknown. */
const char *hs_ctypes_file_name_(struct hs_ctypes *types, hs_type_file file,
                                 const struct debug_unit *unit, uint64_t number);

/* Copies a text, to live as long as the types; NULL out of memory. */
const char *hs_ctypes_keep_(struct hs_ctypes *types, const char *text, size_t n_bytes);

/* Tells whether memory ran out in one of the above since the last call: the caller fails with
 * HS_LIMIT. */
bool hs_ctypes_ran_out_(struct hs_ctypes *types);

#endif
