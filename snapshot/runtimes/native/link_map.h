/* The dynamic linker's list of loaded objects: their numbers and places among thread-local storage,
 * and where it keeps what it knows. */
#ifndef HS_NATIVE_LINK_MAP_H
#define HS_NATIVE_LINK_MAP_H

#include "native.h"

/* Sets tls_module and tls_offset of every object, from the linker's list of objects in
 * the copy; of the executable alone by the ABI when there is no such list (a static program). May
 * be called again. Source: glibc's include/link.h, elf/link.h; System V ABI, "ELF Handling For
 * Thread-Local Storage" 3.4.6 (variant II). */
void hs_native_read_link_map(struct hs_native *native);

/* Calls `visit` with the address of every entry of the linker's lists; nothing without one. */
void hs_native_each_link_map(const struct hs_native *native,
                             void (*visit)(void *context, hs_addr entry), void *context);

#endif
