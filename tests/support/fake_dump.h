/* A snapshot of an OCaml heap that a test has made and walked, by the driver's own writer. */
#ifndef HS_TESTS_FAKE_DUMP_H
#define HS_TESTS_FAKE_DUMP_H

#include "base/file.h"
#include "ocaml/ocaml.h"

/* After marking. The map is indexed. */
hs_status fake_dump_ocaml(const struct hs_ocaml *rt, struct hs_block_map *map,
                          const struct hs_ocaml_marks *marks, const struct hs_ocaml_roots *roots,
                          struct hs_out *out, struct hs_error *err);

#endif
