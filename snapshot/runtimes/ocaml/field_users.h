/* The functions that use the fields of modules which no source name is known of, by their code: a
 * reader of a stripped program can look up what Request.get_id uses, and `field 65` nowhere. */
#ifndef HS_OCAML_FIELD_USERS_H
#define HS_OCAML_FIELD_USERS_H

#include "roots.h"

/* Adds to the name of each such root, "Request field 65", the function that reads it most often:
 * "Request field 65 (used by get_id)"; of those alone that lead into the heap. Where only functions
 * without a name read it, the place of one: "(used by (fun at request.ml:7))". What no function
 * reads keeps its name. Costs what hs_elf_field_users does, for each binary with such fields; twice
 * where it has some of the latter. */
hs_status hs_ocaml_tell_field_users(struct hs_ocaml *rt, struct hs_ocaml_roots *roots,
                                    struct hs_error *err);

#endif
