/* The parts of hs_ocaml_locate; private to it. */
#ifndef HS_OCAML_LOCATE_H
#define HS_OCAML_LOCATE_H

#include "ocaml.h"

#define HS_OCAML_SUPPORTED                                                                      \
    "supported are native programs of OCaml 4.13 and 4.14, and of 5.1 to 5.4, and bytecode of " \
    "4.13 and 4.14, on x86-64"

/* Recognises the runtime by its symbols: refuse.c. HS_OK when they are those of a native program of
 * OCaml 4.13, 4.14 or 5.1 and later, else HS_TARGET with what the program is. `*ret_minor` is 13 or
 * 14 as far as the symbols tell, 0 for OCaml 5. */
hs_status hs_ocaml_recognise_runtime(const struct hs_ocaml *rt, unsigned *ret_minor,
                                     struct hs_error *err);

/* Finds static data, code and atoms: segments.c. */
hs_status hs_ocaml_find_segments(struct hs_ocaml *rt, struct hs_error *err);
/* Copies the text of Sys.ocaml_version into version[n]; false when the module is not linked. */
bool hs_ocaml_stated_version(const struct hs_ocaml *rt, char *version, size_t n);

/* Reads the word at a symbol; false when there is no such symbol or it is not in the copy. */
bool hs_ocaml_symbol_word(const struct hs_ocaml *rt, const char *name, uint64_t *ret);

#endif
