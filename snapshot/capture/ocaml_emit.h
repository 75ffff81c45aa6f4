/* Writes what was found: the tree of roots, the blocks with their edges, types, samples. */
#ifndef HS_CAPTURE_OCAML_EMIT_H
#define HS_CAPTURE_OCAML_EMIT_H

#include "base/file.h"
#include "base/progress.h"
#include "ocaml.h"

struct hs_ocaml_emission {
    struct hs_ocaml *rt;
    struct hs_block_map *map; /* after mark; indexed here */
    const struct hs_ocaml_marks *marks;
    const struct hs_ocaml_roots *roots;
    const struct hs_snap_facts *facts;
    const struct hs_progress *progress; /* may be NULL */
    struct hs_out *out;
};

/* Blocks go out in address order, each with its strong, weak and ephemeron edges. Resident: the
 * ranks (1/64 byte per word), the edges of one block, 16 bytes per key of a live ephemeron. */
hs_status hs_ocaml_emit(const struct hs_ocaml_emission *emission, struct hs_snap_totals *ret,
                        struct hs_error *err);

#endif
