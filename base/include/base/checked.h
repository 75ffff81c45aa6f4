/* Arithmetic on numbers from outside: true when the result fits. */
#ifndef HS_BASE_CHECKED_H
#define HS_BASE_CHECKED_H

#include "base/types.h"

static inline bool hs_add_fits(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

static inline bool hs_mul_fits(uint64_t a, uint64_t b, uint64_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

#endif
