/* The state of names that come later: later.c, later_types.c. */
#ifndef HS_NATIVE_LATER_PRIVATE_H
#define HS_NATIVE_LATER_PRIVATE_H

#include "roots.h"
#include "types.h"

struct hs_later {
    struct hs_native native; /* of a dump without memory: objects, types, strings and rules alone */
    struct hs_native_types types;
    hs_str no_source;
};

#endif
