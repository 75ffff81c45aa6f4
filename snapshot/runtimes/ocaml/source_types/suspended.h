/* OCaml 5: stacks of suspended fibers. They are no roots, so no leaf tells of their slots; which
 * variables were in scope where their frames go on is asked as for those of threads. */
#ifndef HS_SOURCE_TYPES_SUSPENDED_H
#define HS_SOURCE_TYPES_SUSPENDED_H

#include "frame_table.h"
#include "map.h"

/* The state of the heap when it is marked; all borrowed. */
struct hs_sheap {
    const struct hs_ocaml *rt;
    const struct hs_block_map *map;
    const struct hs_ocaml_roots *roots;
    const struct hs_ocaml_marks *marks;
};

/* Calls slot(context, value, entry, err) for each live slot of each stack that a continuation owns
 * which is reached; `entry` is that of the call that the frame stands in. Ends with the first call
 * that fails. A damaged stack ends early. About 10 ns per slot. */
typedef hs_status (*hs_ssuspended_fn)(void *context, uint64_t value,
                                      const struct hs_frame_entry *entry, struct hs_error *err);
hs_status hs_ssuspended_each(const struct hs_sheap *heap, hs_ssuspended_fn slot, void *context,
                             struct hs_error *err);

#endif
