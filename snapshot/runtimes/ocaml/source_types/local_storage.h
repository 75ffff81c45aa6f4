/* OCaml 5: what a domain's local storage holds, by the variables of modules that hold its keys.
 *
 * Storage is an array; a key is its index beside the function that makes the first value
 * (domain.ml: `type 'a key = int * (unit -> 'a)`), so the variable that holds the key of an index
 * names what stands there. The array gets a type whose fields are so called, and whose values have
 * the types that the variables' do tell: `Domain.DLS of domain 1.Server.spans`. */
#ifndef HS_SOURCE_TYPES_LOCAL_STORAGE_H
#define HS_SOURCE_TYPES_LOCAL_STORAGE_H

#include "push.h"
#include "suspended.h"

/* Adds that type to push->tables, where the program has local storage and keys; else
 * push->storage_type becomes HS_STYPE_NONE. One look at each field of a module. */
hs_status hs_slocal_add(struct hs_spush *push, const struct hs_sheap *heap, struct hs_error *err);

/* Tells whether a root is the local storage of a domain. */
bool hs_slocal_is_root(const struct hs_ocaml *rt, const struct hs_root *root);

/* Tells whether a value is that of an empty place, or looks like it: `ref 0` (domain.ml). */
bool hs_slocal_is_empty(const struct hs_block_map *map, uint64_t value);

#endif
