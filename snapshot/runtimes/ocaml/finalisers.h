/* Tables and lists of finalisers, which are the same in OCaml 4 and 5. In both phases. */
#ifndef HS_OCAML_FINALISERS_H
#define HS_OCAML_FINALISERS_H

#include "roots.h"

/* Walks the struct finalisable at `set`; `module` is "Gc.finalise" or "Gc.finalise_last". */
hs_status hs_finalisers_walk_set(struct hs_root_walk *walk, const char *module, hs_addr set);
/* Walks the list of finalisers about to run, whose first cell `head` leads to. */
hs_status hs_finalisers_walk_to_do(struct hs_root_walk *walk, hs_addr head);

#endif
