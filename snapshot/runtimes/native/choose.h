/* Pointers whose target's type depends on the value around them: in an enumeration of Rust or a
 * std::variant on the discriminant, in a Box<dyn Trait>, a std::function or a std::any on the table
 * or the function beside them. Also how much of an array is in use, by its vector. What a table or
 * a function tells is looked up once.
 *
 * Resident: 40 bytes for each table and function that was met, 65,536 at the most. */
#ifndef HS_NATIVE_CHOOSE_H
#define HS_NATIVE_CHOOSE_H

#include "base/table.h"
#include "heaps/heap_map.h"
#include "process/image.h"
#include "reserve.h"
#include "symbols/ctypes.h"

struct hs_native;

struct hs_native_told {
    struct hs_told_word {
        uint64_t word;
        hs_ctype declared, type;
        uint8_t by; /* enum hs_ctold_by */
    } * words;      /* owned */
    size_t n_words, capacity;
    struct hs_table by_word;
};

void hs_native_told_fini(struct hs_native_told *told);

struct hs_native_chosen {
    hs_ctype pointee; /* 0: unknown */
    uint8_t used_by;  /* enum hs_cused_by */
    bool is_there; /* else the value has no pointer there: what stands there was left by another */
    bool is_end;   /* its name says that it is one behind what another leads to */
    bool is_bare;  /* its variable is a plain pointer, or an array of such */
    bool is_alone; /* what stands beside it is not of its variable */
    uint64_t used, used_from;
    int64_t list_at; /* see struct hs_cchosen */
};

/* The sources of hs_cvalue_read: bytes around a word at bytes[at], or an address of the process. */
struct hs_value_bytes {
    const uint8_t *bytes;
    uint64_t n_bytes, at;
};
hs_cvalue_read hs_value_read_bytes;
struct hs_value_place {
    const struct hs_image *image;
    hs_addr address;
};
hs_cvalue_read hs_value_read_image;

/* Finds the type that a slot with alternatives leads to, and how much of the target is in use,
 * where the slot stands at bytes[at]. ret->is_there is false where the value has no pointer there.
 * Fails with HS_LIMIT. */
hs_status hs_native_choose(struct hs_native *native, const struct hs_cslot *slot,
                           const uint8_t *bytes, uint64_t n_bytes, uint64_t at,
                           struct hs_native_chosen *ret, struct hs_error *err);
/* Tells whether the value has that pointer: is_there of hs_native_choose. */
bool hs_native_is_chosen(const struct hs_native *native, const struct hs_cslot *slot,
                         const uint8_t *bytes, uint64_t n_bytes, uint64_t at);
/* Chooses the same for a slot at an address of the process. */
hs_status hs_native_choose_at(struct hs_native *native, const struct hs_cslot *slot,
                              hs_addr address, struct hs_native_chosen *ret, struct hs_error *err);

/* Finds the bytes of the block that are in use, by a pointer to its start; false where nothing is
 * said. */
bool hs_native_chosen_use(const struct hs_native_chosen *to, const struct hs_heap_block *block,
                          uint64_t element_bytes, struct hs_native_use *ret);
/* Returns the bytes in use of the array behind a record, whose block has its bytes: by the record's
 * header where that says it, else all that fit. `from` and `end` are where an element begins, or
 * the end of all. */
struct hs_native_use hs_native_tail_use(const struct hs_ctail *tail,
                                        const struct hs_heap_block *block, uint64_t element_bytes);

#endif
