/* Finds what calls had on their stacks and in registers in variables.
 *
 *   saved[0] { handler, mask, x, y, ..., flags, restorer }   saved[1] { handler, mask, x, y, ... }
 *
 * A record that a function fills on its stack in part and gives back whole takes along what stood
 * there before: glibc's sigaction copies a mask of 128 bytes, of which the kernel has written 8. A
 * library that saves several (libreadline, one for each signal) has the same old words in each, at
 * the same distance. Two words of a record, each three times so, are taken for that; where a type
 * tells what they are it is not asked. They are doubtful: what nothing surer has is theirs.
 *
 * So are the registers in a jmp_buf (libreadline's `_rl_top_level`): of the call that setjmp was
 * in, which only borrowed what they lead to. A jmp_buf is told by its stack pointer and its program
 * counter, which glibc mangles with a random number of the process. */
#ifndef HS_NATIVE_COPIES_H
#define HS_NATIVE_COPIES_H

#include "native.h"

/* Lowers such words, after all roots are collected. O(n log n) of the variables. Fails with
 * HS_LIMIT. */
hs_status hs_copies_find(struct hs_native *native, struct hs_error *err);

#endif
