/* The non-owning references of a running call: an argument, a reference, an iterator, what it
 * looked up. Such a reference keeps alive only what no variable that outlives the call does:
 * decision 034. */
#ifndef HS_NATIVE_BORROWED_H
#define HS_NATIVE_BORROWED_H

#include "frames_label.h"
#include "symbols/locals.h"

enum hs_borrowed {
    HS_OWNED,
    HS_SHARED,      /* unless what lasts longer has it and the call is a visitor: visits.h */
    HS_MAYBE_OWNED, /* unless what lasts longer than the call has it: calls.h */
    HS_BORROWED
};

/* Tells whether `local`, a variable of the call `label`, borrows what it leads to by `word`, by its
 * type:
 *
 *   std::vector<T>, Vec<T>, Box<T>              no, wherever it is: it may be all that owns
 *   std::shared_ptr<T>, Rc<T>                   shared, but for main's own variables
 *   T &, &T, &mut T; an iterator; what locks,   always
 *   as std::unique_lock does
 *   T *; also in a struct of C                  yes; shared where it is a variable of main, or of
 *                                               what main has called, that leads to the beginning
 *                                               of a block and is no argument
 *   T * in another record of C++ or Rust        maybe, where such a pointer alone is borrowed
 *
 * `offset`: of the word in the variable. `word` need not lead anywhere. *ret_by: number of the rule
 * of a file that says so, or 0. O(depth of members). */
enum hs_borrowed hs_native_borrowed(const struct hs_native *native,
                                    const struct hs_native_frame_label *label,
                                    const struct hs_local *local, uint64_t offset, uint64_t word,
                                    uint8_t *ret_by);

/* Tells whether the pointer at `offset` of a value of this type is the only owner of what it leads
 * to: that of a container, a std::unique_ptr or a Box, not that of a std::shared_ptr or a plain
 * one. */
bool hs_native_owns_alone(const struct hs_native *native, hs_ctype type, uint64_t offset);

/* The ownership that moves with a variable of Rust: the sole one, or one of several that are
 * counted. */
enum hs_owning {
    HS_OWNING_NOT,
    HS_OWNING_ALONE,
    HS_OWNING_COUNTED,
    HS_OWNING_SENDER,
    HS_OWNING_RECEIVER
};

/* Finds the ownership by the names of the types around the pointer at `offset`: Box, Vec, a table;
 * Rc, Arc; the ends of a channel. *ret_depth: how many types are around it. */
enum hs_owning hs_native_owning(const struct hs_native *native, hs_ctype type, uint64_t offset,
                                uint8_t *ret_depth);

#endif
