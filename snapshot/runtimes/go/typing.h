/* The types of objects (private to snapshot/runtimes/go): internal/abi/type.go. Objects say their
 * type by a header, a word of an interface before the one that leads to them, or the function that
 * a closure begins with; from there types flow along the fields, whose types are in every program.
 */
#ifndef HS_GO_TYPING_H
#define HS_GO_TYPING_H

#include "abi.h"
#include "base/table.h"
#include "goroutines.h"
#include "snapshot/model.h"

/* The ways in which a block holds values of a type. */
enum hs_go_holding {
    HS_GO_HOLD_ONE,
    HS_GO_HOLD_ROW,     /* several, one after the other */
    HS_GO_HOLD_CHAN,    /* the record of a channel of it */
    HS_GO_HOLD_MAP,     /* the record of a map */
    HS_GO_HOLD_BUCKETS, /* entries of a map; a directory and tables: since 1.24 */
    HS_GO_HOLD_DIRECTORY,
    HS_GO_HOLD_TABLE,
    HS_GO_HOLD_CLOSURE,
    HS_GO_N_HOLDINGS
};

struct hs_go_named_type {
    hs_str name;
    uint8_t form;          /* enum hs_type_form */
    uint8_t holding;       /* enum hs_go_holding */
    hs_addr type;          /* of what it holds; 0: nothing is known of its words */
    uint64_t stride_bytes; /* of several in a row; else 0 */
};

/* The elements of a block, as the slice, the map or the channel that leads to it counts them. */
struct hs_go_count {
    uint64_t entries, room;
};

struct hs_go_code;

struct hs_go_typing {
    const struct hs_go_heap *heap;
    const struct hs_go_goroutines *goroutines; /* borrowed */
    const struct hs_go_code *code;             /* borrowed: types that code tells */
    hs_addr channel, map; /* the types of their records: another says of what; 0: unknown */
    hs_addr pool_part;    /* the type of what a sync.Pool has for each processor; 0: unknown */
    uint32_t *of_rank;    /* owned pages: by rank of live objects, number + 1; 0: unknown */
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
        hs_addr map;      /* whose entries they are; 0: of none */
        uint64_t n_bytes; /* of static data; 0: an object */
    } * waiting;
    size_t n_waiting, waiting_capacity;
    struct hs_dict statics;  /* static values that were put, by address and type */
    uint64_t n_static_words; /* of these */
    uint64_t n_typed, typed_bytes;
    struct hs_dict count_of_rank; /* rank -> number */
    struct hs_go_count *counts;   /* owned */
    size_t n_counts, counts_capacity;
};

void hs_go_typing_fini(struct hs_go_typing *typing);
/* Finds the types that objects of a sealed heap say; `code` was read (code.h). 4 bytes an object,
 * 24 for each that waits. Then those that code says are put, and all are followed. */
hs_status hs_go_see_types(const struct hs_go_heap *heap, struct hs_go_goroutines *gs,
                          struct hs_go_typing *ret, struct hs_error *err);
hs_status hs_go_follow_types(struct hs_go_typing *typing, struct hs_error *err);
/* Says that the word at `at` leads to values of a type. An object that has a type keeps it. */
hs_status hs_go_put(struct hs_go_typing *typing, hs_addr at, uint64_t word, hs_addr type,
                    enum hs_go_holding holding, struct hs_error *err);
/* The same of the word at `at`, which is that at an offset of a value of a type, where the type
 * says that it is a pointer to something. */
hs_status hs_go_follow(struct hs_go_typing *typing, hs_addr type, uint64_t offset, hs_addr at,
                       uint64_t word, struct hs_error *err);
/* Says that the map's record at an address, which need not be an object, is of a type. */
hs_status hs_go_put_entries(struct hs_go_typing *typing, hs_addr map, hs_addr type,
                            struct hs_error *err);
/* ---- guess.c: what code says of words, where the objects fit */
hs_status hs_go_guess_types(struct hs_go_typing *typing, struct hs_go_goroutines *gs,
                            struct hs_error *err);
/* Finds the elements of a block by the rank of its slot; NULL: nobody counts them. */
const struct hs_go_count *hs_go_count_of(const struct hs_go_typing *typing, uint64_t rank);

/* ---- members.c: the names of words of a type that may be pointers */
struct hs_go_members {
    struct hs_member *members; /* owned */
    size_t n, capacity;
};
/* Adds those of type number `number`. Names of fields stand in every program. */
hs_status hs_go_add_members(const struct hs_go_heap *heap, const struct hs_go_named_type *type,
                            uint32_t number, struct hs_go_members *ret, struct hs_error *err);

#endif
