/* The tiers of an object's variables as roots: the program's own are firm, those of the loader, of
 * libc and of a language's runtime are of tier runtime (snapshot/model.h). */
#ifndef HS_NATIVE_TIERS_H
#define HS_NATIVE_TIERS_H

#include "native.h"

/* Tells whether an object has a language's interpreter in it, by rules. Then all its variables but
 * one, which leads to what the program has, are the interpreter's own. */
bool hs_native_has_interpreter(const struct hs_rules *rules, const struct hs_object *object);

/* Tells whether an object is the program of an interpreter, whatever library that is in. */
bool hs_native_is_interpreter_program(const struct hs_rules *rules, const struct hs_object *object);

/* Tells whether an object is of an interpreter that names what its program has: that itself, or an
 * extension. Then its variables, and those of its functions on a stack, keep only what no name
 * keeps. */
bool hs_native_is_interpreters(const struct hs_native *native, size_t object);

/* Sets the tier of a variable of an object, and the line of a rule that says so, by its name in the
 * symbol table or the debug information; NULL: it has none. `is_global`: it is a symbol that other
 * objects see. Some searches by name. */
void hs_native_set_tier(const struct hs_native *native, size_t object, const char *name,
                        bool is_global, struct hs_root *root);

/* Tells whether a place in a variable, such as "dict_state.free_list" in CPython's `_PyRuntime`, is
 * an interpreter's list of free objects or a cache. */
bool hs_native_is_own_place(const struct hs_native *native, const char *variable,
                            const char *place);

#endif
