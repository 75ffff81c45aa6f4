/* Symbols as people write them. Today: OCaml's native symbols, all separators up to 5.x.
 *
 *   camlStm__observe_6961             Stm.observe
 *   camlStdlib__Hashtbl.add_1234      Stdlib.Hashtbl.add
 *   camlM__fun_12, camlM.anon_fn[..]  M.(fun)
 *   camlM__$2b$2b_7                   M.++
 *   camlLtac_plugin__Tacenv           Ltac_plugin.Tacenv
 *   caml_startup, caml_curry2, main   unchanged
 *
 * Names come from hostile binaries: any length, any bytes. Nothing is allocated, output is cut at
 * its room (never inside the two bytes of an escape), always terminated. Bytes are passed on as
 * they are, so a table must still be cleaned for the terminal by report/. */
#ifndef HS_SYMBOLS_DEMANGLE_H
#define HS_SYMBOLS_DEMANGLE_H

#include "base/types.h"

/* Writes the readable form of `name` (or a copy of it) to out[0, n_out) and returns its length
 * without the NUL, < n_out. n_out must not be 0. */
size_t hs_demangle(const char *name, char *out, size_t n_out);

/* True when `name` is a symbol that the OCaml compiler makes for a unit or for something in one:
 * "caml" and a capital. */
bool hs_is_ocaml_symbol(const char *name);

#endif
