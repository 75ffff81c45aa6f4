/* A .dwo: the sections of one source file whose debug information is split from the program
 * (-gsplit-dwarf). Its unit is told by a number that the skeleton in the program has too (DWO id):
 * in the unit's header since DWARF 5, before it as an attribute of its root, as GNU's DebugFission
 * has it. Units of types are in sections of their own, all of one name: of .debug_info.dwo since
 * DWARF 5, of .debug_types.dwo before. All of it is hostile. */
#ifndef HS_TYPES_DWO_H
#define HS_TYPES_DWO_H

#include "base/effort.h"
#include "package.h"

enum { DWO_STR = PACKAGE_PARTS, DWO_PARTS };

enum {
    DWO_UNIT_HEAD = 20,     /* of a unit of DWARF 5 with its number and offsets of 4 bytes */
    DWO_OLD_UNIT_HEAD = 11, /* before */
};

/* The names of the parts: ".debug_info.dwo". */
extern const char *const hs_dwo_names_[DWO_PARTS];

/* The parts of a .dwo, or of one unit of a package. */
struct dwo_parts {
    struct hs_elf *dwo; /* borrowed; NULL: of a package */
    const uint8_t *bytes[DWO_PARTS];
    size_t n[DWO_PARTS];
};

/* Sums what all parts of a file have, unpacked. Reads no section. */
uint64_t hs_dwo_claims_(struct hs_elf *elf);

/* Reads a section, or nothing where there is none or it is damaged. Fails with HS_LIMIT. */
hs_status hs_dwo_section_(struct hs_elf *elf, const char *name, const uint8_t **ret, size_t *ret_n,
                          struct hs_error *err);
/* Reads the first section of each name. Fails with HS_LIMIT. */
hs_status hs_dwo_parts_(struct hs_elf *dwo, struct dwo_parts *ret, struct hs_error *err);
/* Gives the next section with units (`part`: PACKAGE_INFO or PACKAGE_TYPES), from number *at on,
 * which goes on behind it; false when there is no more, or with *status. */
bool hs_dwo_next_(const struct dwo_parts *parts, size_t part, size_t *at, const uint8_t **ret,
                  size_t *ret_n, hs_status *status, struct hs_error *err);
/* Tells whether one of the units has this number, in the form before DWARF 5 or since. Takes steps
 * for what it looks through. */
hs_status hs_dwo_has_(const struct dwo_parts *parts, uint64_t id, bool is_old,
                      struct hs_effort *effort, bool *ret, struct hs_error *err);

#endif
