/* The stubs that register C global roots, by their code: functions that call the runtime's
 * caml_register_global_root, or the generational one. A root in memory of malloc has no name of its
 * own; the function that registers such roots is where to look for the one that should remove them.
 */
#ifndef HS_OCAML_REGISTRARS_H
#define HS_OCAML_REGISTRARS_H

#include "object_lines.h"

struct hs_registrar {
    hs_str name;           /* "watch_add", "watch_add or timer_add"; 0: none, or more than three */
    hs_str file, function; /* of the only one; 0: not known */
    uint32_t line;
};

struct hs_registrars {
    struct hs_registrar plain, generational;
};

/* Finds both in the binary that the runtime is linked into, as its file has it. Calls from other
 * binaries are not found: where the runtime's functions are called by none, nothing is told. */
hs_status hs_registrars_find(struct hs_ocaml *rt, struct hs_object_lines *lines,
                             struct hs_registrars *ret, struct hs_error *err);

#endif
