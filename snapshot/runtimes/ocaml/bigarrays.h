/* The data of Bigarrays, which lies outside of the collector's heap. */
#ifndef HS_OCAML_BIGARRAYS_H
#define HS_OCAML_BIGARRAYS_H

#include "map.h"

/* Visits where the data of each Bigarray begins that is in the heap, garbage too: of a part of
 * another one where the whole begins, and where that has ended and the part is the last one it has
 * another name. One step for each block of the heap. */
hs_status hs_bigarrays_each(const struct hs_ocaml *rt, const struct hs_block_map *map,
                            hs_status (*visit)(void *context, hs_addr data, const char *name,
                                               struct hs_error *err),
                            void *context, struct hs_error *err);

#endif
