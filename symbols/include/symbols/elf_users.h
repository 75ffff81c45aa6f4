/* The function that uses a variable, found by its code.
 *
 * A binary without debug information has no names of static variables, and one that was stripped
 * has those of exported functions alone. But the code of a function mentions the variables that it
 * uses: what lies at .bss+0x740 of libglib, and g_intern_string mentions most often, a reader can
 * look up.
 *
 * The code is read, never run, a window of it at a time. Each function is decoded from its
 * beginning, so that what is mentioned is mentioned by an instruction; what follows its first bytes
 * that are no instruction is not looked at. */
#ifndef HS_SYMBOLS_ELF_USERS_H
#define HS_SYMBOLS_ELF_USERS_H

#include "symbols/elf.h"

struct hs_elf_user {
    const struct hs_elf_symbol *function; /* borrowed from `names`; NULL: none */
    uint32_t n_mentions;                  /* by that function */
    uint32_t n_functions;                 /* that mention it */
};

/* ret[i] becomes the function that mentions places[i], a vaddr, most often, the lowest of several.
 * `places` ascend, none twice. `names` has the symbols: `elf`, or a debug file of the same binary.
 * In code that may be moved constants are no addresses. A quarter of what the file may ask for
 * (base/effort.h) bounds the work: some 1 ns for each byte of functions that have names, 50 ns for
 * each instruction of those that may mention any place. 300 KiB, and 8 bytes for each place. Fails
 * with HS_LIMIT. */
hs_status hs_elf_users(struct hs_elf *elf, const struct hs_elf *names, const hs_addr *places,
                       size_t n, struct hs_elf_user *ret, struct hs_error *err);

/* Finds likewise who reads words through a register that has the address of what they are in:
 * places[i] is a word of one of bases[0, n_bases), which ascend, too. Only what follows within 48
 * bytes is looked at, and only in functions of which may_use is true; in all where it is NULL. */
struct hs_elf_field_query {
    const hs_addr *bases, *places;
    size_t n_bases, n_places;
    bool (*may_use)(const char *function);
};
hs_status hs_elf_field_users(struct hs_elf *elf, const struct hs_elf *names,
                             const struct hs_elf_field_query *query, struct hs_elf_user *ret,
                             struct hs_error *err);

/* Finds functions that call the function at `callee`, a vaddr, or jump to it, by themselves; calls
 * through the table of another file are not found. ret[0, most) are the first in order of address;
 * *ret_n may be more. */
hs_status hs_elf_callers(struct hs_elf *elf, const struct hs_elf *names, hs_addr callee,
                         const struct hs_elf_symbol **ret, size_t most, size_t *ret_n,
                         struct hs_error *err);

#endif
