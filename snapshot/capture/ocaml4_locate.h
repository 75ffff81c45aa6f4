/* The parts of hs_ocaml_locate; private to it. */
#ifndef HS_CAPTURE_OCAML4_LOCATE_H
#define HS_CAPTURE_OCAML4_LOCATE_H

#include "ocaml.h"

/* ocaml4_refuse.c: HS_OK when the symbols are those of a native OCaml 4.13 or 4.14 program, else
 * HS_TARGET with what the program is. `*ret_minor` is 13 or 14 as far as the symbols tell. */
hs_status hs_ocaml_recognise_runtime(const struct hs_ocaml *rt, unsigned *ret_minor,
                                     struct hs_error *err);

/* ocaml_segments.c: static data, code, atoms, and the version that the program states. */
hs_status hs_ocaml_find_segments(struct hs_ocaml *rt, struct hs_error *err);
/* The text of Sys.ocaml_version into version[n]; false when the module is not linked. */
bool hs_ocaml_stated_version(const struct hs_ocaml *rt, char *version, size_t n);

/* The word at a symbol; false when there is no such symbol or it is not in the copy. */
bool hs_ocaml_symbol_word(const struct hs_ocaml *rt, const char *name, uint64_t *ret);

#endif
