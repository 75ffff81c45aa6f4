/* The non-owning references of a running call: an argument, a reference, an iterator, what it
 * looked up. It keeps only what no variable that outlives the call does: decision 034. */
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

/* Does `local`, a variable of the call `label`, borrow what it leads to by `word`? By its type:
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
 * `offset`: of the word in the variable. `word` need not lead anywhere.
 * *ret_by: number of the rule of a file that says so, or 0. O(depth of members). */
enum hs_borrowed hs_native_borrowed(const struct hs_native *native,
                                    const struct hs_native_frame_label *label,
                                    const struct hs_local *local, uint64_t offset, uint64_t word,
                                    uint8_t *ret_by);

/* Is the pointer at `offset` of such a value one that frees what it leads to, and the only one that
 * does: of a container, a std::unique_ptr, a Box? Not of a std::shared_ptr, nor a plain one. */
bool hs_native_owns_alone(const struct hs_native *native, hs_ctype type, uint64_t offset);

/* The ownership that a variable of Rust takes with it when it is moved: the memory alone, or one of
 * the counted owners that it has. */
enum hs_owning {
    HS_OWNING_NOT,
    HS_OWNING_ALONE,
    HS_OWNING_COUNTED,
    HS_OWNING_SENDER,
    HS_OWNING_RECEIVER
};

/* By the names of the types around the pointer at `offset`: Box, Vec, a table; Rc, Arc; the ends of
 * a channel. *ret_depth: how many types are around it. */
enum hs_owning hs_native_owning(const struct hs_native *native, hs_ctype type, uint64_t offset,
                                uint8_t *ret_depth);

#endif
