/* The differences between libdwarf of 2021 (Debian 12) and 0.x (Debian 13), and nothing else.
 *
 * What we call is nearly the same in both. Changed are the names and one field of the object access
 * interface, the argument of dwarf_object_finish, a few dealloc names, two pointer types and the
 * layout of a register rule. HS_LIBDWARF_NEW_API comes from the build (a probe); without it the
 * header's own version macro, which 2021 lacks, decides. */
#ifndef HS_BOXED_DWARF_COMPAT_H
#define HS_BOXED_DWARF_COMPAT_H

#include <dwarf.h>
#include <libdwarf.h>
#include <stddef.h>

#ifndef HS_LIBDWARF_NEW_API
#ifdef DW_LIBDWARF_VERSION_MAJOR
#define HS_LIBDWARF_NEW_API 1
#else
#define HS_LIBDWARF_NEW_API 0
#endif
#endif

#if HS_LIBDWARF_NEW_API

typedef Dwarf_Unsigned compat_index;
typedef Dwarf_Small compat_endianness;
typedef Dwarf_Small *compat_bytes;
typedef Dwarf_Obj_Access_Section_a compat_section;
typedef Dwarf_Obj_Access_Methods_a compat_methods;
typedef Dwarf_Obj_Access_Interface_a compat_interface;
#define COMPAT_LITTLE_ENDIAN DW_END_little

static inline void compat_section_set(compat_section *s, const char *name, Dwarf_Addr vaddr,
                                      Dwarf_Unsigned n_bytes, Dwarf_Unsigned type)
{
    *s = (compat_section){.as_name = name, .as_addr = vaddr, .as_size = n_bytes, .as_type = type};
}

static inline int compat_finish(Dwarf_Debug dbg)
{
    return dwarf_object_finish(dbg);
}

static inline void compat_frames_dealloc(Dwarf_Debug dbg, Dwarf_Cie *cies, Dwarf_Signed n_cies,
                                         Dwarf_Fde *fdes, Dwarf_Signed n_fdes)
{
    dwarf_dealloc_fde_cie_list(dbg, cies, n_cies, fdes, n_fdes);
}

static inline void compat_ranges_dealloc(Dwarf_Debug dbg, Dwarf_Ranges *ranges, Dwarf_Signed n)
{
    dwarf_dealloc_ranges(dbg, ranges, n);
}

static inline Dwarf_Signed compat_rule_offset(const Dwarf_Regtable_Entry3 *rule)
{
    return (Dwarf_Signed)rule->dw_offset;
}

static inline const void *compat_rule_block(const Dwarf_Regtable_Entry3 *rule,
                                            Dwarf_Unsigned *ret_n)
{
    *ret_n = rule->dw_block.bl_len;
    return rule->dw_block.bl_data;
}

#else

typedef Dwarf_Half compat_index;
typedef Dwarf_Endianness compat_endianness;
typedef Dwarf_Ptr compat_bytes;
typedef Dwarf_Obj_Access_Section compat_section;
typedef Dwarf_Obj_Access_Methods compat_methods;
typedef Dwarf_Obj_Access_Interface compat_interface;
#define COMPAT_LITTLE_ENDIAN DW_OBJECT_LSB

static inline void compat_section_set(compat_section *s, const char *name, Dwarf_Addr vaddr,
                                      Dwarf_Unsigned n_bytes, Dwarf_Unsigned type)
{
    *s = (compat_section){.name = name, .addr = vaddr, .size = n_bytes, .type = type};
}

static inline int compat_finish(Dwarf_Debug dbg)
{
    Dwarf_Error error = NULL;
    return dwarf_object_finish(dbg, &error);
}

static inline void compat_frames_dealloc(Dwarf_Debug dbg, Dwarf_Cie *cies, Dwarf_Signed n_cies,
                                         Dwarf_Fde *fdes, Dwarf_Signed n_fdes)
{
    dwarf_fde_cie_list_dealloc(dbg, cies, n_cies, fdes, n_fdes);
}

static inline void compat_ranges_dealloc(Dwarf_Debug dbg, Dwarf_Ranges *ranges, Dwarf_Signed n)
{
    dwarf_ranges_dealloc(dbg, ranges, n);
}

static inline Dwarf_Signed compat_rule_offset(const Dwarf_Regtable_Entry3 *rule)
{
    return (Dwarf_Signed)rule->dw_offset_or_block_len;
}

static inline const void *compat_rule_block(const Dwarf_Regtable_Entry3 *rule,
                                            Dwarf_Unsigned *ret_n)
{
    *ret_n = rule->dw_offset_or_block_len;
    return rule->dw_block_ptr;
}

#endif

/* Gives an error back: errors are allocated, and everybody who passes one must do so. */
static inline void compat_error_drop(Dwarf_Debug dbg, Dwarf_Error *error)
{
    if (*error != NULL)
        dwarf_dealloc_error(dbg, *error);
    *error = NULL;
}

#endif
