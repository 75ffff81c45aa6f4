/* Separate debug files: by build-id, then by .gnu_debuglink with its checksum.
 *
 * Looks only where the caller says (for a process in another root, pass that root's directories).
 * A candidate of another build is passed over, never used. Only regular files are read. */
#ifndef HS_SYMBOLS_DEBUGFILE_H
#define HS_SYMBOLS_DEBUGFILE_H

#include "symbols/elf.h"

#define HS_DEBUG_DIRECTORY "/usr/lib/debug"

/* Opens the debug file of `elf`, or gives NULL (and HS_OK) when there is none. Tried in order, for
 * each directory D of `directories`:
 *     D/.build-id/xx/yyyy.debug                        (build-id must agree)
 * then, with the directory O of `own_path` (NULL: not tried) and the name L of .gnu_debuglink:
 *     O/L, O/.debug/L, D/O/L                           (CRC-32 must agree)
 * The caller closes it. Fails with HS_LIMIT. Cost: the CRC reads a debuglink candidate whole. */
hs_status hs_debugfile_open(struct hs_elf *elf, const char *own_path,
                            const char *const *directories, size_t n_directories,
                            struct hs_elf **ret, struct hs_error *err);

/* The CRC-32 of .gnu_debuglink (the one of zlib), started with 0, over more bytes. */
uint32_t hs_debugfile_crc(uint32_t crc, const void *bytes, size_t n_bytes);

#endif
