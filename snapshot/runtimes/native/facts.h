/* What the snapshot says before its first block: private to dump.c. */
#ifndef HS_NATIVE_FACTS_H
#define HS_NATIVE_FACTS_H

#include "scan.h"

/* Arrays of the facts that are made here; the rest is borrowed from `native`. */
struct hs_native_facts {
    struct hs_runtime *runtimes; /* owned, all three */
    struct hs_binary *binaries;
    struct hs_range *unreadable;
};
void hs_native_facts_fini(struct hs_native_facts *facts);

/* Fills native->facts, and adds the notes on what names, types and marking came to. */
hs_status hs_native_make_facts(struct hs_native *native, const struct hs_flow *flow,
                               const struct hs_scan *scan, struct hs_native_facts *ret,
                               struct hs_error *err);

#endif
