/* Symbols as people write them: OCaml's native ones (all separators up to 5.x), C++ by the Itanium
 * ABI, Rust's legacy and v0.
 *
 *   camlStm__observe_6961             Stm.observe
 *   camlStdlib__Hashtbl.add_1234      Stdlib.Hashtbl.add
 *   camlM__fun_12, camlM.anon_fn[..]  M.(fun)
 *   camlM__$2b$2b_7                   M.++
 *   camlLtac_plugin__Tacenv           Ltac_plugin.Tacenv
 *   _ZN2ns3Foo3barEi                  ns::Foo::bar
 *   _ZTV3Foo                          vtable for Foo
 *   _ZN4core3fmt9Formatter3pad17h...E core::fmt::Formatter::pad
 *   caml_startup, caml_curry2, main   unchanged
 *
 * Names come from hostile binaries: any length, any bytes. Nothing is allocated that stays, output
 * is cut at its room (never inside the two bytes of an escape), always terminated. C++ and Rust are
 * read by libiberty, whose output may be exponential in its input: names over its 1024 bytes (Rust:
 * 4096) stay as they are, and 8 KiB of output are enough. Bytes are passed on as they are, so a
 * table must still be cleaned for the terminal by report/. */
#ifndef HS_SYMBOLS_DEMANGLE_H
#define HS_SYMBOLS_DEMANGLE_H

#include "base/types.h"

/* Writes the readable form of `name` (or a copy of it) to out[0, n_out) and returns its length
 * without the NUL, < n_out. n_out must not be 0. Functions of C++ and Rust come without parameters,
 * return type and hash, types in names as hs_shorten_type has them. */
size_t hs_demangle(const char *name, char *out, size_t n_out);

/* Demangles, as hs_demangle, the name of a type as C++ keeps it at run time,
 * std::type_info::name(): "N2ns7DerivedE", also with "_ZTS" or '*' in front: "ns::Derived". Whole,
 * not shortened, so that it can be looked up. */
size_t hs_demangle_type(const char *name, char *out, size_t n_out);

/* The name of a type without what everybody leaves out: inline namespaces of the standard library,
 * ABI tags, trailing default arguments of the standard library's templates.
 *
 *   std::map<int, Foo, std::less<int>, std::allocator<std::pair<int const, Foo> > >
 *                                                          std::map<int, Foo>
 *   std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >
 *                                                          std::string
 *   alloc::vec::Vec<u8, alloc::alloc::Global>              alloc::vec::Vec<u8>
 *
 * Other arguments stay, std::less<void> of a map<int, ...> too. Text whose brackets do not match is
 * copied. Same output rules as hs_demangle; n_out must not be 0. */
size_t hs_shorten_type(const char *name, char *out, size_t n_out);

/* Tells whether `name` is a symbol that the OCaml compiler makes for a unit or for something in
 * one: "caml" and a capital. */
bool hs_is_ocaml_symbol(const char *name);

#endif
