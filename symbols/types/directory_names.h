/* The tables of .debug_names, and what directory.c shares with them. */
#ifndef HS_TYPES_DIRECTORY_NAMES_H
#define HS_TYPES_DIRECTORY_NAMES_H

#include "directory.h"

/* Reads a number of 4 or 8 bytes in a section; UINT64_MAX when it is not whole there. */
uint64_t hs_directory_number_(struct debug_info *info, enum debug_section_number section,
                              uint64_t at, unsigned n_bytes);
/* Finds the unit that begins at an offset of .debug_info; n_units when none does. */
size_t hs_directory_unit_at_(const struct debug_info *info, uint64_t begin);
/* Notes that the directory tells of the unit that begins here. */
void hs_directory_cover_(const struct debug_info *info, struct debug_directory *directory,
                         uint64_t begin);
/* Lists a name by the place of its text (from a base) and that of its entries. */
hs_status hs_directory_add_(struct debug_info *info, struct debug_directory *directory,
                            uint64_t name, uint64_t at, struct hs_error *err);
/* Turns the texts of names [first, all) into hashes. */
void hs_directory_hash_(struct debug_info *info, struct debug_directory *directory, size_t first,
                        struct elf_view *strings, uint64_t base);

hs_status hs_directory_names_open_(struct debug_info *info, struct debug_directory *directory,
                                   struct hs_error *err);
/* Calls `visit` with the offset of each unit until it is false, and is then false itself. */
typedef bool directory_visit_begin(void *context, uint64_t begin);
bool hs_directory_names_units_(struct debug_info *info, const struct debug_directory *directory,
                               uint64_t at, directory_visit_begin *visit, void *context);

#endif
