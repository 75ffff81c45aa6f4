/* Type ids of OCaml blocks: form and shape, for nothing in the process says more.
 *
 *   closure Stm.observe | custom _z | string | float | float array | abstract | weak array
 *   ephemeron | object | lazy | forward | block tag 0, 2 fields | block tag 0, 17+ fields
 *
 * Every text comes from the program's files: function names from symbols, custom identifiers from
 * read-only data of a mapped file. Nothing is ever read from the heap but addresses. */
#ifndef HS_OCAML_TYPES_H
#define HS_OCAML_TYPES_H

#include "base/table.h"
#include "map.h"

enum { HS_SHAPE_FIELDS = 17, HS_SHAPE_TAGS = 246 };

struct hs_ocaml_types {
    struct hs_ocaml *rt;   /* borrowed */
    struct hs_type *types; /* owned: for the writer's finish */
    size_t n_types, types_capacity;
    struct hs_dict by_address; /* of code or operations, twice, plus 1 for operations: the type,
                                 twice, plus 1 for caml_curryN, caml_tuplifyN: the function proper
                                 is in field 2 */
    uint32_t *by_name;         /* owned: from name id to type id plus 1 */
    size_t by_name_capacity;
    uint32_t shapes[HS_SHAPE_TAGS][HS_SHAPE_FIELDS + 1]; /* type id plus 1 */
    uint32_t others[256];                                /* by tag; abstract: 251 */
    uint32_t weak[2];                                    /* weak array, ephemeron */
};

void hs_ocaml_types_fini(struct hs_ocaml_types *types);

/* The type of a block. `is_ephemeron`: it is in the runtime's list of ephemerons. Fails with
 * HS_LIMIT when out of memory. Cost: a table look-up, or a hash probe for closures and customs. */
hs_status hs_ocaml_type(struct hs_ocaml_types *types, const struct hs_block *block, uint64_t header,
                        bool is_ephemeron, uint32_t *ret, struct hs_error *err);

#endif
