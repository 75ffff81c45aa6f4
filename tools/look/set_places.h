/* The few places that all roots of an owner set are in: what to let go of, where more ways lead to
 * memory than a cut has. */
#ifndef HS_LOOK_SET_PLACES_H
#define HS_LOOK_SET_PLACES_H

#include "analysis/view.h"
#include "tool.h"

/* Prints "it would take letting go of: variables of fast-import.c in git (11), calls of thread 7
 * (2)": the roots themselves where they are no more than HS_SET_PLACES, else the sources and
 * binaries of variables and the threads of calls, else the binaries and the threads, those with
 * most roots first, and how many roots are elsewhere. Nothing where the roots of the set are not
 * listed. O(roots). */
enum { HS_SET_PLACES = 10 };
hs_status hs_set_places_print(struct hs_tool *tool, struct hs_view *view, uint32_t set,
                              struct hs_error *err);

#endif
