/* The places of functions without a name: a module has many, and "(fun)" tells none of them apart.
 *
 * The compiler numbers such functions; where they are in the source is told by the frame tables,
 * which have a place for each of their calls and allocations, in stripped programs too, and by the
 * line table of a binary that has one (-g), for any function. The smallest of these lines is that
 * of the function or one of its first. In a stripped program a function that neither calls nor
 * allocates has none. */
#ifndef HS_OCAML_LAMBDAS_H
#define HS_OCAML_LAMBDAS_H

#include "frame_table.h"
#include "ocaml.h"

struct hs_lambda {
    hs_addr code, end;
    hs_str file; /* its base name; 0: no place is known */
    uint32_t line;
};

struct hs_lambdas {
    struct hs_lambda *all; /* owned; by code */
    size_t n, capacity;
};

void hs_lambdas_fini(struct hs_lambdas *lambdas);

/* Finds the places of those of the functions (by code address) that have no name. `frames` may be
 * NULL. One search among these functions for each descriptor. */
hs_status hs_lambdas_find(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                          const struct hs_dict *functions, struct hs_lambdas *ret,
                          struct hs_error *err);

/* Finds the function at `code`; NULL: it has a name, or no place is known. `lambdas` may be NULL.
 */
const struct hs_lambda *hs_lambda_at(const struct hs_lambdas *lambdas, hs_addr code);

#endif
