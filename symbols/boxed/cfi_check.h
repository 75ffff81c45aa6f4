/* The guard before libdwarf's frame reader.
 *
 * libdwarf of 2021 trusts frame programs: a register number above 2^32 writes outside its table
 * (DW_CFA_val_expression), a block length may wrap its pointer, an unknown augmentation leaves
 * fields unset. It gets a section only after each record was found well-formed here. */
#ifndef HS_BOXED_CFI_CHECK_H
#define HS_BOXED_CFI_CHECK_H

#include "dwarf_object.h"

/* The register columns that libdwarf is told of: the 17 we know, and the vector, x87 and flag
 * registers (17 to 66 in the psABI) that hand-written tables mention. */
enum { CFI_N_COLUMNS = 67 };

/* Checks every record of .eh_frame (`is_eh`) or .debug_frame. HS_FORMAT names the first bad one.
 * Linear; 8 bytes per CIE. */
hs_status hs_cfi_check_(const struct dwarf_section *section, bool is_eh, struct hs_error *err);

#endif
