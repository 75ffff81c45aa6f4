/* Words out of bytes of any alignment, in the order of the machine: little-endian, as every target
 * and every file of ours is. */
#ifndef HS_BASE_LOAD_H
#define HS_BASE_LOAD_H

#include <string.h>

#include "base/types.h"

/* Loads the word of 64 bits at `at`, of which 8 bytes are read. */
static inline uint64_t hs_load_u64(const void *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* The same of 32 bits, and of 16. */
static inline uint32_t hs_load_u32(const void *at)
{
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

static inline uint16_t hs_load_u16(const void *at)
{
    uint16_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

#endif
