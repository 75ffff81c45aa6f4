/* The index types of the whole tree, so that the choice between 32 and 64 bits is made once. */
#ifndef HS_BASE_TYPES_H
#define HS_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An address in the target's address space. Never dereferenced here. */
typedef uint64_t hs_addr;

/* A node of the heap graph: first the tree of roots (0 is the root of all), then the blocks in
 * address order. Files and interfaces use 64 bits; an engine may narrow them after a check. */
typedef uint64_t hs_node;

/* An interned string of a `struct hs_strtab` or of a snapshot. 0 is "none". */
typedef uint32_t hs_str;

#define HS_NO_NODE UINT64_MAX
#define HS_NO_FIELD UINT32_MAX

#endif
