/* Pointers that are no plain addresses.
 *
 *   tagged      bits 47 to 63 are not of the address (NaN boxes, counters, top-byte tags)
 *   complement  ~address (Boehm's HIDE_POINTER)
 *   mangled     glibc's PTR_MANGLE, in jmp_buf: a coroutine's stack may hang on nothing else
 *   packed      at no multiple of eight, in the data of a program (scan.c: in blocks)
 *
 * Such a word is a guess, and counts only where nothing else leads to the block. A random word
 * passes for a tagged one of a heap of 1 GiB once in 100 million times.
 *
 * What takes two words to compute: computed.h. */
#ifndef HS_NATIVE_DISGUISE_H
#define HS_NATIVE_DISGUISE_H

#include "scan.h"

struct hs_disguise {
    const struct hs_heap_map *map; /* borrowed */
    hs_addr low, high;             /* all blocks lie in here */
    uint64_t guard;                /* 0: not known */
};
struct hs_disguise hs_disguise_begin(const struct hs_native *native);

/* Finds the block that a word leads to in one of these forms, packed ones left out. False: none. */
bool hs_disguise_resolve(const struct hs_disguise *disguise, uint64_t word,
                         struct hs_heap_block *ret);

/* Adds, after hs_scan_begin, a doubtful root for each such word in data of objects, stacks and
 * thread-local variables that leads to what was not reached, and marks that. One more look at each
 * byte of that memory; nothing when all is reached. */
hs_status hs_native_collect_disguised(struct hs_native *native, struct hs_scan *scan,
                                      struct hs_error *err);

#endif
