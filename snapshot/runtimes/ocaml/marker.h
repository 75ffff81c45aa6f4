/* The marker: what mark.c and ephe.c share. */
#ifndef HS_OCAML_MARKER_H
#define HS_OCAML_MARKER_H

#include "map.h"

/* Blocks with their bit set in `marks->reached` and their fields not yet looked at wait on the
 * stack: each block at most once, so that n_starts + static words bounds it. Its pages are touched
 * lazily. In a large heap only those of one region wait there, the others as a bit each: so a copy
 * that is larger than memory is read region by region. In the second half of the work (ephemerons)
 * a block that someone waits for is also put on `woken` when it is reached. */
struct hs_marker {
    struct hs_block_map *map;
    const struct hs_ocaml_roots *roots;
    struct hs_ocaml_marks *marks;
    hs_addr *stack; /* owned pages */
    size_t n_stack, stack_capacity;
    struct hs_bitmap waiting, groups; /* large: bits of blocks; which words of these are not 0 */
    uint64_t n_waiting, cursor;       /* bits before it are done */
    uint64_t region;                  /* addresses >> MARK_REGION_BITS */
    struct hs_bitmap
        watched;    /* bits of keys that ephemerons wait for; unset before the second half */
    hs_addr *woken; /* owned */
    size_t n_woken, woken_capacity;
    bool is_watching;
    uint64_t n_static_words, n_found_words; /* of static data; of the blocks found there */
    uint64_t n_refused;                     /* blocks there for which there was no room */
    uint64_t n_damaged_fibers;              /* stacks of continuations */
    bool is_guessing; /* what is being reached may be dead: by conservative roots alone */
    bool is_newest;   /* the fields being looked at may not be initialised yet */
};

/* Reaches the block of a value, if it is one. Counts fields that lead nowhere. */
void hs_marker_value(struct hs_marker *m, uint64_t value);
/* Follows all that waits. */
void hs_marker_drain(struct hs_marker *m);
bool hs_marker_is_reached(const struct hs_marker *m, const struct hs_block *block);

/* ephe.c */
/* Lists the ephemerons and weak arrays of caml_ephe_list_head, or in OCaml 5 of every domain and of
 * those that have ended: bounded, cycle-safe. */
hs_status hs_ephe_list(const struct hs_ocaml *rt, const struct hs_block_map *map,
                       struct hs_ocaml_marks *marks, bool *ret_is_damaged, struct hs_error *err);
/* Marks the data of ephemerons whose keys live, until nothing changes. */
hs_status hs_ephe_mark(struct hs_marker *m, struct hs_error *err);

/* weak.h */
enum { HS_EPHE_LINK, HS_EPHE_DATA, HS_EPHE_FIRST_KEY };

/* Finds the block that decides whether a key lives: forward blocks are looked through as the
 * collector does (major_gc.c mark_ephe_aux). False when the slot is empty or its value cannot die.
 */
bool hs_ephe_key(const struct hs_block_map *map, uint64_t value, struct hs_block *ret);

#endif
