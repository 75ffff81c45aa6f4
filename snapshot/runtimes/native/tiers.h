/* The tiers of an object's variables as roots: the program's own are firm, those of the loader, of
 * libc and of a language's runtime are of tier runtime (snapshot/model.h). */
#ifndef HS_NATIVE_TIERS_H
#define HS_NATIVE_TIERS_H

#include "native.h"

/* Tells whether an object is CPython itself. Then all its variables but `_PyRuntime`, which leads
 * to what the program has, are the interpreter's own. */
bool hs_native_is_python(const struct hs_object *object);

/* Tells whether an object is the program `python`, whatever library its interpreter is in. */
bool hs_native_is_python_program(const struct hs_object *object);

/* Tells whether an object is of an interpreter that names what its program has: CPython itself, or
 * an extension. Then its variables, and those of its functions on a stack, keep only what no name
 * keeps. */
bool hs_native_is_interpreters(const struct hs_native *native, size_t object);

/* Sets the tier of a variable of an object, and the line of a rule that says so, by its name in the
 * symbol table or the debug information; NULL: it has none. `is_global`: it is a symbol that other
 * objects see. Some searches by name. */
void hs_native_set_tier(const struct hs_native *native, size_t object, const char *name,
                        bool is_global, struct hs_root *root);

/* Tells whether a place in CPython's `_PyRuntime`, such as "dict_state.free_list", is a list of
 * free objects or a cache. */
bool hs_native_is_python_cache(const char *place);

#endif
