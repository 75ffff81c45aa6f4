/* The types of objects (private to snapshot/runtimes/go): internal/abi/type.go. Objects say their
 * type by a header, a word of an interface before the one that leads to them, or the function that
 * a closure begins with; from there types flow along the fields, whose types are in every program.
 */
#ifndef HS_GO_TYPING_H
#define HS_GO_TYPING_H

#include "base/table.h"
#include "goroutines.h"

struct hs_go_named_type {
    hs_str name;
    uint8_t form; /* enum hs_type_form */
};

struct hs_go_typing {
    const struct hs_go_heap *heap;
    uint32_t *of_rank; /* owned pages: by rank of live objects, number + 1; 0: unknown */
    uint64_t n_ranks;
    struct hs_go_named_type *types; /* owned */
    size_t n_types, types_capacity;
    struct hs_dict numbers;        /* address of a type and how it is held -> number */
    struct hs_dict slots;          /* type and offset -> number of what stands there */
    struct hs_go_slot_kind *kinds; /* owned */
    size_t n_kinds, kinds_capacity;
    struct hs_dict dynamic; /* a word of an interface -> the type that it says; 0: none */
    struct hs_go_typed {    /* owned: objects whose words are to be followed */
        hs_addr begin, type;
    } * waiting;
    size_t n_waiting, waiting_capacity;
    uint64_t n_typed, typed_bytes;
};

void hs_go_typing_fini(struct hs_go_typing *typing);
/* Finds the types of all objects of a sealed heap. 4 bytes an object, 16 for each that waits. */
hs_status hs_go_find_types(const struct hs_go_heap *heap, struct hs_go_goroutines *gs,
                           struct hs_go_typing *ret, struct hs_error *err);

#endif
