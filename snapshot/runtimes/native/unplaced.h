/* The variables of a frame that the optimiser left without a place, told by what words lead to.
 *
 *   auto server = std::make_unique<Server>();   no location: a word that is all of a record
 *   server->run();                              r12 or sp+8 has it for the end of the scope
 *
 * A word of the frame that no variable has is such a variable's when it leads to a block that has
 * the size of what the variable leads to, and whose words agree: its pointers lead to memory, one
 * of them at least to the start of a block (of a large record none need do so, of one of two words
 * both must), and no other word leads to one. A word that more than one of the variables may be is
 * nobody's. Arguments are left out: what they lead to is somebody else's.
 *
 * Limit: plain pointers, and records of one or two words as smart pointers are, that lead to one
 * record; of a container of three words, taken apart likewise, nothing is told. */
#ifndef HS_NATIVE_UNPLACED_H
#define HS_NATIVE_UNPLACED_H

#include "native.h"

/* Finds the variable that the word is, and at which offset of it, and takes it out of
 * locals->unplaced: what else leads there is a copy. O(variables without a place, words of the
 * block for each that has its size). */
bool hs_native_unplaced(const struct hs_native *native, struct hs_locals *locals, uint64_t word,
                        struct hs_local *ret, uint64_t *ret_offset);

#endif
