/* A libdwarf session over the sections of a hs_elf.
 *
 * libdwarf is shown our own checked, decompressed sections through its object access interface: it
 * never opens a file, never meets an ELF header, and gets only the sections named here. */
#ifndef HS_BOXED_DWARF_OBJECT_H
#define HS_BOXED_DWARF_OBJECT_H

#include "dwarf_compat.h"
#include "symbols/elf.h"

enum dwarf_purpose { DWARF_EH_FRAME, DWARF_DEBUG_FRAME, DWARF_DEBUG_INFO, DWARF_N_PURPOSES };

enum { DWARF_MAX_SECTIONS = 16 };

struct dwarf_section {
    const char *name;
    hs_addr vaddr;
    const uint8_t *bytes;
    size_t n_bytes;
};

/* The session; it must not move while open, since libdwarf keeps pointers into it. */
struct dwarf_object {
    Dwarf_Debug dbg;
    struct dwarf_section sections[DWARF_MAX_SECTIONS]; /* [0] stays empty, as in ELF */
    size_t n_sections;
    compat_interface interface;
};

/* Opens the sections of one purpose. Fails with HS_FORMAT when the first of them is missing or
 * empty, or libdwarf refuses. `elf` is borrowed until close. */
hs_status hs_dwarf_object_open_(struct hs_elf *elf, enum dwarf_purpose purpose,
                                struct dwarf_object *ret, struct hs_error *err);
void hs_dwarf_object_close_(struct dwarf_object *object);

/* Tells whether the first section of the purpose is there with contents. */
bool hs_dwarf_object_present_(const struct hs_elf *elf, enum dwarf_purpose purpose);

/* Finds the section of this name as libdwarf sees it, or NULL. */
const struct dwarf_section *hs_dwarf_object_section_(const struct dwarf_object *object,
                                                     const char *name);

#endif
