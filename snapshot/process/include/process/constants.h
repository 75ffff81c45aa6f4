/* The bytes that a process has at an address, whether it writes there or not: the copy has all that
 * is writable, the files of its binaries have the rest (names of types, virtual tables). `objects`
 * may be NULL: then there are no files.
 *
 * Nothing is believed of an address. O(log n) in the mappings and objects; of a file the pages are
 * read that are looked at (hs_elf_bytes_from). */
#ifndef HS_PROCESS_CONSTANTS_H
#define HS_PROCESS_CONSTANTS_H

#include "process/image.h"
#include "process/objects.h"

/* n bytes in one piece, borrowed until the image or the objects are closed; NULL: not there. What a
 * loader would have moved of a file is as the file has it. */
const uint8_t *hs_constant_bytes(const struct hs_image *image, const struct hs_objects *objects,
                                 hs_addr address, size_t n);
/* A word as the loader left it: of a file only where that moves nothing. */
bool hs_constant_u64(const struct hs_image *image, const struct hs_objects *objects,
                     hs_addr address, uint64_t *ret);
/* A text that ends within n bytes, its end included. False: there is none; `text` says nothing. */
bool hs_constant_string(const struct hs_image *image, const struct hs_objects *objects,
                        hs_addr address, char *text, size_t n);

#endif
