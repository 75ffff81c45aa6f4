/* The guard before libdwarf's readers of line and range tables.
 *
 * libdwarf of 2021 frees twice after a damaged .debug_rnglists header, multiplies the directory
 * count of a DWARF 5 line table without looking (a wrapped size is then written beyond), and reads
 * one directory beyond the last. It gets these tables only after they were found well-formed here.
 */
#ifndef HS_BOXED_LINES_CHECK_H
#define HS_BOXED_LINES_CHECK_H

#include "base/types.h"

/* Tells whether .debug_rnglists is a whole number of well-formed tables. */
bool hs_lines_check_ranges_(const uint8_t *bytes, size_t n_bytes);

/* Tells whether the line table at `offset` of .debug_line is well-formed: directories and files
 * counted truly, no division by zero, a program of known operations, no more than
 * LINES_MAX_TABLE_BYTES. */
bool hs_lines_check_table_(const uint8_t *bytes, size_t n_bytes, uint64_t offset);

/* The limits of one unit. libdwarf holds some 100 bytes per row, a row may be one byte. */
enum { LINES_MAX_TABLE_BYTES = 1 << 24 };

#endif
