/* The facts about the allocators in use, and the notes on the outcome of names, types and marking:
 * private to runtime.c. */
#ifndef HS_NATIVE_FACTS_H
#define HS_NATIVE_FACTS_H

#include "scan.h"

struct hs_native_allocators {
    struct hs_runtime_fact facts[HS_N_ALLOCATORS];
    size_t n;
};
/* Lists the allocators in use, into a zeroed *ret. */
hs_status hs_native_list_allocators(struct hs_native *native, struct hs_native_allocators *ret,
                                    struct hs_error *err);
hs_status hs_native_note(struct hs_native *native, const struct hs_flow *flow,
                         const struct hs_scan *scan, struct hs_error *err);

#endif
