/* Data of custom blocks that lies outside of the collector's heap: of Bigarrays and of channels. */
#ifndef HS_OCAML_CUSTOM_DATA_H
#define HS_OCAML_CUSTOM_DATA_H

#include "map.h"

/* Visits where such data begins, of each block in the heap, garbage too. That of a Bigarray is
 * where the whole begins that it is a part of, and where that has ended and the part is the last
 * one it has another name. One step for each block of the heap. */
hs_status hs_custom_data_each(const struct hs_ocaml *rt, const struct hs_block_map *map,
                              hs_status (*visit)(void *context, hs_addr data, const char *name,
                                                 struct hs_error *err),
                              void *context, struct hs_error *err);

#endif
