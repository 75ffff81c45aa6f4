/* The names of an object's memory: its variables by address. Shared by data and TLS. */
#ifndef HS_NATIVE_GLOBALS_H
#define HS_NATIVE_GLOBALS_H

#include "roots.h"

/* Returns the symbols of an object, local ones too when there are any: its own, else its debug
 * file's. */
const struct hs_elf *hs_native_symbols(const struct hs_object *object);

/* Writes a symbol's name as people do, without the version that linkers append. */
void hs_native_symbol_name(const char *name, char *text, size_t n_bytes);

/* Shortens the name of a variable that a macro of Rust declared (thread_local!, lazy_static!) to
 * the one that the program has for it. */
void hs_native_cut_macros(char *text);

/* Sets module and group of a variable's leaf: the object, or "system: libc.so.6". */
hs_status hs_native_set_module(struct hs_native *native, const struct hs_object *object,
                               struct hs_root_leaf *leaf, struct hs_error *err);

/* Fills in name, type, source, begin and length from debug information. `base` is added to
 * addresses in the file (or offsets in the TLS block). *ret_is_valid is false when the
 * variable does not hold `at`. */
hs_status hs_native_describe(struct hs_native *native, const struct hs_cvariable *found,
                             hs_addr base, hs_addr at, struct hs_native_variable *ret,
                             bool *ret_is_valid, struct hs_error *err);

/* Finds the variable that holds run-time address `at` of an object; what has no name is a part of
 * its section, and *ret_end is where something else may begin. Fails with HS_LIMIT. */
hs_status hs_native_find_variable(struct hs_native *native, size_t object, hs_addr at,
                                  struct hs_native_variable *ret, hs_addr *ret_end,
                                  struct hs_error *err);

/* ---- globals_places.c: finds the words of an object that are called by their section alone, among
 * the leaves from number `first` on. */
bool hs_native_is_unnamed(const struct hs_native *native, const struct hs_root_leaf *leaf);
/* Lists where they are in the file, ascending, each once, at most 65,536; *ret is the caller's
 * (hs_free). Fails with HS_LIMIT. */
hs_status hs_native_unnamed_places(const struct hs_native *native, const struct hs_object *object,
                                   size_t first, hs_addr **ret, size_t *ret_n,
                                   struct hs_error *err);

/* ---- globals_users.c: finds the functions of an object that use what has no name
 * (symbols/elf_users.h), for its leaves from number `first` on. Fails with HS_LIMIT. */
hs_status hs_native_find_users(struct hs_native *native, size_t object, size_t first,
                               struct hs_error *err);

/* ---- globals_objects.c: finds the static objects that leaves without a name are parts of, by the
 * code that uses them, the functions that do and their source files (symbols/elf_objects.h), for
 * its leaves from number `first` on. Where code tells nothing, functions alone, as above. Fails
 * with HS_LIMIT. */
hs_status hs_native_find_objects(struct hs_native *native, size_t object, size_t first,
                                 struct hs_error *err);

/* ---- globals_containers.c: after find_objects, makes leaves from number `first` on that are words
 * of one container of C++ words of one object. O(leaves + buckets of hash tables). */
void hs_native_join_containers(struct hs_native *native, size_t first);

/* ---- globals_pools.c: tells whether a word of static or thread-local memory is named by its place
 * alone. */
bool hs_native_is_nameless(const struct hs_native *native, const struct hs_root_leaf *leaf);
/* After find_objects, makes words of one object slots of one variable; where objects are not known,
 * more than eight words of static memory that stand close together. Linear. Fails with HS_LIMIT. */
hs_status hs_native_fold_pools(struct hs_native *native, size_t object, size_t first,
                               struct hs_error *err);

#endif
