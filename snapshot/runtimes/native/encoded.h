/* Addresses that are written in one of the usual disguises. Before a block is called a certain leak
 * all memory is searched once for its address
 *
 *   shifted     to either side by 1 to 23 bits, with any bits below and tags in the last three of
 *               the address, also where more than 17 cut its first bits off (numbers of Lisp and
 *               Scheme, tables of pages, pointers beside counters, tagged pointers of Go); to the
 *               right by 3 or 4 also with tags above
 *   tagged      with other bits above the 47 of an address (disguise.h has it in all but stacks)
 *   swapped     its bytes in the other order, also six of them with any others before or behind;
 *               its complement, also with tags above, and what is less than 0 by it
 *   packed      in six bytes, at any place
 *   fraction    as the value of a double
 *   masked      by the exclusive or with one constant, which stands in data of the program
 *   constant    by exclusive or with one that stands nowhere, or added to it, or subtracted from it
 *   before      less the size of the block or of one element: tables that are counted from 1
 *   offset      in 32 bits, in units of 1 (then with tags in the last three bits), 8 or 16 bytes,
 *               from 0 or from an address that the program holds (compressed pointers)
 *
 * All but the last three are strong: a word of 64 bits that is one of these by chance is rarer than
 * any heap is large, and one of them makes a block possible. The others are numbers that a program
 * has many of. For these a sample of each group (lost blocks of one size) is looked for together
 * with addresses beside it, at which no block begins: a tenth of the sample and eight of it must be
 * found, and many times as many as of the others. Words of a table under an unknown constant are
 * told by their one upper half; all of them must lead to lost blocks. Of what lies before blocks of
 * different sizes four in a row are enough. Where a tenth of a group is found all of it is
 * possible: see decision 053. A note says which encoding, and where.
 *
 * Cost: each word of the copy once, when there are lost blocks: about 3 ns; 1.25 bytes per block
 * and some MiB. With less memory than that the copy is gone over several times, for a range of
 * blocks and a part of the bases each: what is found is the same, down to the places in the notes.
 *
 * Limit: halves of addresses in two words, numbers as text, rotated addresses, offsets from their
 * own place or from a base that no variable and no beginning of a mapping has, and what two steps
 * disguise. */
#ifndef HS_NATIVE_ENCODED_H
#define HS_NATIVE_ENCODED_H

#include "scan.h"

/* Marks as unsure what such words lead to, and notes what they are. Nothing when all is reached or
 * no leak is certain anyway. Before hs_scan_end, when all else is marked; counts for it, as all
 * blocks are gone over. Fails with HS_LIMIT. */
hs_status hs_scan_mark_encoded(struct hs_scan *scan, struct hs_error *err);

#endif
