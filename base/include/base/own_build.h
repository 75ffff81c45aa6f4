/* The build of the program or library that this code is part of. */
#ifndef HS_BASE_OWN_BUILD_H
#define HS_BASE_OWN_BUILD_H

#include <stdint.h>

/* Returns a hash of the linker's build id, of the object that this code was linked into; 0: it has
 * none. */
uint64_t hs_own_build(void);

#endif
