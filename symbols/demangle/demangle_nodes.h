/* Parts of shortening types. */
#ifndef HS_DEMANGLE_DEMANGLE_NODES_H
#define HS_DEMANGLE_DEMANGLE_NODES_H

#include "demangle_private.h"
#include "demangle_text.h"

/* Shortens `out`, all of which is one template, closed, and `template` what stands before its
 * arguments: what a container allocates gets the name of the container, when that is no longer.
 * Cost: linear. */
void hs_shorten_node_(struct demangle_out *out, struct piece template);

#endif
