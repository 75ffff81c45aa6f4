/* Classes of C++ that are no more than one plain pointer, of which no rule says whether they own
 * what it leads to: a smart pointer of a house's own. The snapshot names them, so that what is said
 * of who owns can name the rule that would tell (docs/rules.md). */
#ifndef HS_NATIVE_WRAPPERS_H
#define HS_NATIVE_WRAPPERS_H

#include "symbols/ctypes.h"

struct hs_native;
struct hs_flow;

enum { HS_WRAPPERS_MOST = 8, HS_WRAPPER_NAME_BYTES = 160 };

struct hs_native_wrappers {
    struct hs_native_wrapper {
        char pattern[HS_WRAPPER_NAME_BYTES]; /* "my::ObserverPtr<*>" */
        char target[HS_WRAPPER_NAME_BYTES];  /* "Session" */
    } list[HS_WRAPPERS_MOST];
    size_t n;
    hs_ctype last; /* variables of one type come one after the other */
};

/* Looks whether the slot at `offset` of a variable of this type is in such a class. Once for each
 * of variables of one type that follow each other. */
void hs_native_wrapper_of(struct hs_native *native, hs_ctype type, uint64_t offset,
                          const struct hs_cslot *slot);

/* Adds a note for each such class, of variables and of the types of blocks. */
hs_status hs_native_note_wrappers(struct hs_native *native, const struct hs_flow *flow,
                                  struct hs_error *err);

#endif
