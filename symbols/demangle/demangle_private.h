/* The parts of demangling: demangle.c (which language, and OCaml), demangle_library.c (C++ and Rust
 * through libiberty), demangle_shorten.c (what people leave out; demangle_nodes.c,
 * demangle_text.c). */
#ifndef HS_DEMANGLE_DEMANGLE_PRIVATE_H
#define HS_DEMANGLE_DEMANGLE_PRIVATE_H

#include "symbols/demangle.h"

/* The longest mangled name that is tried and the longest readable one that is kept: the rest is
 * cut. */
enum { DEMANGLE_MAX_NAME = 4096, DEMANGLE_MAX_TEXT = 8192 };

/* A text being written to a room that it need not fit in. */
struct demangle_out {
    char *text;
    size_t n, room; /* room without the NUL */
};

static inline void hs_demangle_put_(struct demangle_out *out, char c)
{
    if (out->n < out->room)
        out->text[out->n++] = c;
}

static inline void hs_demangle_put_text_(struct demangle_out *out, const char *text)
{
    for (; *text != '\0'; text++)
        hs_demangle_put_(out, *text);
}

/* Writes the readable form to out[0, n_out) and returns its length, or 0 when the name is none of
 * that language, is too long or too deep, or the library refuses it. Names of functions come
 * without parameters and return types. */
size_t hs_demangle_cxx_(const char *name, char *out, size_t n_out);
size_t hs_demangle_rust_(const char *name, char *out, size_t n_out);

/* Demangles a type as RTTI names it, without "_ZTS". */
size_t hs_demangle_cxx_type_(const char *name, char *out, size_t n_out);

#endif
