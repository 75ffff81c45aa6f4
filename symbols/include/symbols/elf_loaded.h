/* An ELF file made of what a process has loaded of it, for when the file itself is gone, was
 * replaced, or may not be read.
 *
 *   loaded    | header, program headers | read-only segments | written ones |
 *   result    | header, program headers | read-only segments | names | section headers |
 *
 * Written segments are given without their bytes, which are no longer the file's. The section
 * headers are made up from the program headers and the dynamic section: .dynsym, .dynstr,
 * .eh_frame, .note.gnu.build-id, .dynamic. Everything read is hostile: what does not fit is left
 * out. What was never loaded, local symbols and debug information, is not there. */
#ifndef HS_SYMBOLS_ELF_LOADED_H
#define HS_SYMBOLS_ELF_LOADED_H

#include "symbols/cfi.h"

/* Reads an object from where its first page is mapped, within [begin, end). The result is for
 * hs_elf_open_memory; the caller frees it with hs_pages_free(*ret, *ret_n_bytes, 1). HS_FORMAT for
 * what is no 64-bit x86-64 object, HS_TARGET when it cannot be read, HS_LIMIT also when its
 * read-only part is larger than 512 MiB. Costs the copy of that part. */
hs_status hs_elf_read_loaded(const struct hs_memory_reader *memory, hs_addr begin, hs_addr end,
                             void **ret, size_t *ret_n_bytes, struct hs_error *err);

#endif
