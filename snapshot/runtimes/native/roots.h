/* The state that the collectors of roots share: variables and their slots.
 *
 * A collector finds memory that belongs to the program's own variables, and for each word of it
 * that leads to a block says which variable the word is part of. Everything else is here: what the
 * slot is called, how sure it is, what its type leads to. */
#ifndef HS_NATIVE_ROOTS_H
#define HS_NATIVE_ROOTS_H

#include "native.h"

/* Slots of one variable that get a name each; those behind share one. */
enum { HS_VARIABLE_NAMED_SLOTS = 1 << 16, HS_VARIABLE_NAME_BYTES = 512 };

/* A variable, or a piece of memory that stands for one. [begin, begin + n_bytes) are run-time
 * addresses. */
struct hs_native_variable {
    hs_addr begin;
    uint64_t n_bytes;
    hs_ctype type;    /* 0: unknown */
    bool is_whole;    /* named and of several slots: they hang on a node of its own */
    bool is_alone;    /* in a register, or a piece: what stands beside it is not of its variable */
    hs_str name;      /* the variable; ".bss" for what has no name */
    uint64_t n_slots; /* so far */
    /* The leaf that is being made: kind, tier, module, thread, frame, function, symbol, file, line
     * and groups are set by the collector; the class of a word may raise the tier. */
    struct hs_root_leaf leaf;
    char text[HS_VARIABLE_NAME_BYTES]; /* of the slots' names: "server", "main local reply" */
};

/* The forms of a word of a value by debug information. */
enum hs_slot_form {
    HS_SLOT_UNKNOWN,
    HS_SLOT_POINTER,
    HS_SLOT_MAYBE, /* a union's word, an integer of that size */
    HS_SLOT_WEAK,  /* a pointer that keeps nothing */
    HS_SLOT_NONE   /* no pointer is there */
};

/* Finds the form of the word at `offset` of a value of `type`; *ret_pointee is 0 unless it is
 * known. `ctypes` may be NULL. *ret_slot (ret_slot may be NULL) is the slot whose choices tell, or
 * NULL; borrowed. */
enum hs_slot_form hs_native_slot_form(struct hs_ctypes *ctypes, hs_ctype type, uint64_t offset,
                                      hs_ctype *ret_pointee, const struct hs_cslot **ret_slot);

/* Finds the block that a word leads to, with the mask of the options applied when it leads to none
 * as it is. False when there is none. */
bool hs_native_resolve(const struct hs_native *native, uint64_t word, enum hs_pointer *ret_how,
                       struct hs_heap_block *ret);

/* Adds the slot at `address` of a variable, which holds `word`, when it leads to a block. The
 * variable's `leaf.root.edge_class` GUESSED and `certainty` CONSERVATIVE stay; its type adds to
 * them. `address` 0: it is in no memory, but in a register. */
hs_status hs_native_add_slot(struct hs_native *native, struct hs_native_variable *variable,
                             uint64_t offset, hs_addr address, uint64_t word, struct hs_error *err);

/* A slot as the type of its variable has it: see hs_native_slot_form. */
struct hs_native_slot {
    enum hs_slot_form form;
    hs_ctype pointee;
    const struct hs_cslot *slot; /* borrowed; may be NULL */
};
/* Fills in a leaf what the type of its variable says of the slot at `offset`, without its word: the
 * name, the group, the offset, and what makes it less than a reference. */
hs_status hs_native_describe_slot(struct hs_native *native, struct hs_native_variable *variable,
                                  uint64_t offset, struct hs_root_leaf *leaf,
                                  struct hs_native_slot *ret, struct hs_error *err);

/* Tells whether a type is a record that debug information names and describes nowhere: a library's
 * handle, which the program is not to look into (SSL_CTX, sqlite3). */
bool hs_native_is_handle(const struct hs_native *native, hs_ctype pointee);

/* Formats and interns. */
hs_status hs_native_name(struct hs_native *native, hs_str *ret, struct hs_error *err,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Makes a variable's name the text that its slots' names begin with. */
void hs_native_variable_text(const struct hs_native *native, struct hs_native_variable *variable);

/* Goes over the aligned words of [at, end), as far as they are in the copy, and stops at those that
 * lead to a block. Passes over pages that were never touched. */
struct hs_word_scan {
    hs_addr at, end;
    hs_addr stop;         /* private: `bytes` are those of `at`, until here */
    const uint8_t *bytes; /* private; borrowed from the image */
    size_t hint;          /* private */
};
struct hs_word_scan hs_native_scan(hs_addr begin, hs_addr end);
bool hs_native_next_word(const struct hs_native *native, struct hs_word_scan *scan, hs_addr *ret_at,
                         uint64_t *ret_word);

#endif
