/* Names and types of a snapshot that is there already, from debug information that was not there at
 * its dump: what needs no memory of the process.
 *
 * The caller opens the files, one for each binary of the snapshot, in its order and with its bias,
 * as the objects of a dump without a target; what has no file is an object without symbols. From
 * then on a variable is found by its address and called as a dump would call it, by the same code.
 *
 * Types flow from variables along pointers whose type says what they lead to: a block is of that
 * type where it is as large as one value of it, and nothing derived from it fits. What only memory
 * tells is left as it is: which alternative of a union is there, how much of an array is in use,
 * which variables of a call are where. */
#ifndef HS_NATIVE_LATER_H
#define HS_NATIVE_LATER_H

#include "process/roots.h"

struct hs_dump; /* runtimes/dump.h */
struct hs_later;

/* Reads what the objects of `dump` have, which is borrowed until free, as are its options' rules.
 * Strings go to dump->strings. Fails with HS_LIMIT. */
hs_status hs_later_new(struct hs_dump *dump, struct hs_later **ret, struct hs_error *err);
void hs_later_free(struct hs_later *later);

/* A slot of a variable. */
struct hs_later_slot {
    struct hs_root_leaf leaf; /* its groups, and a root with all but target, thread and certainty */
    uint32_t pointee;         /* the type (hs_ctype) that its pointer leads to; 0: not known */
    bool is_pointer;          /* its type says that it is one */
};

/* Finds the variable that holds run-time address `at` of an object. *ret_found is false when that
 * has no name. */
hs_status hs_later_global(struct hs_later *later, size_t object, hs_addr at,
                          struct hs_later_slot *ret, bool *ret_found, struct hs_error *err);
/* The same of a thread-local variable, by its offset in the object's block, of which the word is at
 * `at`. */
hs_status hs_later_tls(struct hs_later *later, size_t object, uint64_t offset, hs_addr at,
                       struct hs_later_slot *ret, bool *ret_found, struct hs_error *err);

/* Finds the number, from 1, of the type of a block of n_bytes to whose start a pointer to `pointee`
 * leads; 0: nothing is sure. */
hs_status hs_later_block(struct hs_later *later, uint32_t pointee, uint64_t n_bytes, uint32_t *ret,
                         struct hs_error *err);
/* Finds the type of a block whose type is called so already; 0: no record of this name is
 * described. */
hs_status hs_later_named(struct hs_later *later, const char *name, uint64_t n_bytes, uint32_t *ret,
                         struct hs_error *err);
/* Returns what the pointer at an offset of a block of this type leads to; 0: nothing that is
 * known. */
uint32_t hs_later_pointee(struct hs_later *later, uint32_t type, uint64_t offset_bytes);

/* Lists the types found so far, number 1 first, and their members, whose types are numbers less 1.
 * Both are the caller's (hs_free). Fails with HS_LIMIT. */
hs_status hs_later_types(struct hs_later *later, struct hs_type **ret_types, size_t *ret_n_types,
                         struct hs_member **ret_members, size_t *ret_n_members,
                         struct hs_error *err);

#endif
