/* The addresses that one function of the runtime's code mentions: how its C static variables are
 * found in a stripped program. Each guess is then to be checked against the runtime's invariants.
 */
#ifndef HS_OCAML_MENTIONS_H
#define HS_OCAML_MENTIONS_H

#include "arch/operands.h"
#include "ocaml.h"

enum { HS_MENTIONS_MAX = 256, HS_MENTIONS_CODE_BYTES = 2048 }; /* of a function */

/* Addresses of writable data that one function mentions, in order, without repeats. */
struct hs_mentions {
    struct hs_operand at[HS_MENTIONS_MAX]; /* targets at run-time addresses */
    size_t n;
};

/* Harvests the function of this name, as its file has it; none when there is no such function. */
void hs_mentions_harvest(const struct hs_ocaml *rt, const char *function, struct hs_mentions *ret);
bool hs_mentions_has(const struct hs_mentions *mentions, hs_addr address);

/* ---- for checking guesses */

/* Returns the address of a symbol, or 0. */
hs_addr hs_ocaml_symbol_address(const struct hs_ocaml *rt, const char *name);
/* Reads n words of the copy; false when they are not all there. */
bool hs_ocaml_words_at(const struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n);
/* Tells whether a word is null or a word-aligned address of readable memory. */
bool hs_ocaml_may_point(const struct hs_ocaml *rt, uint64_t word);

#endif
