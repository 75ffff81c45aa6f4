/* Links of a library's lists in variables of the program.
 *
 *   library's .bss          program's .bss         heap
 *   head { next, prev } <-> tick { ..., link } <-> session { ..., link } <-> ... <-> head
 *
 * A library that has its objects inside of the program's (handles of libuv, TAILQ and QUEUE of BSD,
 * list_head) links them with each other, and those that are variables lead to all the others. They
 * are neighbours and no owners: what such a link leads to is the list's, whose head the library
 * has. A head may be in a block, too, which says so itself: all members lead to that block, each by
 * the word that is as far from its link (a handle's loop, an event's base), or is told by its place
 * alone, where all members are in blocks of one size at one offset. Then the variable's link is
 * doubtful. */
#ifndef HS_NATIVE_RINGS_H
#define HS_NATIVE_RINGS_H

#include "native.h"

/* Finds such links of the program's own variables, after all roots are collected: in a list whose
 * head is in a variable of a library they become slots of that one; where the head is in a block
 * they become doubtful. Looks at 2^18 links at the most; what is not found by then stays as it is.
 * Fails with HS_LIMIT. */
hs_status hs_rings_find(struct hs_native *native, struct hs_error *err);

#endif
