/* Pointers of known type that lead into the data of binaries without debug information, and the
 * names that they give to roots there. */
#ifndef HS_NATIVE_GLOBALS_POINTED_H
#define HS_NATIVE_GLOBALS_POINTED_H

#include "globals.h"

struct hs_pointed {
    struct hs_pointed_at {
        hs_addr target, at; /* where it leads, where it is */
    } * all;                /* owned; sorted by both, once that is asked for */
    size_t n, capacity;
    hs_addr low, high; /* all such data lies in here */
};

/* Adds the pointers in [begin, end), data of this object. Fails with HS_LIMIT. */
hs_status hs_native_pointed_look(struct hs_pointed *pointed, const struct hs_native *native,
                                 size_t object, hs_addr begin, hs_addr end, struct hs_error *err);
/* Once all are there. */
void hs_native_pointed_sort(struct hs_pointed *pointed);
/* Names the leaves from number `first` on that are called by their section alone. */
hs_status hs_native_pointed_name(const struct hs_pointed *pointed, struct hs_native *native,
                                 size_t first, struct hs_error *err);
void hs_native_pointed_fini(struct hs_pointed *pointed);

#endif
