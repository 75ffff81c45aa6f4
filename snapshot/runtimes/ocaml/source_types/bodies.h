/* The types of blocks by function bodies: which variables a closure captured, and which were in
 * scope at the calls that the stopped threads and suspended fibers stand in. The heap and the
 * stacks say which functions and calls are asked about; the answer is checked as the rest of the
 * tables. */
#ifndef HS_SOURCE_TYPES_BODIES_H
#define HS_SOURCE_TYPES_BODIES_H

#include "base/buffer.h"
#include "push.h"
#include "suspended.h"

/* Writes the questions to the helper once the heap is marked: nothing, or lines (bounded in
 * number). */
hs_status hs_sbodies_ask(const struct hs_sheap *heap, struct hs_buffer *out, struct hs_error *err);

/* Reads what closures of each of the functions captured: from code address to number in
 * tables->captured. */
hs_status hs_sbodies_functions(const struct hs_ocaml *rt, const struct hs_ocaml_marks *marks,
                               const struct hs_stables *tables, struct hs_dict *ret,
                               struct hs_error *err);

/* Finds the closure that the value of a module's variable leads to; false when it is not of the
 * function that was answered for. */
bool hs_sbodies_holds(const struct hs_sheap *heap, const struct hs_stables *tables,
                      const struct hs_sheld *held, uint64_t value, struct hs_block *ret);

/* Blocks that slots of stacks lead to and no variable of a module, each with the one type of what
 * was in scope there that fits it and what it leads to. Only probable: a slot may hold what has no
 * name. `ret` is owned by the caller (hs_free). */
struct hs_sprobable {
    hs_addr block;
    hs_stype type;
};
hs_status hs_sbodies_slots(const struct hs_spush *push, const struct hs_sheap *heap,
                           struct hs_sprobable **ret, size_t *ret_n, struct hs_error *err);

#endif
