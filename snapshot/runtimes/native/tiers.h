/* The tiers of an object's variables as roots: the program's own are firm, those of the loader, of
 * libc and of a language's runtime are of tier runtime (snapshot/model.h). */
#ifndef HS_NATIVE_TIERS_H
#define HS_NATIVE_TIERS_H

#include "native.h"

/* Is it CPython itself? Then all but `_PyRuntime`, which leads to what the program has, is its own.
 */
bool hs_native_is_python(const struct hs_object *object);

/* Is it the program `python`, whatever library its interpreter is in? */
bool hs_native_is_python_program(const struct hs_object *object);

/* Is it of an interpreter that names what its program has: CPython itself, or an extension? Then
 * its variables, and those of its functions on a stack, keep only what no name keeps. */
bool hs_native_is_interpreters(const struct hs_native *native, size_t object);

/* Sets the tier of a variable of an object, and the line of a rule that says so, by its name in the
 * symbol table or the debug information; NULL: it has none. `is_global`: it is a symbol that other
 * objects see. Some searches by name. */
void hs_native_set_tier(const struct hs_native *native, size_t object, const char *name,
                        bool is_global, struct hs_root *root);

/* Is this place in CPython's `_PyRuntime` a list of free objects or a cache? "dict_state.free_list"
 */
bool hs_native_is_python_cache(const char *place);

#endif
