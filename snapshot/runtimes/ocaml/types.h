/* Type ids of OCaml blocks: form and shape, for nothing in the process says more.
 *
 *   closure Stm.observe | closure Stm.(fun at stm.ml:7) | continuation of Stm.run (stm.ml:9) |
 * object (method at view.ml:9) |
 * custom _z | string | float | float array | abstract | weak array | ephemeron | empty weak array |
 * empty ephemeron | object | lazy | forward | block tag 0, 2 fields | block tag 0, 17+ fields
 *
 * and where source types are known, those: "Constr.t.App", with the names of fields; containers
 * that are told by their shape: "map-node" (source_types/shapes.h).
 *
 * Every text comes from the program's files: function names from symbols, custom identifiers from
 * read-only data of a mapped file. Nothing is ever read from the heap but addresses. */
#ifndef HS_OCAML_TYPES_H
#define HS_OCAML_TYPES_H

#include "base/table.h"
#include "lambdas.h"
#include "map.h"
#include "source_types/push.h"

enum { HS_SHAPE_FIELDS = 17, HS_SHAPE_TAGS = 246 };

struct hs_ocaml_types {
    struct hs_ocaml *rt;                 /* borrowed */
    const struct hs_lambdas *lambdas;    /* borrowed; may be NULL */
    const struct hs_frame_table *frames; /* borrowed; may be NULL */
    struct hs_type *types;               /* owned: for the writer's finish */
    size_t n_types, types_capacity;
    struct hs_dict by_address; /* of code or operations, twice, plus 1 for operations: the type,
                                 twice, plus 1 for caml_curryN, caml_tuplifyN: the function proper
                                 is in field 2. */
    uint32_t *by_name;         /* owned: from name id to type id plus 1 */
    size_t by_name_capacity;
    uint32_t shapes[HS_SHAPE_TAGS][HS_SHAPE_FIELDS + 1]; /* type id plus 1 */
    uint32_t others[256];                                /* by tag; abstract: 251 */
    uint32_t weak[2][2];    /* weak array, ephemeron; those with nothing alive in them */
    struct hs_dict by_call; /* of continuations, from the call that they wait in, and of objects,
                               from their table of methods, to type id */
    struct hs_dict constructors; /* from the block of an extension constructor to type id plus 1;
                                    0: it has no name */
    /* Source types, where there are any. */
    const struct hs_spush *push;    /* borrowed; may be NULL */
    const struct hs_block_map *map; /* borrowed: with its index, where there is a push */
    uint32_t *by_row;               /* owned: from a row of its tables to type id plus 1 */
    uint32_t *row_of;               /* owned: by type id: the row plus 1; 0: none */
    size_t by_row_capacity, row_of_capacity;
    /* The captured variables of closures: by type id, which variables they captured, and in which
     * fields from on. */
    struct hs_captured {
        uint32_t number; /* in the tables, plus 1; 0: not known */
        uint32_t from;
    } * captured_of; /* owned */
    size_t captured_of_capacity;
    uint8_t *counted_as; /* owned: by type id: which field counts, plus 2; 1: none; 0: not known */
    size_t counted_as_capacity;
};

void hs_ocaml_types_fini(struct hs_ocaml_types *types);

/* The part that a block has in the runtime's list of ephemerons: none; one of which a key is alive;
 * one of which none is, as in a table that is never cleaned. */
enum hs_ephe_state { HS_EPHE_NONE, HS_EPHE_ALIVE, HS_EPHE_EMPTY };

/* Finds the type of a block. Fails with HS_LIMIT when out of memory. Cost: a table look-up, or a
 * hash probe for closures and customs. */
hs_status hs_ocaml_type(struct hs_ocaml_types *types, const struct hs_block *block, uint64_t header,
                        enum hs_ephe_state ephemeron, uint32_t *ret, struct hs_error *err);

/* continuations.c: the call that a suspended continuation waits in, as a return address; 0: not
 * known. Its name has NAME and place: "continuation of Server.handle (server.ml:11)". Bounded by
 * the stack's length. */
hs_addr hs_ocaml_continuation_call(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                                   hs_addr block);
void hs_ocaml_continuation_name(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                                hs_addr pc, char *name, size_t n_bytes);

/* Copies the identifier of a custom block's operations, which begin with a pointer to it
 * (custom.h). Both must lie in a mapped file, the text in bytes of that file. */
bool hs_ocaml_identifier(const struct hs_ocaml *rt, hs_addr operations, char *text, size_t n);
/* Finds the type of a name, which is added once. */
hs_status hs_ocaml_type_named(struct hs_ocaml_types *types, const char *name, unsigned tag,
                              enum hs_type_form form, uint32_t *ret, struct hs_error *err);

/* constructors.c: finds the block of the constructor of an exception, or of another value of an
 * extensible type; false for other blocks. Copies the name that a constructor has. */
bool hs_ocaml_constructor_of(const struct hs_block_map *map, const struct hs_block *block,
                             uint64_t header, struct hs_block *ret);
bool hs_ocaml_constructor_name(const struct hs_ocaml *rt, const struct hs_block *constructor,
                               char *name, size_t n);
/* Finds the type of such a value; *ret_found is false for other blocks. */
hs_status hs_ocaml_constructor_type(struct hs_ocaml_types *types, const struct hs_block *block,
                                    uint64_t header, uint32_t *ret, bool *ret_found,
                                    struct hs_error *err);

/* source_types/named.c */
/* Finds the type of a block that is no ephemeron by its source type; *ret_found is false when it
 * has none, or when its form says more: a function's name, operations. */
hs_status hs_ocaml_source_type(struct hs_ocaml_types *types, const struct hs_block *block,
                               uint64_t header, uint32_t *ret, bool *ret_found,
                               struct hs_error *err);
/* Finds the number of elements that a block of such a type says it has: a Hashtbl.t, a Queue.t or a
 * Stack.t, which are told by the names of their fields. False in *ret_is for others, and for a
 * number that is none. */
hs_status hs_ocaml_source_count(struct hs_ocaml_types *types, const struct hs_block *block,
                                uint64_t header, uint32_t type, bool *ret_is, uint64_t *ret,
                                struct hs_error *err);
/* Notes what a closure captured, for the members of its type. */
void hs_ocaml_source_captured(struct hs_ocaml_types *types, const struct hs_block *block,
                              uint64_t header, uint32_t type);
/* Lists the fields of the types that were given so far; owned by the caller (hs_free). */
hs_status hs_ocaml_source_members(const struct hs_ocaml_types *types, struct hs_member **ret,
                                  size_t *ret_n, struct hs_error *err);
/* Adds a type. */
hs_status hs_ocaml_types_add(struct hs_ocaml_types *types, const struct hs_type *type,
                             uint32_t *ret, struct hs_error *err);

#endif
